package shell

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// corpusCase is a row of workspace_cases.json, as far as it is read here.
type corpusCase struct {
	Name     string                     `json:"name"`
	Family   string                     `json:"family"`
	Files    map[string]json.RawMessage `json:"files"`
	Mode     string                     `json:"mode"`
	Tool     string                     `json:"tool"`
	Args     string                     `json:"args"`
	Decision string                     `json:"decision"`
	Stage    string                     `json:"stage"`
	Rule     *string                    `json:"rule"`
	Why      string                     `json:"why"`
}

// families are judged by parts and patterns alone, or nearly so.
var families = []string{
	"bash_match", "bash_quoting", "bash_compound", "bash_subst", "bash_wrappers", "bash_opaque", "bash_assign", "bash_neutral",
	"bash_redirect", "honest", "limits", "grammar",
}

func corpus(t *testing.T) []corpusCase {
	t.Helper()
	dir := os.Getenv("HOLDFAST_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	text, err := os.ReadFile(filepath.Join(dir, "workspace_cases.json"))
	if err != nil {
		t.Skipf("THE CORPUS IS MISSING, no decision is checked: %v", err)
	}
	var cases []corpusCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestCorpus judges the corpus with a small judge of its own: user rules, two modes, and
// targets by their text.
func TestCorpus(t *testing.T) {
	ran := 0
	for _, c := range corpus(t) {
		if c.Tool != "Bash" || !slices.Contains(families, c.Family) {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			var args struct{ Command string }
			if err := json.Unmarshal([]byte(c.Args), &args); err != nil {
				t.Fatal(err)
			}
			decision, stage, rule := judge(t, &c, args.Command)
			want := ""
			if c.Rule != nil {
				want = *c.Rule
			}
			if decision != c.Decision || stage != c.Stage || rule != want {
				t.Errorf("%s\ngot  %s %s %q\nwant %s %s %q: %s\n%s", args.Command, decision, stage, rule, c.Decision, c.Stage, want, c.Why, show(args.Command))
			}
		})
	}
	if ran < 200 {
		t.Errorf("only %d cases were judged", ran)
	}
}

func show(command string) string {
	s, err := Read(command)
	if err != nil {
		return err.Error()
	}
	text, _ := json.MarshalIndent(s, "", "  ")
	return string(text)
}

type ruleSet struct{ Allow, Ask, Deny []string }

func judge(t *testing.T, c *corpusCase, command string) (decision, stage, rule string) {
	t.Helper()
	var settings struct{ Permissions ruleSet }
	if raw, ok := c.Files["home/.config/holdfast/settings.json"]; ok {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &settings); err != nil {
			t.Fatal(err)
		}
	}
	rules := settings.Permissions
	for _, list := range [][]string{rules.Allow, rules.Ask, rules.Deny} {
		for _, r := range list {
			if inner, ok := strings.CutPrefix(r, "Bash("); ok {
				if _, err := ParsePattern(strings.TrimSuffix(inner, ")")); err != nil {
					return "refuse", "start", ""
				}
			}
		}
	}
	s, err := Read(command)
	if err != nil {
		return "refuse", "rules", ""
	}
	if r := first(rules.Deny, s.Parts, Pattern.May); r != "" {
		return "refuse", "rules", r
	}
	if r := first(rules.Ask, s.Parts, Pattern.May); r != "" {
		return "refuse", "ask", r
	}
	for _, part := range s.Parts {
		ok, r := allowed(&part, rules.Allow)
		if rule == "" {
			rule = r
		}
		if !ok && c.Mode != "bypassPermissions" {
			return "refuse", "ask", ""
		}
	}
	if rule == "" {
		return "allow", "mode", ""
	}
	return "allow", "rules", rule
}

// first gives the first rule that meets a part or one of its targets.
func first(rules []string, parts []Part, meets func(Pattern, *Part) bool) string {
	for _, r := range rules {
		for _, part := range parts {
			if inner, ok := strings.CutPrefix(r, "Bash("); ok {
				p, err := ParsePattern(strings.TrimSuffix(inner, ")"))
				if err == nil && meets(p, &part) {
					return r
				}
				continue
			}
			for _, a := range part.Accesses {
				if !a.Path.Literal || target(r, a.Path.Text, a.Write) {
					return r
				}
			}
		}
	}
	return ""
}

// target matches the few path rules of these families. A rule on reading covers writing.
func target(rule, text string, write bool) bool {
	tool, glob, _ := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	if tool == "Edit" && !write {
		return false
	}
	text = path.Clean(text)
	if folder, ok := strings.CutSuffix(glob, "/**"); ok {
		return strings.HasPrefix(text, folder+"/")
	}
	return strings.TrimPrefix(glob, "./") == text
}

func allowed(part *Part, rules []string) (ok bool, rule string) {
	ok = part.Neutral && part.Opaque == ""
	for _, in := range part.Inside {
		ok = ok && in.Literal && !strings.HasPrefix(path.Clean(in.Text), "..") && !strings.HasPrefix(in.Text, "/")
	}
	for _, r := range rules {
		if ok {
			break
		}
		inner, isBash := strings.CutPrefix(r, "Bash(")
		if r == "Bash" {
			return true, r
		}
		if !isBash {
			continue
		}
		if p, err := ParsePattern(strings.TrimSuffix(inner, ")")); err == nil && p.Covers(part) {
			ok, rule = true, r
		}
	}
	for _, a := range part.Accesses {
		free := a.Path.Literal && (strings.HasPrefix(a.Path.Text, "/tmp/") || strings.HasPrefix(a.Path.Text, "/dev/"))
		for _, r := range rules {
			if !free && a.Path.Literal && strings.HasPrefix(r, "Edit") && target(r, a.Path.Text, true) {
				free = true
				if rule == "" {
					rule = r
				}
			}
		}
		ok = ok && free
	}
	return ok, rule
}
