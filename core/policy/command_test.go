package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/shell"
	"pgregory.net/rapid"
)

func TestCommands(t *testing.T) {
	allow := []string{"allow Bash(npm test *)", "allow Bash(git status)", "allow Bash(git diff *)", "allow Edit(logs/**)"}
	for _, c := range []struct{ command, want string }{
		// Every part must be allowed; the first part's rule is named.
		{"git diff; git status", "allowed rules Bash(git diff *)"},
		{"git status | git diff --stat", "allowed rules Bash(git status)"},
		{"git status && rm x", "asked ask"},
		{"cd src && npm test", "allowed rules Bash(npm test *)"},
		{"echo hi", "allowed mode"},
		{"# nothing", "allowed mode"},
		{"ls", "asked ask"},
		{"cd ..", "asked ask"},
		{"cd", "asked ask"},
		{"cd lout", "asked ask"},
		// Redirections.
		{"npm test > /dev/null 2>&1", "allowed rules Bash(npm test *)"},
		{"npm test > /dev/./null", "allowed rules Bash(npm test *)"},
		{"npm test > /tmp/x 2>&1", "allowed rules Bash(npm test *)"},
		{"npm test > logs/t", "allowed rules Bash(npm test *)"},
		{"echo x > logs/t", "allowed rules Edit(logs/**)"},
		{"npm test > src/t", "asked ask"},
		{"npm test > logs/../src/t", "asked ask"},
		{"npm test < README.md", "allowed rules Bash(npm test *)"},
		{"echo x < README.md", "allowed mode"},
		{"npm test > logs/$F", "asked ask"},
		{"npm test < $F", "asked ask"},
		{"npm test > ../out", "refused sandbox"},
		{"npm test > ~/.bashrc", "refused sandbox"},
		{"npm test < /etc/passwd", "refused sandbox"},
		{"echo x > lout", "refused sandbox"},
		{"echo x > loop", "refused sandbox"},
		{"echo x > /dev/tcp/1.2.3.4/80", "refused sandbox"},
		{"echo x > .git/config", "refused rules protected:.git"},
		{"echo x > /tmp/../ws/.git/config", "refused rules protected:.git"},
		// Descriptors by name.
		{"echo x > /dev/stderr", "allowed mode"},
		{"echo x > /dev/fd/2", "allowed mode"},
		{"npm test < /dev/stdin", "allowed rules Bash(npm test *)"},
		{"{ echo x > /dev/fd/0; } < README.md", "refused sandbox"},
		{"echo x > /dev/fd/", "refused sandbox"},
		{"echo x > /dev/fd/1x", "refused sandbox"},
		// What the kernel walks: the parent of what a link leads to.
		{"echo x > deep/../config", "refused rules protected:.git"},
		{"echo x > a/deep/../../logs/a", "refused rules protected:.git"},
		{"echo x > dout/../y", "refused sandbox"},
		{"echo x > loop/../y", "refused sandbox"},
		{"echo x > " + strings.Repeat("a/", 7000) + "y", "refused sandbox"},
		// What bash does not take is refused.
		{"git status )", "refused rules"},
	} {
		newWorld(Default).user(allow...).link("lout", "/out/s").link("loop", "loop").link("deep", ".git/hooks").link("a/deep", "../.git/modules/x").link("dout", "/out/dir").
			expect(t, "Bash "+c.command, c.want)
	}
}

