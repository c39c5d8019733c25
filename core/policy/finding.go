package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/shell"
)

// rank is how a finding stands among others: the first refuses.
type rank uint8

const (
	unread     rank = iota // a command that is not understood
	outside                // containment
	contracted             // a contract's deny
	guarded                // a protected path
	denied                 // a deny rule
	doubted                // an ask rule, or a contract's ask
	planned                // what the mode plan leaves out
	lacking                // nothing matched, and the mode does not allow that
	granted                // no objection
)

// order tells findings of one rank apart: by layer, then by place.
type order struct {
	layer Layer
	place int
}

// finding is what one look at a call found, and all that a reason says of it.
type finding struct {
	rank     rank
	order    order
	rule     *Rule
	contract *Contract
	opinion  opinion
	guard    guard
	use      usage
	target   *target
	part     *shell.Part
	problem  string // of unread and outside
	placed   bool   // of outside: another folder would help
	lack     lack   // of lacking
}

// lack is what would allow a call that nothing allows.
type lack struct {
	rules []string // for permissions.allow, in quotes
	mode  Mode
}

// and joins what two parts lack.
func (l lack) and(other lack) lack {
	for _, rule := range other.rules {
		if !slices.Contains(l.rules, rule) {
			l.rules = append(l.rules[:len(l.rules):len(l.rules)], rule)
		}
	}
	if l.mode == "" || other.mode == Bypass {
		l.mode = other.mode
	}
	return l
}

// before reports whether f decides rather than other. Of findings that object to
// nothing the first that names a rule does.
func (f finding) before(other finding) bool {
	switch {
	case f.rank != other.rank:
		return f.rank < other.rank
	case f.rank == granted:
		return f.rule != nil && other.rule == nil
	}
	return f.order.before(other.order)
}

func (o order) before(other order) bool {
	if o.layer != other.layer {
		return o.layer < other.layer
	}
	return o.place < other.place
}

// misplaced is a finding on a path that can't be judged further.
func misplaced(u usage, text, problem string, place bool, t target) finding {
	t.text = text
	return finding{rank: outside, use: u, target: &t, problem: problem, placed: place}
}

// outcome is what a finding comes to in the policy's mode.
func (p *Policy) outcome(f finding) (Outcome, Stage) {
	switch f.rank {
	case outside:
		return Refused, StageSandbox
	case contracted:
		return Refused, StageContract
	case unread, guarded, denied:
		return Refused, StageRules
	case planned:
		return Refused, StageMode
	case doubted, lacking:
		if p.mode == DontAsk {
			return Refused, StageMode
		}
		return Asked, StageAsk
	case granted:
		if f.rule != nil {
			return Allowed, StageRules
		}
		return Allowed, StageMode
	}
	return Refused, StageRules
}

// decide makes a decision of the finding that decides.
func (p *Policy) decide(f finding) Decision {
	outcome, stage := p.outcome(f)
	d := Decision{Outcome: outcome, Stage: stage}
	d.Rule, d.At = f.name()
	d.Reason, d.Remedy = p.explain(f)
	return d
}

// name is the rule that decided, as decisions name it.
func (f finding) name() (string, Place) {
	switch {
	case f.rule != nil:
		return f.rule.text, f.rule.at
	case f.contract != nil:
		return f.contract.name(f.opinion), f.contract.place(f.opinion)
	case f.rank == guarded:
		return "protected:" + f.guard.name, Place{}
	}
	return "", Place{}
}

// explain gives the reason, and what the owner can do.
func (p *Policy) explain(f finding) (reason, remedy string) {
	act := f.act()
	rule, at := f.name()
	switch f.rank {
	case unread:
		return "No mode allows this: " + f.problem + ".", "Send a command that bash reads in one way only."
	case outside:
		return p.explainOutside(f, act)
	case contracted:
		return fmt.Sprintf("%s is denied by %s (%s%s).", act, f.clause(rule), at, f.contract.words(f.opinion)),
			fmt.Sprintf("The owner can change %s (%s); no rule and no mode lifts it.", f.clause(rule), at)
	case guarded:
		return p.explainGuard(f, act)
	case denied:
		return fmt.Sprintf("%s is denied by the rule %s (%s).", act, shown(rule), at),
			fmt.Sprintf("The owner can take %s out of permissions.deny (%s); no allow rule and no mode lifts it.", quoted(rule), at)
	case doubted:
		return p.explainDoubt(f, act, rule, at)
	case planned:
		return act + " is refused, as the mode plan only reads, whatever allow rules say.",
			"Start the server with another --mode, for example --mode default."
	case lacking:
		return p.explainLack(f, act)
	case granted:
	}
	if f.rule != nil {
		return fmt.Sprintf("%s is allowed by the rule %s (%s).", act, shown(rule), at), ""
	}
	return fmt.Sprintf("%s is allowed in the mode %s.", act, p.mode), ""
}

