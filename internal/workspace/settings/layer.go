package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// Time that a hook may take.
const (
	defaultHookTime = 60 * time.Second
	maxHookTime     = 600 // seconds
)

// layer is one settings file, read and checked by itself. What counts of it is
// settled when the layers are joined.
type layer struct {
	source
	rules []lawful // in the order of the file

	mode     policy.Mode
	modeLine int
	dirs     []text
	forbid   int // line of disableBypassPermissionsMode: true; 0 without

	hooks    []Hook
	hooksOff *bool

	confine Sandbox // what is not said is zero
	unix    *bool
}

// lawful is a rule and what it does.
type lawful struct {
	effect policy.Effect
	rule   policy.Rule
}

// count is how many rules of an effect the layer has.
func (l *layer) count(effect policy.Effect) int {
	n := 0
	for _, r := range l.rules {
		if r.effect == effect {
			n++
		}
	}
	return n
}

// owned reports whether the layer is the owner's alone: no project can write there.
func (l *layer) owned() bool { return l.layer == policy.Managed || l.layer == policy.User }

// parseLayer reads the settings of a file. dir is the project's real path, home the
// user's; they are what "/p" and "~/p" mean.
func parseLayer(s source, dir, home string) (*layer, error) {
	l := &layer{source: s}
	if !s.present {
		return l, nil
	}
	p := &layerReader{reader: reader{source: s}, layer: l, home: home, dir: dir}
	if !l.owned() {
		p.folder = dir
	}
	if top, ok := p.parse(); ok {
		p.top(top)
	}
	return l, p.err()
}

// layerReader reads one file into its layer.
type layerReader struct {
	reader
	*layer
	folder    string // what "/p" of a rule means; empty where it means nothing
	dir, home string
}

// The promoted names of both embedded structs are the source; the reader's is used.
func (p *layerReader) place(line int) policy.Place { return p.reader.place(line) }

func (p *layerReader) top(a at) {
	known := keys{
		"permissions": p.permissions,
		"hooks":       p.allHooks,
		"sandbox":     p.sandbox,
		"disableAllHooks": p.truth(func(off bool, _ int) {
			p.hooksOff = &off
		}),
	}
	if !p.owned() {
		known["disableAllHooks"] = func(a at) {
			p.wrong(a, "may stand in the managed and the user's settings alone: a project can't switch off their hooks")
		}
	}
	p.object(a, known)
}

func (p *layerReader) permissions(a at) {
	p.object(a, keys{
		"allow": p.ruleList(policy.Allow),
		"ask":   p.ruleList(policy.Ask),
		"deny":  p.ruleList(policy.Deny),
		"defaultMode": func(a at) {
			t, ok := p.text(a)
			if !ok {
				return
			}
			m, err := policy.ParseMode(t.value)
			if err != nil {
				p.wrong(a, "%s", err)
				return
			}
			p.mode, p.modeLine = m, t.line
		},
		"additionalDirectories": p.texts(&p.dirs, p.checkPath),
		"disableBypassPermissionsMode": p.truth(func(forbid bool, line int) {
			if forbid {
				p.forbid = line
			}
		}),
	})
}

func (p *layerReader) ruleList(effect policy.Effect) func(at) {
	return func(a at) {
		p.array(a, func(e at) {
			t, ok := p.text(e)
			if !ok {
				return
			}
			rule, err := policy.ParseRule(t.value, effect, p.place(t.line), p.folder, p.home)
			if err != nil {
				p.wrong(e, "%s", err)
				return
			}
			p.rules = append(p.rules, lawful{effect, rule})
		})
	}
}

// checkPath says what is wrong with a path: of a project it may be relative to it.
func (p *layerReader) checkPath(path string) error {
	if _, err := p.full(path); err != nil {
		return err
	}
	return nil
}

// full makes a path of this file absolute.
func (p *layerReader) full(path string) (string, error) { return fullPath(path, p.folder, p.home) }

var errRelative = errors.New(`must be an absolute path or begin with "~/"`)

// fullPath makes a path of a settings file absolute; folder is what it may be relative
// to, empty where it may not.
func fullPath(path, folder, home string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest), nil
	}
	switch {
	case path == "~":
		return home, nil
	case strings.ContainsAny(path, "\n\t"):
		return "", errControl
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	case folder == "" || strings.HasPrefix(path, "~"):
		return "", errRelative
	}
	return filepath.Join(folder, path), nil
}

