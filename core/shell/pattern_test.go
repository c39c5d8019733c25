package shell

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"
)

func pattern(t testing.TB, text string) Pattern {
	t.Helper()
	p, err := ParsePattern(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// long makes a pattern that is too long for one number of states.
const long = "a-very-long-program-name-that-nobody-would-ever-want-to-write-down-twice"

// TestPatterns: what a pattern surely means, and what it could mean. Covering
// is of the first part.
func TestPatterns(t *testing.T) {
	const (
		no    = ""
		could = "may"
		both  = "may covers"
	)
	for _, c := range []struct{ pattern, command, want string }{
		{"ls", "ls", both},
		{"ls", "ls -l", no},
		{"ls *", "ls", both},
		{"ls *", "ls -l", both},
		{"ls *", "lsof", no},
		{"ls*", "lsof", both},
		{"npm run test:*", "npm run test", both},
		{"npm run test:*", "npm run test x", both},
		{"npm run test:*", "npm run test:unit", no},
		{"ls:*", "ls", both},
		{"ls:*", "ls a", both},
		{"ls:*", "lsof", no},
		{":*", ": x", both},
		{"a:b", "a:b", both},
		{"a :*", "a :x", both},
		{"git * main", "git push main", both},
		{"git * main", "git main", no},
		{"git * main", "git push a b main", both},
		{"git *main", "git x main", both},
		{"*", "ls -l", both},
		{"**", "ls", both},
		{"* x", "a x", both},
		{"* x", "$a x", could},
		{`expr 2 \* 3`, "expr 2 '*' 3", both},
		{`expr 2 '*' 3`, `expr 2 \* 3`, both},
		{`expr 2 \* 3`, "expr 2 a 3", no},
		{`expr 2 \* 3`, "expr 2 * 3", could},
		{`grep "a b" *`, "grep 'a b' c", both},
		{`grep "a b" *`, "grep a b c", no},
		{"echo a*", "echo 'a b'", both},
		{"touch ''", "touch ''", both},
		{"touch ''", "touch", no},
		{"git push *", `git "$x"`, could},
		{"git push *", `git $x`, could},
		{"git push", `git push $x`, could},
		{"git push", `git push "$x"`, no},
		{"git push", `git "$@" push`, could},
		{"git push", "git pus?", could},
		{"git push", "git *h", could},
		{"git push", "git a*", no},
		{"git push", "git {push,x}", could},
		{"git push", "git push *", could},
		{"git push *", "git $x main", could},
		{"cp * out", "cp *.ts out", both},
		{"cp * out", "cp * out", both},
		{"cp * out", "cp $x out", could},
		{"cp * out", `cp "$x" out`, both},
		{"ls *", "ls $x", both},
		{"ls *", "ls a$x *", both},
		{"ls *", "ls *", both},
		{"ls a*", `ls "$x"`, could},
		{"ls *b", `ls a"$x"b`, both},
		{"ls *b", `ls a"$x"`, could},
		{"ls x", `ls a"$x"`, no},
		{"ls ~", "ls ~", both},
		{"ls '~'", "ls ~", no},
		{"ls ~", "ls '~'", no},
		{"ls ~/*", "ls ~/x", both},
		{"ls ~", `ls "$x"`, could},
		{"rm *", "./rm x", could},
		{"rm *", "../bin/rm", could},
		{"./rm *", "./rm x", both},
		{"rm *", "rm/x y", no},
		{"rm *", "A=1 ./rm x", could},
		{"FOO=* pytest *", "FOO=1 pytest -q", both},
		{"FOO=* pytest *", "FOO='a b' pytest", both},
		{"FOO=* pytest *", "FOO=1 BAR=2 pytest", could},
		{"FOO=* pytest *", "FOO=1 rm pytest x", could},
		{"FOO=* pytest *", "pytest", no},
		{"FOO=* pytest *", `FOO="$x" pytest`, both},
		{"FOO=1 pytest", "FOO=1 pytest", both},
		{"FOO=1 pytest", "FOO=2 pytest", no},
		{"FOO=1 pytest", "FOO+=1 pytest", no},
		{"pytest *", "FOO=1 pytest", could},
		{"* pytest", "FOO=1 pytest", could},
		{"FOO=*", "FOO=1 pytest", could},
		{"FOO=*", "FOO=1", both},
		{"FOO=1", "FOO=1 x", no},
		{"FOO=", "FOO= ", both},
		{"FOO+=1", "FOO+=1", both},
		{"env FOO=1 make *", "FOO=1 make all", both},
		{"FOO=1 make *", "env FOO=1 make all", both},
		{"env FOO=1 make", "env FOO=1 make", both},
		{"A=1 env B=* make", "A=1 B=2 make", both},
		{"make *", "env make x", both},
		{"make *", "env A=1 make", could},
		{"export A=*", "export A=1", both},
		{"export A=*", "export A=1 B=2", could},
		{"export *", "export A=1", could},
		{"export *", "export -p", both},
		{"export A B=*", "export A B=1", both},
		{"export -n A", "export -n A", both},
		{"export 'A=1'", "export A=1", both},
		{"declare -a *", "declare -a x", could},
		{"declare -a x", "declare -a x", both},
		{"timeout 60 pytest *", "timeout 60 pytest -q", both},
		{"timeout * pytest *", "timeout -k 5 60 pytest", both},
		{"timeout * pytest *", "timeout 60 rm pytest", could},
		{"timeout *", "timeout 60 ls", could},
		{"pytest *", "timeout 5 pytest", both},
		{"timeout 60 pytest *", "pytest", no},
		{"timeout 60 env A=1 ls", "timeout 60 env A=1 ls", both},
		{"nice -n * ls", "nice -n 5 ls", both},
		{"timeout -k * 5 ls", "timeout -k 1 5 ls", both},
		{"bash -c ls", "bash -c ls", both},
		{"bash -c 'rm x; ls'", "bash -c 'rm x; ls'", both},
		{"bash -c *", "bash -c ls", could},
		{"rm *", "bash -c 'rm x'", both},
		{"bash x.sh *", "bash x.sh a", both},
		{"bash *", "bash x.sh", both},
		{"bash *", "bash", could},
		{"sudo apt update", "sudo apt update", both},
		{"sudo *", "sudo apt update", could},
		{"sudo apt *", "sudo apt update", both},
		{"sudo apt *", "sudo -u x apt update", no},
		{"apt *", "sudo apt update", could},
		{"apt *", "sudo -u x apt update", could},
		{"* update", "sudo apt update", could},
		{"sudo timeout *", "sudo timeout 5 rm", could},
		{"sudo timeout 5 rm *", "sudo timeout 5 rm x", both},
		{"apt *", "sudo a/apt x", could},
		{"apt", "sudo $x", could},
		{"a", "sudo a $x", could},
		{"z", "sudo a $x", no},
		{"rm *", "sudo echo x", no},
		{"sudo -u x rm", "sudo -u x rm", both},
		{"sudo $", "sudo a", no},
		{"busybox *", "busybox ls", could},
		{"sudo A=1 ls *", "sudo A=1 ls x", could},
		{"find *", "find . -exec ls {} +", both},
		{"ls *", "find . -exec ls {} +", could},
		{"rm x", "find . -exec rm x \\;", could},
		{"find . -exec rm x \\;", "find . -exec rm x \\;", both},
		{"grep *", "xargs grep x", both},
		{"xargs grep *", "xargs grep x", both},
		{"xargs *", "xargs grep x", could},
		{"time ls *", "time ls", both},
		{"time -p ls", "time -p ls", both},
		{"time *", "time ls", could},
		{"trap ls EXIT", "trap ls EXIT", both},
		{"ls", "eval $x", could},
		{"*", "${x@P}", could},
		{"", "> f", no},
		{"*", "> f", no},
		{"x", "let 1", no},
		{"l* 1", "let 1", could},
		{"ls", "ls a'\x01'", no},
		{long + " *", long, both},
		{long + " *", long + " x y", both},
		{long + " *", "sudo " + long, could},
		{long + " * x", long + ` "$a" x`, both},
		{long + " * x", long + ` $a x`, could},
		{long + " x", long + ` $a`, could},
		{long + " x", long + ` *`, could},
		{long + " *", long + ` *`, both},
		{long + " x", long + ` "$a"`, could},
		{long + " x", long + ` "$@" x`, could},
		{long + " x", long + " x*", could},
		{long + " * x", long + " a*b x", both},
		{"A=* " + long, "A=1 " + long, both},
		{"A=* " + long, "A=1 B=1 " + long, could},
		{"A=* " + long, `A="$x" ` + long, both},
		{"A=* " + long, long, no},
		{long + " *", "ls", no},
		{long + "*z", long + "y", no},
		{long + "*yz*", "sudo " + long + " $x", could},
		{long + "*zzz*b", long + "xb", no},
		{strings.Repeat(long, 5) + " *", strings.Repeat(long, 5) + " x", both},
		{strings.Repeat(long, 5) + " *", "sudo -x " + strings.Repeat(long, 5), could},
		{"* " + long + "b c", "a$x b c", could},
		{"x*" + long + "c*d", "x c d", no},
	} {
		s, err := Read(c.command)
		if err != nil {
			if c.want != no {
				t.Errorf("%s: %v", c.command, err)
			}
			continue
		}
		if c.pattern == "" {
			if (Pattern{}).May(&s.Parts[0]) || (Pattern{}).Covers(&s.Parts[0]) {
				t.Error("the zero Pattern means something")
			}
			continue
		}
		p := pattern(t, c.pattern)
		var got []string
		if slices.ContainsFunc(s.Parts, func(part Part) bool { return p.May(&part) }) {
			got = append(got, "may")
		}
		if p.Covers(&s.Parts[0]) {
			got = append(got, "covers")
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s on %s: got %q, want %q", c.pattern, c.command, g, c.want)
		}
	}
	if p := pattern(t, "ls"); p.May(&Part{}) || p.Covers(&Part{}) || !p.May(&Part{Opaque: "x"}) {
		t.Error("the zero Part")
	}
}

// TestBadPatterns: what is no pattern.
func TestBadPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"": "empty", " ": "empty", strings.Repeat("a", maxPattern+1): "more than", "a\x01": "control", "\xff": "UTF-8",
		"if": "no command", "ls | wc": "operator", "a; b": "more than one", "a;": "operator", "a &": "operator", "! a": "operator", "a > b": "operator", "{ a; }": "operator",
		"a\nb": "more than one", "echo $(id)": "expansion", "echo `id`": "expansion", "a $x": "expansion", `a "$x"`: "expansion", "a {b,c}": "braces", "a {1..2}": "braces", "f (x) y": "no command",
		"a ~user": "~user", "a=(1)": "array", "a[1]=2": "array", "export a[1]=2": "array", "a $'\\x01'": "control", "a $'\\u1234'": "can't tell", "a # b": "operator", "# b": "more than one", "a 'b": "no command",
		"a <(b)": "expansion", "a !(b)": "expansion", "time a | b": "operator", "$x": "expansion", "let x": "operator", "[[ a ]]": "operator", "(a": "no command", "a ${x@$y}": "no command", "a ${ b; }": "expansion",
	} {
		if _, err := ParsePattern(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"time", "time -p", "export", "export A", "a=", "a {} b", "a HEAD@{1}", "a ?", "a [b]", "readonly \"A=1\"", strings.Repeat("nice ", 17) + "ls", "a 'b c' \"d\"", "a $'b'"} {
		pattern(t, text)
	}
}

func TestAnyProgram(t *testing.T) {
	for text, want := range map[string]bool{
		"python *": true, "python x.py *": false, "python": false, "python -c *": true, "*": true, "* x": true, "git *": true, "git status *": false, "env python *": true,
		"A=1 node *": true, "ls *": false, "/usr/bin/perl *": true, "bash -e x *": true, "python -c x": false, "awk *": true, "A=1": false, "npx *": true, "sed -n *": false,
		"make *": true, "make test *": true, "make test": false, "make *.o": true, "npm test *": false, "go *": true, "tar *": true, "tar xf x": false, "rsync *": true,
	} {
		if got := pattern(t, text).AnyProgram(); (got != "") != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if (Pattern{}).AnyProgram() != "" {
		t.Error("the zero Pattern")
	}
}

// forms draws forms of parts and patterns over few letters and all marks.
func forms(t *rapid.T, label string, pattern bool) string {
	letters := []byte{'a', 'b', '/', sep, sep, anyText, anyWord, name, tilde, gap, globGap}
	if pattern {
		letters = []byte{'a', 'b', '/', sep, sep, star, starIn, name, tilde}
	}
	list := rapid.SliceOfN(rapid.SampledFrom(letters), 0, 12).Draw(t, label)
	var b strings.Builder
	last := byte(sep)
	for _, c := range list {
		stars := (c == star || c == starIn) && (last == star || last == starIn)
		if pattern && (stars || c == name && last != sep) {
			continue // patterns have no two stars in a row, and a name begins a word
		}
		b.WriteByte(c)
		last = c
	}
	text := b.String()
	if pattern && rapid.Bool().Draw(t, "tail") {
		text += string(rune(tail))
	}
	return text
}

// TestNarrowAndWide: both ways of following a pattern agree.
func TestNarrowAndWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMatcher(forms(t, "pattern", true))
		form := forms(t, "part", false)
		if form == "" {
			return // a part has a program
		}
		free := rapid.Bool().Draw(t, "free")
		var s states
		s.begin(m, 0)
		if wide, narrow := s.run(form, free), m.mayNarrow(form, 1, free); wide != narrow {
			t.Fatalf("may: wide %v, narrow %v", wide, narrow)
		}
		if wide, narrow := m.coversWide(form), m.coversNarrow(form, 1); wide != narrow {
			t.Fatalf("covers: wide %v, narrow %v", wide, narrow)
		}
		if m.covers(form) && !m.mayFrom(form, 0) {
			t.Fatal("it covers what it may not be")
		}
	})
}