func TestBareBash(t *testing.T) {
	for _, c := range []struct {
		mode          Mode
		rules         []string
		command, want string
	}{
		{Default, []string{"allow Bash"}, "anything at all > out.log", "allowed rules Bash"},
		{Default, []string{"allow Bash(*)"}, "$X", "allowed rules Bash(*)"},
		{Default, []string{"allow Bash"}, "echo > out.log", "allowed rules Bash"},
		{Default, []string{"allow Bash"}, "echo", "allowed mode"},
		{Default, []string{"allow Bash"}, "x > $F", "allowed rules Bash"},
		{Default, []string{"allow Bash(x)", "allow Bash"}, "x > $F", "allowed rules Bash(x)"},
		{Default, []string{"allow Bash", "allow Bash(x)"}, "x", "allowed rules Bash"},
		{Default, []string{"allow Edit(a)", "allow Bash"}, "echo > a", "allowed rules Edit(a)"},
		{Default, []string{"allow Bash", "allow Edit(a)"}, "echo > a", "allowed rules Bash"},
		{Default, []string{"allow Bash", "deny Edit(src/**)"}, "x > $F", "refused rules Edit(src/**)"},
		{Default, []string{"allow Bash", "deny Read(src/**)"}, "x > $F", "refused rules Read(src/**)"},
		{Default, []string{"allow Bash", "deny Edit(src/**)"}, "x < $F", "allowed rules Bash"},
		{Default, []string{"allow Bash", "ask Edit(src/**)"}, "x > $F", "asked ask Edit(src/**)"},
		{Default, []string{"allow Bash", "deny Write"}, "x > a", "allowed rules Bash"},
		{Default, []string{"allow Bash", "deny Bash"}, "# nothing", "refused rules Bash"},
		{Default, []string{"ask Bash"}, "echo", "asked ask Bash"},
		{Default, []string{"allow Bash", "deny Bash(rm *)"}, "$X", "refused rules Bash(rm *)"},
		{Default, []string{"deny Bash(rm *)", "deny Bash"}, "ls", "refused rules Bash"},
		{Default, []string{"deny Bash", "deny Bash(rm *)"}, "rm x", "refused rules Bash"},
		{Default, []string{"deny Bash(rm *)", "deny Bash"}, "rm x", "refused rules Bash(rm *)"},
		{Default, []string{"deny Edit(a)", "deny Bash(x)"}, "x > a", "refused rules Edit(a)"},
		{Default, []string{"deny Bash(x)", "deny Edit(a)"}, "x > a", "refused rules Bash(x)"},
		{AcceptEdits, nil, "echo > a", "allowed mode"},
		{AcceptEdits, nil, "echo > $F", "asked ask"},
		{AcceptEdits, []string{"allow Bash(x)"}, "x > a", "allowed rules Bash(x)"},
		{Bypass, nil, "x > a", "allowed mode"},
		{Bypass, nil, "x > $F", "allowed mode"},
		{Bypass, []string{"allow Bash(x)"}, "x; y", "allowed mode"},
		{Bypass, []string{"allow Bash(x)", "allow Edit(a)"}, "y > a", "allowed mode"},
		{Bypass, []string{"allow Bash(x)"}, "echo; x", "allowed rules Bash(x)"},
		{Plan, []string{"allow Bash"}, "ls", "refused mode"},
		{Plan, []string{"allow Bash"}, "# nothing", "refused mode"},
		{Plan, nil, "pwd", "refused mode"},
		{Plan, []string{"ask Bash(ls)"}, "pwd; ls", "asked ask Bash(ls)"},
		{DontAsk, nil, "ls", "refused mode"},
		{DontAsk, nil, "pwd", "allowed mode"},
		{DontAsk, []string{"ask Bash(ls)"}, "ls", "refused mode Bash(ls)"},
		{DontAsk, nil, "echo > a", "refused mode"},
	} {
		newWorld(c.mode).user(c.rules...).expect(t, "Bash "+c.command, c.want)
	}
}

