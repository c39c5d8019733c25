package policy

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReach(t *testing.T) {
	w := newWorld(Default).user("deny Read(.env)", "deny Edit(doc/**)", "allow Edit(.vscode/settings.json)", "allow Edit(./.git/x)", "ask Read(asked)").
		contract(Project, "deny read keys/", "deny write infra", "ask read drafts", "deny execute bin")
	w.config.Own, w.config.Hooked = []string{"/ws/bin/holdfast"}, []string{"/ws/hooks/check.sh"}
	p := w.policy()
	for _, c := range []struct {
		path  string // a last slash says that it is a folder
		reach Reach
		whole bool
	}{
		{"/ws/", Writable, false},
		{"/extra/", Writable, false},
		{"/ws/src/", Writable, false},
		{"/ws/src/a", Writable, true},
		{"/ws/.env", Hidden, true},
		{"/ws/a/.env/", Hidden, true},
		{"/ws/a/.env/x", Hidden, true},
		{"/ws/keys", Writable, true}, // a file of that name is none of the contract's
		{"/ws/keys/", Hidden, true},
		{"/ws/keys/k", Hidden, true},
		{"/ws/doc/", ReadOnly, false}, // an .env may lie in it
		{"/ws/doc/a", ReadOnly, true},
		{"/ws/infra/x", ReadOnly, true},
		{"/ws/drafts/x", Writable, true}, // asks are the gate's
		{"/ws/asked", Writable, true},
		{"/ws/bin/holdfast", ReadOnly, true},
		{"/ws/hooks/check.sh", ReadOnly, true},
		{"/ws/.npmrc", ReadOnly, true},
		{"/ws/.husky/", ReadOnly, false},
		{"/ws/.vscode/", Writable, false}, // something in it is lifted
		{"/ws/.vscode/settings.json", Writable, true},
		{"/ws/.vscode/tasks.json", ReadOnly, true},
		{"/ws/.holdfast/", ReadOnly, false},
		// git runs what stands in these, and must write the rest.
		{"/ws/.git", ReadOnly, true},
		{"/ws/.git/", Writable, false},
		{"/ws/.git/HEAD", Writable, true},
		{"/ws/.git/refs/heads/config", Writable, true},
		{"/ws/.git/objects/info/packs", Writable, true},
		{"/ws/.git/config", ReadOnly, true},
		{"/ws/.git/config.worktree", ReadOnly, true},
		{"/ws/.git/hooks/", ReadOnly, false},
		{"/ws/.git/hooks/pre-commit", ReadOnly, true},
		{"/ws/.git/info/attributes", ReadOnly, true},
		{"/ws/.git/commondir", ReadOnly, true},
		{"/ws/sub/.GIT/Config", ReadOnly, true},
		{"/ws/.git/y/.git/config", ReadOnly, true},
		{"/ws/.git/y/.git", ReadOnly, true},
		{"/ws/.git/modules/a/b/config", ReadOnly, true},
		{"/ws/.git/modules/a/hooks/x", ReadOnly, true},
		{"/ws/.git/modules/a/HEAD", Writable, true},
		{"/ws/.git/worktrees/w/gitdir", ReadOnly, true},
		{"/ws/.git/worktrees/w/HEAD", Writable, true},
		{"/ws/.git/worktrees/w/", Writable, false},
		// Outside.
		{"/", Hidden, true},
		{"/people/owner/", Hidden, true},
		{"/wsx", Hidden, true},
		{"ws", Hidden, true},
	} {
		folder := strings.HasSuffix(c.path, "/")
		name := path.Clean(c.path)
		if c.path == "ws" {
			name = "../ws/../x"
		}
		if r, whole := p.Reach(name, folder); r != c.reach || whole != c.whole {
			t.Errorf("%s: %d, whole %t; want %d, %t", c.path, r, whole, c.reach, c.whole)
		}
	}
}