// FuzzPattern: no pattern panics, and a pattern made of a literal part means it.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"ls *", "FOO=* make *", "git push:*", `a 'b c' "d"`, "env A=1 x", "timeout * x", "export A=*", "~/x *", "time x"} {
		f.Add(s, "ls -l $x; A=1 b")
	}
	f.Fuzz(func(t *testing.T, text, command string) {
		p, err := ParsePattern(text)
		if err != nil {
			return
		}
		s, err := Read(command)
		if err != nil {
			return
		}
		for _, part := range s.Parts {
			if p.Covers(&part) && !p.May(&part) && len(part.outers) == 0 {
				t.Errorf("%q covers %q and may not mean it", text, part.Text)
			}
		}
	})
}

// FuzzRead: nothing panics; what is read is the same each time.
func FuzzRead(f *testing.F) {
	for _, s := range tricksSeed {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		a, err := Read(command)
		b, again := Read(command)
		if (err == nil) != (again == nil) || len(a.Parts) != len(b.Parts) {
			t.Errorf("%q is read in two ways", command)
		}
		for i := range a.Parts {
			if a.Parts[i].form != b.Parts[i].form || a.Parts[i].Opaque != b.Parts[i].Opaque {
				t.Errorf("%q is read in two ways", command)
			}
		}
	})
}