// TestShadows: what a command may run that needs a rule on itself is held against denies,
// its redirections too, and against nothing else.
func TestShadows(t *testing.T) {
	for _, c := range []struct {
		mode          Mode
		rules         []string
		command, want string
	}{
		{Default, []string{"allow Bash", "deny Edit(secret/**)"}, "/bin/bash -c 'echo x > secret/f'", "refused rules Edit(secret/**)"},
		{Default, []string{"allow Bash", "deny Edit(secret/**)"}, "/bin/bash -c 'echo x > src/f'", "allowed rules Bash"},
		{Default, []string{"allow Bash", "deny Edit(secret/**)"}, "bash -hc 'echo x > secret/f'", "refused rules Edit(secret/**)"},
		{Default, []string{"allow Bash", "deny Edit(secret/**)"}, "bash -O extglob <<'E'\necho x > secret/f\nE", "refused rules Edit(secret/**)"},
		{Default, []string{"allow Bash", "deny Edit(secret/**)"}, "zsh -c 'echo $x > secret/f'", "refused rules Edit(secret/**)"},
		{Default, []string{"allow Bash", "deny Edit(secret/**)"}, "cd secret; sudo sh -c 'echo x > f'", "refused rules Edit(secret/**)"},
		{Default, []string{"allow Bash", "deny Edit(secret/**)"}, "env -C secret bash -c 'echo x > f'", "refused rules Edit(secret/**)"},
		{Default, []string{"allow Bash", "ask Edit(secret/**)"}, "/bin/sh -c 'echo x > secret/f'", "asked ask Edit(secret/**)"},
		{Default, []string{"allow Bash"}, "/bin/bash -c 'echo x > .git/hooks/a'", "refused rules protected:.git"},
		{Default, []string{"allow Bash"}, "env -C . bash -c 'echo x > .git/hooks/a'", "refused rules protected:.git"},
		{Default, []string{"allow Bash"}, "env -C src bash -c 'echo x > f'", "allowed rules Bash"},
		{Default, []string{"allow Bash(/bin/bash -c 'echo x > f')"}, "/bin/bash -c 'echo x > f'", "allowed rules Bash(/bin/bash -c 'echo x > f')"},
		{Default, []string{"allow Edit(f)"}, "/bin/bash -c 'echo x > f'", "asked ask"},
		{Default, []string{"allow Bash", "deny Bash(rm *)"}, "/bin/bash -c '{rm,x}'", "refused rules Bash(rm *)"},
		{Default, []string{"allow Bash", "deny Bash(rm *)"}, "bash -ic 'ls'", "refused rules Bash(rm *)"},
		{Default, []string{"allow Bash", "deny Bash(rm *)"}, "bash -s -c 'rm x' <<'E'\ntrue\nE", "refused rules Bash(rm *)"},
		{Default, []string{"allow Bash", "deny Bash(rm *)"}, "bash <<'E'\nexec <<'F'\nrm x\nF\nE", "refused rules Bash(rm *)"},
		{Default, []string{"allow Bash", "deny Bash(rm *)"}, "/bin/bash -lc 'npm ci && npm test'", "allowed rules Bash"},
		{Default, []string{"allow Bash(find *)"}, "find . ! -name -exec -exec rm {} \\;", "asked ask"},
		{Default, []string{"allow Bash(git stash)"}, "ls <<< x; echo x | xargs -I{} -n9 git stash", "asked ask"},
		{Default, nil, "src/eval true", "asked ask"},
		{Default, nil, "/bin/bash", "asked ask"},
		{AcceptEdits, []string{"allow Bash(nice true)"}, "nice() { cd .git; }; nice true; echo x > config", "asked ask"},
	} {
		newWorld(c.mode).user(c.rules...).expect(t, "Bash "+c.command, c.want)
	}
}