func TestReachUnderDefaults(t *testing.T) {
	p := newWorld(Default).contract(Project, "deny read", "deny write", "allow read src/**", "allow write src/lib/**", "deny read src/lib/k").policy()
	for _, c := range []struct {
		path  string
		reach Reach
		whole bool
	}{
		{"/ws/", Writable, false},
		{"/ws/README.md", Hidden, true},
		{"/ws/doc/", Hidden, true}, // no rule names anything in it
		{"/ws/src/", Writable, false},
		{"/ws/src/a", ReadOnly, true},
		{"/ws/src/x/", ReadOnly, false},
		{"/ws/src/lib/", Writable, false},
		{"/ws/src/lib/a", Writable, true},
		{"/ws/src/lib/k", Hidden, true},
	} {
		if r, whole := p.Reach(path.Clean(c.path), strings.HasSuffix(c.path, "/")); r != c.reach || whole != c.whole {
			t.Errorf("%s: %d, whole %t; want %d, %t", c.path, r, whole, c.reach, c.whole)
		}
	}
	// A workspace that may not be read at all can still be stood in.
	for mode, want := range map[string]Reach{"deny Read": ReadOnly, "deny Read(./*)": Writable} {
		p := newWorld(Default).user(mode).policy()
		if r, whole := p.Reach("/ws", true); r != want || whole {
			t.Errorf("%s: %d, %t", mode, r, whole)
		}
		if r, _ := p.Reach("/ws/a", true); r != Hidden {
			t.Errorf("%s: %d", mode, r)
		}
	}
	if r, whole := newWorld(Default).contract(User, "deny read **").policy().Reach("/ws", true); r != Writable || whole {
		t.Error("nothing in it can be read", r, whole)
	}
	w := newWorld(Default).inProject("allow Edit(/b/.idea/x)")
	w.config.Roots = []string{"/ws/b", "/ws/b/.git/sub"}
	if r, _ := w.policy().Reach("/ws/b/.idea", true); r != Writable {
		t.Error("lifted by a project's pattern", r)
	}
	v := newWorld(Default).user("deny Edit", "deny Read(~/k)")
	v.config.Roots = []string{"/people"}
	if r, whole := v.policy().Reach("/people", true); r != ReadOnly || whole {
		t.Error("something in the home directory below is hidden", r, whole)
	}
	if r, _ := w.policy().Reach("/ws/b/.git/sub/config", false); r != Writable {
		t.Error("a name in the second git folder's own root is below the first one's sub", r)
	}
	if r, whole := newWorld(Default).user("deny Edit", "deny Read(./a/b)").policy().Reach("/ws/c", true); r != ReadOnly || !whole {
		t.Error("nothing below it is hidden", r, whole)
	}
	if r, whole := newWorld(Default).user("deny Edit").contract(User, "deny read ./c/d").policy().Reach("/ws/c", true); r != ReadOnly || whole {
		t.Error("something below it is hidden", r, whole)
	}
	if r, whole := newWorld(Default).user("allow Edit(//ws/a/.idea/x)", "allow Edit(//ws/.idea)").policy().Reach("/ws/a/.idea", true); r != Writable || whole {
		t.Error("lifted by an absolute pattern", r, whole)
	}
}

// drawRules draws a handful of rules, of which some match.
func drawRules(t *rapid.T, most int, effects ...string) []string {
	pattern := rapid.SampledFrom([]string{
		"a", "b/**", "a/b", "*", "**", "./a", "a/", "*.md", ".env", ".git", ".vscode/a", "a/*", "?", "[ab]", "//ws/a", "~/x", "//extra",
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		tool := rapid.SampledFrom([]string{"Read", "Edit", "Read", "Edit", "Write", "Grep", "Glob"}).Draw(t, "tool")
		rule := tool
		if tool == "Read" || tool == "Edit" {
			rule += "(" + pattern.Draw(t, "pattern") + ")"
		}
		return rapid.SampledFrom(effects).Draw(t, "effect") + " " + rule
	}), 0, most).Draw(t, "rules")
}

func drawContract(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		line := rapid.SampledFrom([]string{"deny", "ask", "allow"}).Draw(t, "effect") + " " + rapid.SampledFrom([]string{"read", "write"}).Draw(t, "axis")
		return line + rapid.SampledFrom([]string{"", " a", " b/**", " .env", " a/*", " *.md", " a/"}).Draw(t, "glob")
	}), 0, 3).Draw(t, "contract")
}

