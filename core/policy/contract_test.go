package policy

import (
	"strings"
	"testing"
)

func TestContract(t *testing.T) {
	lines := []string{
		"deny read .env*", "ask write migrations/**", "deny write infra/", "allow write infra/doc/**",
		"deny write ci/*.yml", "deny execute bin/deploy.sh", "ask execute tools/**", "ask read drafts",
	}
	for _, mode := range []Mode{Default, Bypass} {
		w := newWorld(mode).user("allow Read", "allow Edit", "allow Read(.env)").contract(Project, lines...).link("pub", ".env")
		for call, want := range map[string]string{
			"Read .env":            "refused contract .env*",
			"Read .env.d/key":      "refused contract .env*",
			"Read pub":             "refused contract .env*",
			"Write .env":           "refused contract .env*", // who may not read it may not write it
			"Grep .env":            "refused contract .env*",
			"Glob .env.d":          "refused contract .env*",
			"Grep":                 "allowed rules Read",
			"Write migrations/1":   "asked ask migrations/**",
			"Write infra/a":        "refused contract infra/",
			"Write infra/doc/x.md": "refused contract infra/",
			"Write ci/a.yml":       "refused contract ci/*.yml",
			"Write bin/deploy.sh":  "allowed rules Edit",
			"Read drafts/x":        "asked ask drafts",
			"Write drafts/x":       "asked ask drafts",
			"Write src/b":          "allowed rules Edit",
		} {
			w.expect(t, call, want)
		}
		d := w.judge("Read .env")
		for _, part := range []string{"project, /project/contract.yaml line 1", "keys", "ops", "the file contract's read of .env*"} {
			if !strings.Contains(d.Reason, part) {
				t.Errorf("%q is not in %q", part, d.Reason)
			}
		}
		if d := w.judge("Write migrations/1"); !strings.Contains(d.Reason, "keys") || d.At.Line != 2 {
			t.Error(d.Reason, d.At)
		}
	}
	w := newWorld(DontAsk).contract(Project, lines...)
	w.expect(t, "Write migrations/1", "refused mode migrations/**")
	w = newWorld(AcceptEdits).contract(Project, lines...)
	w.expect(t, "Write src/b", "allowed mode")
	w = newWorld(Default).contract(Project, lines...)
	w.expect(t, "Write src/b", "asked ask") // no opinion is not allow
}

func TestContractDefaults(t *testing.T) {
	lines := []string{"deny read", "deny write", "allow read src/**", "allow write src/**", "allow read doc/**", "ask write notes"}
	w := newWorld(AcceptEdits).contract(Project, lines...).link("l", "README.md").link("src/l", "../README.md")
	for call, want := range map[string]string{
		"Read README.md": "refused contract defaults.read",
		"Read l":         "refused contract defaults.read",
		"Read src/l":     "refused contract defaults.read", // its real path is in no rule
		"Write src/n":    "allowed mode",
		"Read doc/x":     "allowed mode",
		"Write doc/x":    "refused contract defaults.write",
		"Write other":    "refused contract defaults.write",
		"Write notes":    "refused contract defaults.read",
		"Grep":           "allowed mode", // a search's root is not judged by defaults
		"Grep other":     "allowed mode",
	} {
		w.expect(t, call, want)
	}
	if d := w.judge("Read README.md"); d.At.File != "/project/contract.yaml" || d.At.Line != 0 {
		t.Error(d.At)
	}
	w = newWorld(Bypass).contract(Project, "ask write")
	w.expect(t, "Write a", "asked ask defaults.write")
	w = newWorld(Default).contract(Project)
	w.expect(t, "Write a", "asked ask")
}

// TestTwoContracts: both apply, the stronger layer's is named, and neither loosens the other.
func TestTwoContracts(t *testing.T) {
	w := newWorld(Bypass).contract(Project, "deny read src/**", "deny write both").contract(User, "allow read src/**", "ask read b", "deny write both/")
	w.expect(t, "Read src/a", "refused contract src/**")
	w.expect(t, "Write both/x", "refused contract both/")
	w = newWorld(Bypass).contract(Project).contract(User, "deny read")
	w.expect(t, "Read src/a", "refused contract defaults.read")
	// An ask of a contract stands among the ask rules: by layer, then before them.
	w = newWorld(Bypass).contract(Project, "ask read a").user("ask Read(a*)").inProject("ask Read(*)")
	w.expect(t, "Read a", "asked ask Read(a*)")
	w = newWorld(Bypass).contract(User, "ask read a").user("ask Read(a*)")
	w.expect(t, "Read a", "asked ask a")
	w = newWorld(Bypass).contract(Project, "ask read a").contract(User, "ask read a*")
	w.expect(t, "Read a", "asked ask a*")
	// Of one contract the first line that is as strict.
	w = newWorld(Bypass).contract(User, "ask read a", "deny read a*", "deny read b", "deny read a").link("x", "a").link("a1", "b")
	w.expect(t, "Read x", "refused contract a*")
	w.expect(t, "Read a1", "refused contract a*")
}

func TestContractErrors(t *testing.T) {
	for _, c := range []struct {
		spec ContractSpec
		want string
	}{
		{ContractSpec{Rules: []ContractRule{{Glob: "x", Line: 4}}}, `"x" (line 4) says nothing`},
		{ContractSpec{Rules: []ContractRule{{Glob: "", Axes: Axes{Read: Deny}}}}, "is empty"},
		{ContractSpec{Rules: []ContractRule{{Glob: "!x", Axes: Axes{Read: Deny}}}}, `"!"`},
		{ContractSpec{Rules: []ContractRule{{Glob: "/x", Axes: Axes{Read: Deny}}}}, `"./x"`},
		{ContractSpec{Rules: []ContractRule{{Glob: "x", Axes: Axes{Read: 9}}}}, "effect that does not exist"},
		{ContractSpec{Defaults: Axes{Execute: 9}}, "effect that does not exist"},
	} {
		if _, err := NewContract(c.spec, "", ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %s", c.spec, err, c.want)
		}
	}
	if (Axes{}).of("listen") != Deny {
		t.Error("an axis that does not exist is open")
	}
}