// TestVariables: what a builtin sets needs a rule where its name is not a script's own, and
// what changes the meaning of cd and ~ is seen however it is written.
func TestVariables(t *testing.T) {
	allow := []string{
		"allow Bash(read *)", "allow Bash(printf *)", "allow Bash(mapfile *)", "allow Bash(getopts *)", "allow Bash(wait *)", "allow Bash(unset *)", "allow Bash(git status)",
		"allow Bash(CDPATH=*)", "allow Bash(export CDPATH=*)", "allow Bash(HOME=*)", "allow Bash(IFS=* read *)", "allow Bash(cd *)", "allow Edit(b/**)", "allow Edit(./f)", "allow Edit(~/ws/**)",
	}
	for _, c := range []struct{ command, want string }{
		{`read PATH <<<"$PWD/src"; git status`, "asked ask"},
		{`printf -v PATH %s "$PWD/src"; git status`, "asked ask"},
		{`printf -v x -vPATH %s "$PWD/src"; git status`, "asked ask"},
		{`mapfile -t PATH < f; git status`, "asked ask"},
		{`getopts a PATH; git status`, "asked ask"},
		{`true & wait -n -p PATH; git status`, "asked ask"},
		{`unset PATH; git status`, "asked ask"},
		{`unset FOO bar; git status`, "allowed rules Bash(unset *)"},
		{`while IFS= read -r line; do git status; done < f`, "allowed rules Bash(IFS=* read *)"},
		{`read -r x y < f; printf -v z %s 1; git status`, "allowed rules Bash(read *)"},
		{"CD\\\nPATH=secret; cd b; echo x > f", "asked ask"},
		{`export $'\x43DPATH=secret'; cd b; echo x > f`, "asked ask"},
		{`eval $'\x43DPATH=secret'; cd b; echo x > f`, "asked ask"},
		{`for i in 1 2; do echo > ~/ws/g; HOME=/ws/b; done`, "asked ask"},
		{`for i in 1 2; do echo > ~/ws/g; echo HOME; done`, "allowed rules Edit(~/ws/**)"},
		{`echo "CDPATH is $CDPATH"; cd b; echo x > f`, "allowed rules Edit(b/**)"},
	} {
		w := newWorld(Default).user(allow...)
		w.config.Roots = []string{"/ws", "/people/owner/ws"}
		w.expect(t, "Bash "+c.command, c.want)
	}
	newWorld(Default).user("allow Bash", "deny Bash(dd of=/people/*)").expect(t, "Bash dd of=~/x", "refused rules Bash(dd of=/people/*)")
	newWorld(Default).user("allow Bash(dd of=~/x)").expect(t, "Bash dd of=~/x", "asked ask")
	newWorld(Default).user("allow Bash(dd of=*)").expect(t, "Bash dd of=~/x", "allowed rules Bash(dd of=*)")
}

func TestCommandsUnderContract(t *testing.T) {
	lines := []string{"deny write .env", "deny execute bin/deploy.sh", "ask execute tools/**", "ask write drafts"}
	for _, c := range []struct{ command, want string }{
		{"echo x > .env", "refused contract .env"},
		{"x > $F", "refused contract .env"},
		{"bash bin/deploy.sh", "refused contract bin/deploy.sh"},
		{"/ws/bin/deploy.sh", "refused contract bin/deploy.sh"},
		{"cd bin && ./deploy.sh", "refused contract bin/deploy.sh"},
		{"d/deploy.sh", "refused contract bin/deploy.sh"},
		{"d/../bin/deploy.sh", "refused contract bin/deploy.sh"},
		{"x/../deploy.sh", "refused contract bin/deploy.sh"}, // the parent of bin/sub
		{"/out/deploy", "refused contract bin/deploy.sh"},    // outside, but it leads inside
		{"tools/x", "asked ask tools/**"},
		{"cd bin && /bin/bash deploy.sh", "refused contract bin/deploy.sh"},
		{"cd bin && bash -O extglob deploy.sh", "refused contract bin/deploy.sh"},
		{"bash -hc bin/deploy.sh", "refused contract bin/deploy.sh"},
		{"env -C bin bash deploy.sh", "refused contract bin/deploy.sh"}, // it may be any folder
		{"cd \"$X\" && ./x", "refused contract bin/deploy.sh"},
		{"env -C bin ./deploy.sh", "refused contract bin/deploy.sh"},
		{"/bin/bash x.sh", "allowed mode"},
		{"/usr/bin/ls", "allowed mode"},
		{"loop/../x", "allowed mode"},
		{"$X/deploy.sh", "allowed mode"},
		{"echo deploy.sh", "allowed mode"},
		{"~/x", "allowed mode"},
	} {
		w := newWorld(Bypass).contract(Project, lines...).link("d", "bin").link("x", "bin/sub").link("loop", "loop")
		w.files["/out/deploy"] = "/ws/bin/deploy.sh"
		w.expect(t, "Bash "+c.command, c.want)
	}
	newWorld(Bypass).contract(Project, "deny write").expect(t, "Bash x > $F", "refused contract defaults.write")
	newWorld(Bypass).contract(Project, "deny write").expect(t, "Bash x < $F", "allowed mode")
}