func (p *Policy) explainOutside(f finding, act string) (reason, remedy string) {
	if !f.placed {
		return fmt.Sprintf("%s is refused: the path %s.", act, f.problem), "Name a path inside the workspace that can be resolved."
	}
	remedy = "The owner can start the server with --add-dir and a folder that holds it" + p.example(f.target) + "."
	if descriptor(f.target.text) {
		return fmt.Sprintf("%s is refused: written by that name a descriptor that was opened for reading could be written.", act), "Write >&1 or >&2 instead."
	}
	return fmt.Sprintf("%s is refused: it %s, which no rule and no mode changes. %s", act, f.problem, remedy), remedy
}

// systemFolders are never proposed as workspaces.
const systemFolders = "/etc/proc/sys/dev/run/boot/root/var/usr/"

// example gives a folder to add for a target, where one can be proposed: none that holds
// the home directory or a root, or is the system's, or hidden as keys are.
func (p *Policy) example(t *target) string {
	abs := t.real
	if abs == "" {
		abs = clean(t.text, p.roots[0].path)
	}
	folder := path.Dir(abs)
	wide := func(held string) bool { return strings.HasPrefix(held+"/", strings.TrimSuffix(folder, "/")+"/") }
	top, _, _ := strings.Cut(strings.TrimPrefix(folder, "/"), "/")
	if strings.Contains(systemFolders, "/"+top+"/") || strings.Contains(folder, "/.") || wide(p.home) || slices.ContainsFunc(p.roots, func(r root) bool { return wide(r.path) }) {
		return ""
	}
	return ", for example --add-dir " + shown(folder)
}

func (p *Policy) explainGuard(f finding, act string) (reason, remedy string) {
	if f.guard.own {
		return fmt.Sprintf("%s is refused: %s belongs to Holdfast itself, and no rule and no mode lets it be written here.", act, shown(f.guard.name)),
			"The owner changes it by hand."
	}
	reason = fmt.Sprintf("%s is refused: %s is protected in every mode, as it can run programs, unless an allow rule holds this very name.", act, shown(f.guard.name))
	remedy = fmt.Sprintf("The owner can add %s to permissions.allow.", quoted("Edit("+p.patternOf(f.target.real)+")"))
	if f.target.real != f.target.given {
		remedy = strings.TrimSuffix(remedy, ".") + ", and " + shown(f.target.real) + " must be named by that path."
	}
	return reason, remedy
}

func (p *Policy) explainDoubt(f finding, act, rule string, at Place) (reason, remedy string) {
	by, words := "the rule "+shown(rule), ""
	remedy = fmt.Sprintf("The owner can take %s out of permissions.ask (%s); no allow rule and no mode lifts it.", quoted(rule), at)
	if f.contract != nil {
		by, words = f.clause(rule), f.contract.words(f.opinion)
		remedy = fmt.Sprintf("The owner can change %s (%s); no allow rule and no mode lifts it.", by, at)
	}
	if p.mode == DontAsk {
		return fmt.Sprintf("%s is to be asked for by %s (%s%s), and the mode dontAsk refuses that.", act, by, at, words), remedy
	}
	return fmt.Sprintf("%s is to be asked for by %s (%s%s), and nobody is here to ask; the owner can change that, but not by permissions.allow or --mode.",
		act, by, at, words), remedy
}

// clause names what a contract says, in a sentence.
func (f finding) clause(rule string) string {
	if f.opinion.rule < 0 {
		return "the file contract's " + rule
	}
	return fmt.Sprintf("the file contract's %s of %s", f.opinion.axis, shown(rule))
}

func (p *Policy) explainLack(f finding, act string) (reason, remedy string) {
	remedy = fmt.Sprintf("The owner can add %s to permissions.allow, or start the server with --mode %s.", listed(f.lack.rules), f.lack.mode)
	if p.uncounted > 0 {
		remedy += " Allow rules of the project itself don't count before it is trusted: holdfast trust."
	}
	if p.mode == DontAsk {
		return fmt.Sprintf("%s is allowed by no rule, and the mode dontAsk refuses what no rule allows. %s", act, remedy), remedy
	}
	return fmt.Sprintf("%s is allowed by no rule, and nobody is here to ask. %s", act, remedy), remedy
}

// act says what is done, as the beginning of a sentence. Of a command it shows no
// arguments: there may be secrets in them.
func (f finding) act() string {
	if f.part != nil {
		s := "Running " + brief(f.part.Text)
		if f.part.Opaque != "" {
			s += " (which may be any command, as " + f.part.Opaque + ")"
		}
		return s
	}
	if f.target == nil {
		return "The command"
	}
	verb := "Reading "
	switch {
	case f.use.tool == Bash:
		verb = "Executing "
	case f.use.redirect && f.use.writes():
		verb = "A redirection into "
	case f.use.redirect:
		verb = "A redirection from "
	case f.use.writes():
		verb = "Writing "
	case f.use.search:
		verb = "Searching "
	}
	if f.target.dark {
		return verb + shown(f.target.text) + " (which may be any path)"
	}
	s := verb + shown(f.target.text)
	if f.target.real != "" && f.target.real != f.target.given {
		s += " (which is " + shown(f.target.real) + ")"
	}
	return s
}