// tricksSeed are starting points of the fuzzers.
var tricksSeed = []string{
	"ls; A=1 b 'c d' > e", "cat <<E\n$(a)\nE", "f() { a; }; f", "bash -c 'a; b'", "sudo -u x bash -c 'a'", "x=(1 2); echo ${x[@]} $((1))",
	"find . -exec a {} +", "for x in a; do cd b && c > d; done", "[[ a =~ b ]] && trap 'c' EXIT", "a `b` $'c' {d,e} *", "sh -c '[[ a || b ]]'",
}

// TestRefused: what is refused, and with what reason.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("a", MaxCommand+1): "bytes", "a\x00b": "control character 0x00 at byte 2", "a\rb": "control", "a\x7f": "control", "\xff": "UTF-8",
		"a (": "does not parse", "a 'b": "does not parse", "a ${ b; }": "another shell", strings.Repeat("(a;", 200) + strings.Repeat(")", 200): "nested too deeply",
		strings.Repeat("a;", maxParts+1): "too many parts", strings.Repeat("eval ", 20) + "a": "too deeply", "a `b \\` c`": "does not parse", "a `b\\\\c`": "backquotes",
		"exec {x[1]}>f": "subscript", "a \\\n# b\\\nc": "comment", "f() a": "function", "find . -exec a" + strings.Repeat(` "$x"`, 20) + " \\;": "after -exec", "echo `cat <<E`\na\nE\n": "may be lost", "echo `cat <<E`\nE\n": "may be lost", "coproc a b > c; coproc d > e": "coprocess", "ls;;": "does not parse",
		"cat <<$'E\\x41'\nEA\nls\nE\\x41": "different ways", "a <<'E F'\nE F\n": "different ways",
	} {
		if _, err := Read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

// TestUnknownSyntax: what the parser never gives for bash is refused all the same, for the
// next version of it may.
func TestUnknownSyntax(t *testing.T) {
	var seen findings
	r := &reader{source: newSource("", &syntax.File{})}
	r.parameter(&syntax.ParamExp{}, &seen)
	if seen.opaque == "" {
		t.Error("an expansion without a name")
	}
	if numeric(nil) || numericTest(nil) {
		t.Error("nothing is a number")
	}
	r.compound(&syntax.TestDecl{}, start(), situation{})
	if r.err == nil {
		t.Error("an unknown command")
	}
	r.err = nil
	r.binary(&syntax.BinaryCmd{}, start(), situation{})
	if r.err == nil {
		t.Error("an unknown operator")
	}
	r.err = nil
	r.redirect([]*syntax.Redirect{{Word: &syntax.Word{}}}, start(), &command{})
	if r.err == nil {
		t.Error("an unknown redirection")
	}
	for _, n := range []syntax.Node{&syntax.Stmt{Coprocess: true}, &syntax.CmdSubst{TempFile: true}} {
		d := differ{}
		if d.node(n, &around{}); d.err == nil {
			t.Errorf("%T of another shell", n)
		}
	}
	var cs cells
	if cs.letters("a\\\nb", true); len(cs.list) != 2 {
		t.Error("a line that goes on")
	}
	if problem(errors.New("x")) == "" {
		t.Error("no problem")
	}
	if !described([]word{plainWord("command"), plainWord("-v")}) || described([]word{plainWord("command"), plainWord("-p")}) {
		t.Error("command -v")
	}
}