// TestUnconfined: without a sandbox there is no /tmp of its own.
func TestUnconfined(t *testing.T) {
	w := newWorld(Bypass)
	w.config.Confined = false
	w.expect(t, "Bash x > /tmp/y", "refused sandbox")
	w.expect(t, "Bash x > /dev/null", "allowed mode")
	w.config.Confined = true
	w.config.Roots = []string{"/tmp/ws"}
	w.expect(t, "Bash x > /tmp/ws/.git/config", "refused rules protected:.git")
	w.expect(t, "Bash x > /tmp/y", "allowed mode")
}

func TestHome(t *testing.T) {
	w := newWorld(Default).user("allow Edit(src/**)")
	w.config.Roots = []string{"/people/owner/ws"}
	w.expect(t, "Bash echo x > ~/ws/src/a", "allowed rules Edit(src/**)")
	w.expect(t, "Bash cd ~ && pwd", "asked ask")
	w.expect(t, "Bash echo x > ~/.profile", "refused sandbox")
}

// TestNeutralPartsStayInside: a part is not neutral where its folder can't be told.
func TestNeutralPartsStayInside(t *testing.T) {
	s := script{Policy: newWorld(Default).policy(), files: links{}}
	part := &shell.Part{Neutral: true, Inside: []shell.Path{{Text: "$X"}}}
	if s.needless(part) {
		t.Error("anywhere is not inside")
	}
	part.Inside[0].Literal = true
	if !s.needless(part) {
		t.Error("a literal folder is inside")
	}
	part.Opaque = "it may be anything"
	if s.needless(part) {
		t.Error("an opaque part is not neutral")
	}
}

func TestParts(t *testing.T) {
	w := newWorld(Default).user("allow Bash(npm test *)", "deny Bash(rm *)")
	d := w.judge("Bash cd src && npm test > logs/x && rm -rf x && ls")
	want := []PartDecision{
		{"cd src", Allowed, ""}, {"npm test", Asked, ""}, {"rm -rf x", Refused, "Bash(rm *)"}, {"ls", Asked, ""},
	}
	if fmt.Sprint(d.Parts) != fmt.Sprint(want) {
		t.Error(d.Parts)
	}
	if len(d.Paths) != 1 || d.Paths[0].Real != "/ws/src/logs/x" {
		t.Error(d.Paths)
	}
	if verdict(d) != "refused rules Bash(rm *)" {
		t.Error(verdict(d))
	}
}