func (p *layerReader) sandbox(a at) {
	var mode, network text
	var readable, writable, env []text
	p.object(a, keys{
		"mode": func(a at) {
			if l, ok := a.v.Value.(hujson.Literal); ok && l.Kind() == '"' && l.String() == "off" {
				p.wrong(a, "can't be off in settings: that takes --sandbox off at every start")
				return
			}
			p.oneOf(&mode, "read-only", "workspace-write")(a)
		},
		"network": p.oneOf(&network, "none", "host"),
		"unixSockets": p.truth(func(on bool, _ int) {
			p.unix = &on
		}),
		"readable": p.texts(&readable, p.checkPath),
		"writable": p.texts(&writable, p.checkPath),
		"env": p.texts(&env, func(name string) error {
			if !variable.MatchString(name) {
				return errors.New("is no name of an environment variable")
			}
			return nil
		}),
	})
	p.confine = Sandbox{Mode: mode.value, Network: network.value, Readable: p.paths(readable), Writable: p.paths(writable)}
	for _, name := range env {
		p.confine.Env = append(p.confine.Env, name.value)
	}
}

// paths are checked already.
func (p *layerReader) paths(list []text) []string {
	var all []string
	for _, t := range list {
		if path, err := p.full(t.value); err == nil {
			all = append(all, path)
		}
	}
	return all
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (p *layerReader) allHooks(a at) {
	p.object(a, keys{
		string(PreToolUse):  p.hookGroups(PreToolUse),
		string(PostToolUse): p.hookGroups(PostToolUse),
	})
}

// hookGroups reads the list of one event: matchers with their commands.
func (p *layerReader) hookGroups(event Event) func(at) {
	return func(a at) {
		p.array(a, func(e at) {
			matcher, commands := "", 0
			var found []Hook
			p.object(e, keys{
				"matcher": func(a at) {
					t, ok := p.text(a)
					if !ok {
						return
					}
					if _, err := ParseMatcher(t.value); err != nil {
						p.wrong(a, "%s", err)
						return
					}
					matcher = t.value
				},
				"hooks": func(a at) {
					p.array(a, func(e at) {
						commands++
						if h, ok := p.hook(e); ok {
							h.Event = event
							found = append(found, h)
						}
					})
				},
			})
			if commands == 0 {
				p.wrong(e, "has no hooks: write a list of {\"type\": \"command\", \"command\": ...}")
			}
			for _, h := range found {
				h.Matcher = matcher
				p.hooks = append(p.hooks, h)
			}
		})
	}
}

func (p *layerReader) hook(e at) (Hook, bool) {
	h := Hook{Timeout: defaultHookTime, At: p.place(p.line(e.v.StartOffset))}
	var kind, command text
	before := len(p.problems)
	p.object(e, keys{
		"type": p.oneOf(&kind, "command"),
		"command": func(a at) {
			if t, ok := p.text(a); ok {
				command = t
			}
		},
		"timeout": func(a at) {
			seconds, ok := p.whole(a, 1, maxHookTime)
			if ok {
				h.Timeout = time.Duration(seconds) * time.Second
			}
		},
	})
	if len(p.problems) > before {
		return h, false
	}
	if kind.value == "" {
		p.wrong(e, "has no type; \"command\" is the one that there is")
	}
	if strings.TrimSpace(command.value) == "" {
		p.wrong(e, "has no command")
	}
	h.Command = command.value
	return h, len(p.problems) == before
}

// whole reads a whole number within limits.
func (p *layerReader) whole(a at, low, high int) (int, bool) {
	if l, ok := a.v.Value.(hujson.Literal); ok && l.Kind() == '0' {
		var n int
		if _, err := fmt.Sscanf(string(l), "%d", &n); err == nil && fmt.Sprint(n) == string(l) && n >= low && n <= high {
			return n, true
		}
	}
	p.wrong(a, "must be a whole number from %d to %d", low, high)
	return 0, false
}

// Matcher says which tools a hook is for.
type Matcher struct{ re *regexp.Regexp }

// ParseMatcher reads a matcher: empty or "*" is every tool, anything else a regular
// expression (RE2) of the whole name, of which "A|B" is one.
func ParseMatcher(text string) (Matcher, error) {
	if text == "" || text == "*" {
		return Matcher{regexp.MustCompile("")}, nil
	}
	_, alone := regexp.Compile(text) // it must not close the group that anchors it
	re, err := regexp.Compile(`^(?:` + text + `)$`)
	if alone != nil || err != nil {
		return Matcher{}, errors.New("is no regular expression (RE2), nor * for every tool")
	}
	return Matcher{re}, nil
}

// Match reports whether the hook is for the tool. The zero Matcher matches every tool:
// a hook that runs too often refuses, one that does not run lets pass.
func (m Matcher) Match(tool string) bool { return m.re == nil || m.re.MatchString(tool) }