func drawWorld(t *rapid.T) *world {
	w := newWorld(rapid.SampledFrom(modes[:]).Draw(t, "mode")).link("l", "a").link("m", "/ws/b").link("out", "/etc").link("g", ".git").link("a/l", "../b")
	for range rapid.IntRange(0, 2).Draw(t, "contracts") {
		w.contract(rapid.SampledFrom([]Layer{User, Project}).Draw(t, "layer"), drawContract(t)...)
	}
	w.user(drawRules(t, 4, "allow", "ask", "deny")...)
	w.inProject(drawRules(t, 3, "allow", "allow", "ask", "deny")...)
	return w
}

func drawPath(t *rapid.T) string {
	name := rapid.SampledFrom([]string{"a", "b", "l", "m", "g", "out", ".env", ".git", ".vscode", "x.md", "..", "c"})
	return strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "path"), "/")
}

func drawCall(t *rapid.T) string {
	return rapid.SampledFrom([]string{"Read ", "Write ", "Edit ", "Grep ", "Glob "}).Draw(t, "tool") + drawPath(t)
}

// TestPropertySound: every decision has a reason and a stage, in every world.
func TestPropertySound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := drawWorld(t), drawCall(t)
		sound(t, c, w.judge(c))
	})
}

// TestPropertyTightening: adding a deny, an ask or a contract never turns a refusal
// into something milder, and no call that meets a deny is allowed.
func TestPropertyTightening(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := drawWorld(t), drawCall(t)
		before := w.judge(c)
		if rapid.Bool().Draw(t, "rule") {
			w.user(drawRules(t, 2, "deny", "ask")...)
		} else {
			w.contract(User, drawContract(t)...)
		}
		// In the mode plan an ask rule speaks before the mode; nobody is asked either.
		if after := w.judge(c); after.Outcome > before.Outcome && (after.Outcome == Allowed || w.config.Mode != Plan) {
			t.Fatalf("%s: %s became %s", c, verdict(before), verdict(after))
		}
	})
}

// TestPropertyAllowNeverBeatsDeny: what a deny rule alone refuses, no allow rule saves.
func TestPropertyAllowNeverBeatsDeny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := newWorld(Default).link("l", "a"), drawCall(t)
		w.user(drawRules(t, 3, "deny")...)
		refused := w.judge(c).Outcome == Refused
		w.config.Mode = rapid.SampledFrom(modes[:]).Draw(t, "mode")
		w.inProject(drawRules(t, 4, "allow")...).layer(Managed, "", drawRules(t, 4, "allow"))
		d := w.judge(c)
		unlifted := newWorld(Default).link("l", "a").judge(c)
		if refused && d.Outcome != Refused && !strings.HasPrefix(unlifted.Rule, "protected:") {
			t.Fatalf("%s: %s", c, verdict(d))
		}
	})
}

// TestPropertyOrder: the order of rules and contracts changes no outcome.
func TestPropertyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := drawWorld(t), drawCall(t)
		before := w.judge(c)
		w.config.Rules = rapid.Permutation(w.config.Rules).Draw(t, "rules")
		w.config.Contracts = rapid.Permutation(w.config.Contracts).Draw(t, "contracts")
		if after := w.judge(c); after.Outcome != before.Outcome || after.Stage != before.Stage {
			t.Fatalf("%s: %s became %s", c, verdict(before), verdict(after))
		}
	})
}

// TestPropertyModes: no mode allows more than bypassPermissions.
func TestPropertyModes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := drawWorld(t), drawCall(t)
		here := w.judge(c)
		w.config.Mode = Bypass
		if widest := w.judge(c); here.Outcome > widest.Outcome {
			t.Fatalf("%s: %s, but %s in bypass", c, verdict(here), verdict(widest))
		}
	})
}