// TestSuggestions: the rules that a refusal names are of use, and no wider than that.
func TestSuggestions(t *testing.T) {
	long := strings.Repeat("a", 300)
	for command, want := range map[string]string{
		"npm test -- --run":                 `"Bash(npm test *)"`,
		"npm run build":                     `"Bash(npm run build *)"`,
		"npm run":                           `"Bash(npm run)"`,
		"git status -s":                     `"Bash(git status *)"`,
		"docker compose up -d":              `"Bash(docker compose up *)"`,
		"make":                              `"Bash(make)"`,
		"ls -la src/":                       `"Bash(ls -la src/)"`,
		"rm -rf x":                          `"Bash(rm -rf x)"`,
		"python scripts/x.py":               `"Bash(python scripts/x.py)"`,
		"expr 2 '*' 3":                      `"Bash(expr 2 '*' 3)"`,
		"$X":                                `"Bash"`,
		"ls " + long:                        `"Bash(ls *)"`,
		"python " + long:                    `"Bash"`,
		"x; y; x":                           `"Bash(x)" and "Bash(y)"`,
		"npm test > src/n.ts":               `"Bash(npm test *)" and "Edit(src/n.ts)"`,
		"echo > n.ts":                       `"Edit(./n.ts)"`,
		"echo > 'a*[b]{c}?'":                `"Edit(./a\*\[b]\{c}\?)"`,
		"echo > /extra/x/y":                 `"Edit(x/y)"`,
		"git commit -m 'it is'":             `"Bash(git commit *)"`,
		"FOO=bar pytest -q":                 `"Bash(FOO=bar pytest -q)"`,
		"tool 'one word'":                   `"Bash(tool 'one word')"`,
		`tool \' b\\c 'x*y z' 'a;b'`:        `"Bash(tool ''\''' 'b\c' 'x*y z' 'a;b')"`,
		"grep -c 'a*' *.go":                 `"Bash(grep *)"`,
		"touch ''":                          `"Bash(touch '')"`,
		"A='x y' B= tool":                   `"Bash(A='x y' B= tool)"`,
		"read LINE":                         `"Bash(read LINE)" and "Bash(LINE=*)"`,
		"for f in *.go; do wc -l $f; done":  `"Bash(wc *)"`,
		"timeout 5 npm test":                `"Bash(npm test *)"`,
		"echo hi > a/b && npm test >> ab/c": `"Edit(a/b)", "Bash(npm test *)" and "Edit(ab/c)"`,
	} {
		w := newWorld(Default)
		d := w.judge("Bash " + command)
		if !strings.Contains(d.Remedy, want) || !strings.Contains(d.Reason, want) || !strings.Contains(d.Remedy, "--mode") {
			t.Errorf("%s: %s; want %s", command, d.Remedy, want)
		}
	}
	// Edits alone need no more than acceptEdits.
	if d := newWorld(Default).judge("Bash echo > a"); !strings.Contains(d.Remedy, "--mode acceptEdits") {
		t.Error(d.Remedy)
	}
	if d := newWorld(Default).judge("Bash echo > a; ls"); !strings.Contains(d.Remedy, "--mode bypassPermissions") {
		t.Error(d.Remedy)
	}
}

// TestUncounted: rules of a project that is not trusted are told of where one is missed.
func TestUncounted(t *testing.T) {
	w := newWorld(Default)
	if d := w.judge("Bash make"); strings.Contains(d.Reason, "holdfast trust") {
		t.Error(d.Reason)
	}
	w.config.Uncounted = 1
	if d := w.judge("Bash make"); !strings.Contains(d.Reason, "holdfast trust") || !strings.HasSuffix(d.Reason, d.Remedy) {
		t.Errorf("%s / %s", d.Reason, d.Remedy)
	}
}

// TestReasonsShowNoArguments of commands: there may be secrets in them.
func TestReasonsShowNoArguments(t *testing.T) {
	for _, mode := range modes {
		for _, rules := range [][]string{{"deny Bash(curl *)"}, {"ask Bash"}, {"allow Bash"}, nil} {
			for _, command := range []string{"Bash curl -H hunter2 https://x", "Bash TOKEN=hunter2 git push hunter2", "Bash 'a hunter2' b", "Bash $X hunter2"} {
				d := newWorld(mode).user(rules...).judge(command)
				head, _, _ := strings.Cut(d.Reason, " The owner can add ")
				if strings.Contains(head, "hunter2") {
					t.Errorf("%s in %s: %s", command, mode, d.Reason)
				}
			}
		}
	}
}

func drawCommand(t *rapid.T) string {
	part := rapid.Custom(func(t *rapid.T) string {
		s := rapid.SampledFrom([]string{
			"ls", "ls a", "git status", "git push", "echo x", "cd a", "cd ..", "rm x", "$X", "npm test", "timeout 5 rm x", "cat", "eval x", "FOO=1 ls", "pwd",
			"bash -c 'rm x'", "./a", "sh b/s",
		}).Draw(t, "words")
		return s + rapid.SampledFrom([]string{"", "", " > a", " > b/x", " < .env", " > $F", " > .git/x", " > out", " > /tmp/x", " > l/../a", " 2>&1"}).Draw(t, "to")
	})
	join := rapid.SampledFrom([]string{" && ", "; ", " | ", " & ", "\n"}).Draw(t, "join")
	return strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "parts"), join)
}

