package policy

import (
	"errors"
	"path"
	"strings"
	"testing"
)

// links is a file system of links alone: a path, and where it leads.
type links map[string]string

var errLoop = errors.New("too many links")

func (l links) Real(abs string) (string, error) { return l.real(abs, 0) }

func (l links) real(abs string, depth int) (string, error) {
	if depth > 40 {
		return "", errLoop
	}
	at := "/"
	names := split(path.Clean(abs))
	for i, name := range names {
		at = path.Join(at, name)
		if to, ok := l[at]; ok {
			if !path.IsAbs(to) {
				to = path.Join(path.Dir(at), to)
			}
			return l.real(path.Join(append([]string{to}, names[i+1:]...)...), depth+1)
		}
	}
	return at, nil
}

// world is a policy in the making: /ws is the workspace, /extra an additional directory.
type world struct {
	config Config
	files  links
}

func newWorld(mode Mode) *world {
	return &world{
		config: Config{Mode: mode, Roots: []string{"/ws", "/extra"}, Home: "/people/owner", Confined: true},
		files:  links{},
	}
}

// user adds rules of the user's settings: "deny Read(.env)".
func (w *world) user(rules ...string) *world { return w.layer(User, "", rules) }

func (w *world) inProject(rules ...string) *world { return w.layer(Project, "/ws", rules) }

func (w *world) layer(layer Layer, folder string, rules []string) *world {
	for _, text := range rules {
		effect, rule := rulesOf(text)
		at := Place{Layer: layer, File: "/settings/" + layer.String() + ".json", Line: len(w.config.Rules) + 1}
		r, err := ParseRule(rule, effect, at, folder, "/people/owner")
		if err != nil {
			panic(err)
		}
		w.config.Rules = append(w.config.Rules, r)
	}
	return w
}

func rulesOf(text string) (Effect, string) {
	word, rule, _ := strings.Cut(text, " ")
	for _, e := range []Effect{Deny, Ask, Allow} {
		if e.String() == word {
			return e, rule
		}
	}
	panic("no effect in " + text)
}

// contract adds a contract: "deny write infra/", or "deny read" for the defaults.
func (w *world) contract(layer Layer, lines ...string) *world {
	spec := ContractSpec{At: Place{Layer: layer, File: "/" + layer.String() + "/contract.yaml"}}
	for n, line := range lines {
		words := strings.SplitN(line, " ", 3)
		effect, _ := rulesOf(words[0] + " x")
		axes := Axes{}
		switch words[1] {
		case "read":
			axes.Read = effect
		case "write":
			axes.Write = effect
		case "execute":
			axes.Execute = effect
		}
		if len(words) == 2 {
			spec.Defaults = merge(spec.Defaults, axes)
			continue
		}
		spec.Rules = append(spec.Rules, ContractRule{Glob: words[2], Axes: axes, Owner: "ops", Reason: "keys", Line: n + 1})
	}
	c, err := NewContract(spec, "/ws", "/people/owner")
	if err != nil {
		panic(err)
	}
	w.config.Contracts = append(w.config.Contracts, c)
	return w
}

func merge(a, b Axes) Axes {
	return Axes{max(a.Read, b.Read), max(a.Write, b.Write), max(a.Execute, b.Execute)}
}

// link adds a link.
func (w *world) link(from, to string) *world {
	w.files[path.Join("/ws", from)] = to
	return w
}

func (w *world) policy() *Policy {
	p, err := New(w.config)
	if err != nil {
		panic(err)
	}
	return p
}

// call reads "Read a/b" and "Bash ls -l".
func call(text string) Call {
	tool, rest, _ := strings.Cut(text, " ")
	if Tool(tool) == Bash {
		return Call{Tool: Bash, Command: rest}
	}
	return Call{Tool: Tool(tool), Path: rest}
}

func (w *world) judge(text string) Decision { return w.policy().Judge(call(text), w.files) }

// verdict is what a table expects: outcome, stage, rule.
func verdict(d Decision) string {
	outcome := [...]string{"refused", "asked", "allowed"}[d.Outcome]
	s := outcome + " " + string(d.Stage)
	if d.Rule != "" {
		s += " " + d.Rule
	}
	return s
}

// expect judges and checks what every decision must have.
func (w *world) expect(t *testing.T, text, want string) {
	t.Helper()
	d := w.judge(text)
	if got := verdict(d); got != want {
		t.Errorf("%s: %s; want %s (%s)", text, got, want, d.Reason)
	}
	sound(t, text, d)
}

// sound checks what is true of every decision.
func sound(t interface {
	Helper()
	Errorf(string, ...any)
}, text string, d Decision,
) {
	t.Helper()
	if !strings.HasSuffix(d.Reason, ".") || !strings.Contains(text, "%") && strings.Contains(d.Reason+d.Remedy, "%!") {
		t.Errorf("%s: the reason is no sentence: %q, %q", text, d.Reason, d.Remedy)
	}
	if d.Outcome != Allowed && d.Remedy == "" && d.Stage != "" && !strings.Contains(d.Reason, "no policy") && !strings.Contains(d.Reason, "No rule speaks") {
		t.Errorf("%s: nothing says what to do: %q", text, d.Reason)
	}
	if d.Rule != "" && d.Rule[0] != 'p' && !strings.Contains(d.Reason, shown(d.Rule)) {
		t.Errorf("%s: the reason does not name %s: %q", text, d.Rule, d.Reason)
	}
	if (d.Outcome == Asked) != (d.Stage == StageAsk) {
		t.Errorf("%s: outcome %d at stage %s", text, d.Outcome, d.Stage)
	}
}