// TestPropertyRemedy: who adds the rules that a remedy names, is allowed.
func TestPropertyRemedy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := drawWorld(t), drawCall(t)
		d := w.judge(c)
		if !strings.Contains(d.Remedy, "to permissions.allow") {
			t.Skip("no rule is named")
		}
		if _, named, ok := strings.Cut(d.Remedy, ", and "); ok {
			c = strings.Split(c, " ")[0] + " " + strings.Split(named, " must")[0]
		}
		rules := strings.Split(strings.TrimPrefix(strings.Split(d.Remedy, " to permissions")[0], "The owner can add "), " and ")
		for _, r := range rules {
			w.user("allow " + strings.Trim(r, `"`))
		}
		after := w.judge(c)
		if d.Stage == StageAsk && after.Outcome != Allowed || strings.HasPrefix(after.Rule, "protected:") {
			t.Fatalf("%s: %s, and after %v %s", c, d.Reason, rules, verdict(after))
		}
	})
}

// TestPropertyReachAgreesWithJudge: what a confined command may do with a file is what
// the file tools may do, but for asks and for what git itself must write.
func TestPropertyReachAgreesWithJudge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.files, w.config.Mode = links{}, Bypass
		p := w.policy()
		file := "/ws/" + path.Clean("/" + drawPath(t))[1:]
		reach, whole := p.Reach(file, false)
		read, write := p.Judge(call("Read "+file), w.files), p.Judge(call("Edit "+file), w.files)
		switch {
		case file == "/ws/":
			t.Skip("a root is no file")
		case !whole:
			t.Fatalf("%s: nothing is below a file", file)
		case (read.Outcome == Refused) != (reach == Hidden):
			t.Fatalf("%s: reach %d, but reading is %s", file, reach, verdict(read))
		case write.Outcome == Refused && reach == Writable && write.Rule != "protected:.git":
			t.Fatalf("%s: writable, but writing is %s", file, verdict(write))
		case write.Outcome != Refused && reach != Writable:
			t.Fatalf("%s: reach %d, but writing is %s", file, reach, verdict(write))
		}
	})
}

// TestPropertyReachWhole: where a walk stops, nothing below is reached further, and
// what is below a folder in full is not less than told.
func TestPropertyReachWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawWorld(t).policy()
		above := path.Join("/ws", drawPath(t))
		under := path.Join(above, path.Clean("/"+drawPath(t)))
		if under == above || !strings.HasPrefix(above, "/ws/") {
			t.Skip("not below")
		}
		reach, whole := p.Reach(above, true)
		r, _ := p.Reach(under, rapid.Bool().Draw(t, "folder"))
		if r > reach || whole && r != reach {
			t.Fatalf("%s: %d, whole %t; but %s: %d", above, reach, whole, under, r)
		}
	})
}

// TestPropertyReadable is what Judge says of reading.
func TestPropertyReadable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, file := drawWorld(t), drawPath(t)
		p := w.policy()
		real, err := w.files.Real(path.Join("/ws", file))
		if err != nil {
			t.Skip("a loop")
		}
		if got, want := p.Readable(file, real), p.Judge(call("Read "+file), w.files).Outcome == Allowed; got != want {
			t.Fatalf("%s, %s: readable %t, judged %t", file, real, got, want)
		}
	})
}

// TestPropertyTableIsAnIndex: looking rules up gives what trying each in turn gives.
func TestPropertyTableIsAnIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(Default)
		for i := range rapid.IntRange(1, 6).Draw(t, "rules") {
			text := patternText().Draw(t, fmt.Sprint("rule", i))
			if r, err := ParseRule("Read("+text+")", Deny, Place{Layer: User}, "/ws", "/people/owner"); err == nil {
				w.config.Rules = append(w.config.Rules, r)
			}
		}
		p := w.policy()
		at := target{views: []view{p.view("/ws/" + pathText().Draw(t, "path"))}, folder: rapid.Bool().Draw(t, "folder")}
		want := none
		for i := range p.rules {
			if r := &p.rules[i]; r.bare || at.views[0].matches(&r.path, at.folder) {
				want = i
				break
			}
		}
		if got := p.paths[Deny].reading.first(&at, false); got != want {
			t.Fatalf("rule %d, in turn %d", got, want)
		}
	})
}