func drawBashRules(t *rapid.T, most int, effects ...string) []string {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom(effects).Draw(t, "effect") + " " + rapid.SampledFrom([]string{
			"Bash", "Bash(ls *)", "Bash(git *)", "Bash(git push)", "Bash(rm *)", "Bash(echo *)", "Bash(npm test)", "Bash(timeout 5 rm x)", "Bash(cat)", "Bash(* x)",
		}).Draw(t, "rule")
	}), 0, most).Draw(t, "bash")
}

func drawBashWorld(t *rapid.T) *world {
	return drawWorld(t).user(drawBashRules(t, 4, "allow", "allow", "ask", "deny")...)
}

func TestPropertyCommandsTighten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := drawBashWorld(t), "Bash "+drawCommand(t)
		before := w.judge(c)
		sound(t, c, before)
		switch rapid.IntRange(0, 2).Draw(t, "what") {
		case 0:
			w.user(drawBashRules(t, 2, "deny", "ask")...)
		case 1:
			w.user(drawRules(t, 2, "deny", "ask")...)
		case 2:
			w.contract(User, drawContract(t)...)
		}
		after := w.judge(c)
		if after.Outcome > before.Outcome && (after.Outcome == Allowed || w.config.Mode != Plan) {
			t.Fatalf("%s: %s became %s", c, verdict(before), verdict(after))
		}
	})
}

// TestPropertyWholeIsItsParts: a command is no better than its worst part, and allowed
// when every part is.
func TestPropertyWholeIsItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := drawBashWorld(t), "Bash "+drawCommand(t)
		d := w.judge(c)
		worst := Allowed
		for _, p := range d.Parts {
			worst = min(worst, p.Outcome)
		}
		if len(d.Parts) == 0 || d.Outcome != worst && w.config.Mode != Plan {
			t.Fatalf("%s: %s of %v", c, verdict(d), d.Parts)
		}
	})
}

// TestPropertyCommandRemedy: who adds the rules that a remedy names, is allowed.
func TestPropertyCommandRemedy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := drawBashWorld(t), "Bash "+drawCommand(t)
		d := w.judge(c)
		if d.Stage != StageAsk || d.Rule != "" {
			t.Skip("no rule is named")
		}
		list := strings.TrimPrefix(strings.Split(d.Remedy, " to permissions")[0], "The owner can add ")
		for _, r := range strings.Split(strings.ReplaceAll(list, ", ", " and "), " and ") {
			w.user("allow " + strings.Trim(r, `"`))
		}
		if after := w.judge(c); after.Outcome != Allowed {
			t.Fatalf("%s: %s, and after %s %s", c, d.Reason, list, verdict(after))
		}
	})
}

func FuzzJudgeCommand(f *testing.F) {
	for _, seed := range []string{"ls; rm x", "echo $(cat <a) >b/../c", "cd ~ && x >~/y", "f(){ x; }>$a", "x <<E\n$(y)\nE", ">&3 /dev/fd/3"} {
		f.Add(seed)
	}
	p := newWorld(Default).user("allow Bash(x *)", "allow Edit(b/**)", "deny Bash(rm *)").contract(Project, "deny write c").policy()
	bare := newWorld(Default).user("deny Bash").policy()
	f.Fuzz(func(t *testing.T, command string) {
		c := Call{Tool: Bash, Command: command}
		sound(t, command, p.Judge(c, links{}))
		if d := bare.Judge(c, links{}); d.Outcome != Refused {
			t.Fatalf("%q: a deny of every command lets it through: %s", command, verdict(d))
		}
	})
}
