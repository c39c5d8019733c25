package policy

// Files resolves paths.
type Files interface {
	// Real gives a path with every link resolved, as far as it exists, and the rest as
	// written. It fails for a loop, or when it can't tell.
	Real(path string) (string, error)
}

// Call is what is asked for, its arguments checked already.
type Call struct {
	Tool    Tool
	Path    string // as given; of Grep and Glob empty for the workspace
	Command string // of Bash
}

// Outcome of a judgement. The zero Outcome refuses.
type Outcome uint8

// The outcomes.
const (
	Refused Outcome = iota
	Asked           // somebody would be asked
	Allowed
)

// Stage is the step of the dispatcher that decided.
type Stage string

// The stages.
const (
	StageStart     Stage = "start"
	StageArguments Stage = "arguments"
	StageSandbox   Stage = "sandbox"
	StageContract  Stage = "contract"
	StageRules     Stage = "rules"
	StageMode      Stage = "mode"
	StageHooks     Stage = "hooks"
	StageAsk       Stage = "ask"
)

// Decision is what was decided, by what, and what to do about it.
type Decision struct {
	Outcome Outcome
	Stage   Stage
	Rule    string // the rule as written, a contract's glob, "defaults.AXIS", "protected:NAME"; empty when none decided
	At      Place  // of the rule
	Reason  string // one sentence
	Remedy  string // what the owner can do; empty when nothing
	Parts   []PartDecision
	Paths   []Resolved // what was judged, in the order of the call: what is opened must be these
}

// PartDecision is the decision on one part of a command.
type PartDecision struct {
	Text    string
	Outcome Outcome
	Rule    string
}

// Resolved is a path as it was judged.
type Resolved struct {
	Given string // absolute and clean
	Real  string // below one of the roots
	Root  int    // which
}

// Judge decides a call: containment, contract, protected paths, rules, mode; not the
// arguments and not the hooks. An Asked decision has the stage StageAsk and its reason
// names the fix. docs/design/workspace.md section 1 has the order.
func (p *Policy) Judge(c Call, files Files) Decision {
	if p == nil || files == nil {
		return Decision{Stage: StageRules, Reason: "Nothing is allowed, as no policy was made for this workspace."}
	}
	switch c.Tool {
	case Read, Write, Edit, Grep, Glob:
		return p.judgePath(c, files)
	case Bash:
		return p.judgeCommand(c, files)
	}
	return Decision{Stage: StageRules, Reason: "No rule speaks of the tool " + quoted(string(c.Tool)) + ", so it is not allowed."}
}

// judgePath decides a call of a tool that names one path.
func (p *Policy) judgePath(c Call, files Files) Decision {
	u := usage{tool: c.Tool, search: c.Tool == Grep || c.Tool == Glob}
	text := c.Path
	if text == "" {
		text = "."
	}
	t, problem, outside := p.locate(text, files, false)
	if problem != "" {
		return p.decide(misplaced(u, text, problem, outside, t))
	}
	t.folder = u.search
	d := p.decide(p.weigh(&t, u))
	d.Paths = []Resolved{t.resolved()}
	return d
}

func (t *target) resolved() Resolved { return Resolved{Given: t.given, Real: t.real, Root: t.root} }

// usage is what is done with a path.
type usage struct {
	tool     Tool
	search   bool // the path is where a search begins
	redirect bool // by a command, that reads or writes as Read and Edit do
}

func (u usage) writes() bool { return u.tool == Write || u.tool == Edit }

// axes are what a contract must not object to. A deny or ask on reading covers writing:
// who may not see a file may not replace it.
func (u usage) axes() []axis {
	switch {
	case u.tool == Bash:
		return []axis{executing}
	case u.writes():
		return []axis{writing, reading}
	}
	return []axis{reading}
}

// weigh gives what decides on a target: an objection, a rule that allows it, or the mode.
func (p *Policy) weigh(t *target, u usage) finding {
	if f := p.object(t, u); f.rank != granted {
		return f
	}
	if p.mode == Plan && u.writes() {
		return finding{rank: planned, use: u, target: t}
	}
	if i := p.first(Allow, u.tool, t); i != none {
		return p.ruled(granted, i, u, t)
	}
	if !u.writes() || p.mode == Bypass || p.mode == AcceptEdits {
		return finding{rank: granted, use: u, target: t}
	}
	return finding{rank: lacking, use: u, target: t, lack: lack{p.editRules(t), AcceptEdits}}
}

// object gives the first objection to a target: of the contracts, of what is protected,
// of a deny or an ask rule. Its rank is granted when there is none.
func (p *Policy) object(t *target, u usage) finding {
	asked := p.contracted(t, u)
	if asked.rank == contracted {
		return asked
	}
	if u.writes() && !t.dark {
		if guards := p.guards(t); len(guards) > 0 {
			return finding{rank: guarded, guard: guards[0], use: u, target: t}
		}
	}
	if i := p.first(Deny, u.tool, t); i != none {
		return p.ruled(denied, i, u, t)
	}
	if i := p.first(Ask, u.tool, t); i != none {
		if f := p.ruled(doubted, i, u, t); f.before(asked) {
			return f
		}
	}
	return asked
}

// contracted gives the strongest opinion of the contracts on a target.
func (p *Policy) contracted(t *target, u usage) finding {
	most := finding{rank: granted}
	for i := range p.contracts {
		c := &p.contracts[i]
		var o opinion
		if t.dark {
			o = c.anywhere(u.axes())
		}
		for n := range t.views {
			o = o.or(c.on(&t.views[n], t.folder, u.search, u.axes()))
		}
		f := finding{rank: contracted, contract: c, opinion: o, use: u, target: t}
		switch o.effect {
		case Deny:
		case Ask:
			f.rank = doubted
		case Allow, NoEffect:
			continue
		}
		// Before the rules of its own layer, after those of a stronger one.
		f.order = order{layer: c.at.Layer, place: i - len(p.contracts)}
		if f.before(most) {
			most = f
		}
	}
	return most
}

// ruled is a finding by a rule.
func (p *Policy) ruled(r rank, rule int, u usage, t *target) finding {
	return finding{
		rank: r, order: order{layer: p.rules[rule].at.Layer, place: rule},
		rule: &p.rules[rule], use: u, target: t,
	}
}
