//go:build unix

package shell

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// soup throws tokens together.
func soup(r *rand.Rand, tokens []string) string {
	var b strings.Builder
	for range 3 + r.IntN(13) {
		b.WriteString(tokens[r.IntN(len(tokens))])
	}
	return b.String()
}

// grown makes a script by a grammar.
type grown struct {
	*rand.Rand
	left int
}

func (g *grown) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *grown) list() string {
	n := 1 + g.IntN(2)
	parts := make([]string, n)
	for i := range parts {
		parts[i] = g.statement()
	}
	return strings.Join(parts, g.pick("; ", "\n", " && ", " || ", " | ", " |& ", "; ! "))
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func (g *grown) statement() string {
	if g.left--; g.left < 0 {
		return g.simple()
	}
	switch g.IntN(25) {
	case 0:
		return "{ " + g.list() + "; }" + g.redirect()
	case 1:
		return "(" + g.list() + ")" + g.redirect()
	case 2:
		return "if " + g.list() + "; then " + g.list() + g.pick("", "; elif "+g.simple()+"; then "+g.list(), "; else "+g.list()) + "; fi"
	case 3:
		return "for x in " + g.word() + " " + g.word() + "; do " + g.list() + "; done" + g.redirect()
	case 4:
		return "for x in 1 2; do " + g.list() + g.pick("", "; break", "; continue") + "; done"
	case 5:
		return "case " + g.word() + " in a) " + g.list() + g.pick(";;", ";&", ";;&") + " *) " + g.list() + ";; esac"
	case 6:
		return g.pick("f() ", "function f ", "g() ", "nice() ", "bash() ", "find() ", "99() ") + "{ " + g.list() + "; }; " + g.pick("f", "g", "f x", "nice m1", "bash -c m1", "find .", "trap 99 EXIT")
	case 7:
		return g.simple() + " & wait"
	case 8:
		return "eval " + quoted(g.list())
	case 9:
		return g.shell() + " -c " + quoted(g.list()) + g.pick("", "", " _ m4", " m1 a", " <<< 'm5 b'")
	case 10:
		return g.pick("", "", "echo m2 | ") + g.shell() + g.pick("", "", " -s", " -", " a", " /dev/stdin") + " <<'X'\n" + g.list() + "\n" + g.eater() + g.simple() + "\nX\n" + g.simple()
	case 11:
		return "cat <<X\n" + g.word() + " $(" + g.list() + ")\nX\n"
	case 12:
		return "[[ " + g.word() + g.pick(" == ", " != ", " =~ ") + g.word() + " ]]"
	case 13:
		return "trap " + g.pick(quoted(g.list()), "-- "+quoted("-x; "+g.simple()), "99", "-", "eval") + " " + g.pick("EXIT", "0", "DEBUG", "ERR")
	case 14:
		return "echo m3 | " + g.pick("xargs ", "xargs -n1 ", "xargs -I{} ", "xargs sh -c ", "xargs env ", "xargs nice -n 5 ",
			"xargs -I{} -n2 ", "xargs -L2 -I% ", "xargs -I ~ ", "xargs -I/ ", "p/xargs -I{} ") + g.pick("", "env ", "{} ", "% ", "sh -c '{}' ") + g.simple()
	case 15:
		return "time " + g.simple()
	case 16:
		return g.pick("set -- m1 a", "x=m2", "x='m1 b'", "y=(m1 m2)", "export x=a") + "; " + g.statement()
	case 17:
		return "cd " + g.pick("a", "b", "..", "a/..", "./a", "nope", ".", "\"$PWD\"") + g.pick(" && ", "; ", " || ", " | ", " & ") + g.statement()
	case 18:
		return "cd " + g.pick("a", "b", "nope") + " || " + g.pick("exit", "cd a", "return", "true") + "; " + g.statement()
	case 19:
		return "find . -maxdepth 1 " + g.pick("-name a ", "! -name -exec ", "-printf -exec ", "") + g.pick("-exec ", "-execdir ", "-ok ") + g.simple() + g.pick(` \;`, " {} +", ` {} \;`)
	case 20:
		return g.pick("coproc "+g.simple(), "coproc z { "+g.simple()+"; }") + "; wait"
	case 21:
		return g.pick(namings...) + g.pick("; ", "\n", " && ") + g.pick("cd b; echo > f", "cd b && echo >> f", "echo > ~/f", "cd; echo > f", g.statement())
	case 22:
		return g.pick(arrays...) + "; x='($(m1))'; " + g.pick("declare ", "typeset ", "declare --  ", "export ") + g.pick(`y="$x"`, `"y=$x"`, `y=$'\x28$(m1))'`, `'y=($(m1))'`)
	case 23:
		return g.pick("printf", "printf -v x", "printf -vx", "read -r x", "read", "mapfile -t", "true & wait -n -p x", "true & wait", "getopts", "getopts --", "unset -v") + " " +
			g.pick("", "", "x ", "-- ", "%s ", "-n ") + g.pick("", "-v", "-v ", "-p ", "-a ", "-a") + g.pick("'a[$(m1)]'", `"$x"`, "$x", "x", "a") + g.pick("", " a", " <<<1")
	}
	return g.simple()
}

func (g *grown) shell() string {
	return g.pick("bash", "sh", "bash", "sh", "p/bash", "p/sh") + g.pick("", "", "", " -e", " -s", " -x -s", " -es", " -O extglob", " +e", " -o posix", " -so pipefail", " --norc", " -h")
}

// eater gives a line that may read the next one, or give the shell another script.
func (g *grown) eater() string {
	return g.pick("", "", "read x\n", "read -rN 3 x\n", "exec <<< 'm4 a'\n", "read x </dev/null\n", ": '\n", "echo $(read x)\n", "eval 'read x'\n", "{ read -u3 x; } 3<&0\n")
}

// namings set what cd, ~ and words mean, or a variable beside.
var namings = []string{
	"CD\\\nPATH=a", `export $'\x43DPATH=a'`, `export CD"PA"TH=a`, `eval $'\x43DPATH=a'`, "read CDPATH <<<a", `read -r $'\103DPATH' <<<a`, "printf -v CDPATH a", "for CDPATH in a; do :; done",
	": ${CDPATH:=a}", "mapfile -t CDPATH <<<a", "f() { CDPATH=a; }; f", "IFS=1", "IFS=x1", `export $'I\x46S=5'`, "read IFS <<<1", "IFS=-", "IFS=,", "unset IFS", `export $'\x48OME=a'`, "HO\\\nME=b", "printf -v HOME b",
}

// arrays may make an array of y.
var arrays = []string{
	"declare  -a y", "declare $'-a' y", `declare "-A" y`, "read  -a y <<<1", "read -ra y <<<1", "mapfile -t y <<<1", "readarray   y <<<1", "y=()", "y[0]=1", "y+=(a)", ": ${y[0]:=a}", "export -a y", "y=1", "eval $'\x79=()'",
}

func (g *grown) simple() string {
	prefix := g.pick("", "", "", "", "A=1 ", "x=$(m5) ", "env ", "env B=2 ", "timeout 5 ", "nice ", "command ", "exec ",
		"env -u A nice -n 3 ", "time -p ", "env -C a ", "env - PATH=$PATH HOLDFAST_LOG=$HOLDFAST_LOG ", "p/env ", "env A=$((51))", "nice -n $((51))", "env A=$#", "p/bash -c ", "eval ", "! ", "timeout -s KILL 5 ")
	words := []string{g.pick("m1", "m2", "m3", "m4", "'m1'", `m\2`, `"m"3`, "$x", `$'m\x31'`, "{m1,m2}", `"$1"`, "./m1", "echo", "true", "m[1]", "$@", `"${y[@]}"`)}
	for range g.IntN(3) {
		words = append(words, g.word())
	}
	return prefix + strings.Join(words, " ") + g.redirect()
}

func (g *grown) word() string {
	if g.left--; g.left < 0 {
		return g.pick("a", "b")
	}
	return g.pick("a", "a b", `"a b"`, "'$(m1)'", `\$(m1)`, "$x", `"$x"`, "$@", `"$@"`, "{a,b}", "*", "a?", "~", `$'a\nb'`, `$"a"`,
		"#c", "a#b", "''", "${x:-a}", `"${x:-m1}"`, "${x/m/n}", "${#x}", "$((1+2))", "$?",
		"$("+g.list()+")", `"$(`+g.list()+`)"`, "`m1 a`", "<("+g.simple()+")", "${x:-$("+g.simple()+")}", `"${x:-"$(m2)"}"`,
		"a=~", "a=b:~", "a=~/x:~root", "$((51))m1", "$#m1", "$?m1", "${x:=a}", "${!x}", "-v", "-c", "a=b", "~/x", "[a]", "m1", "m2", "+", "a\\\nb")
}

func (g *grown) redirect() string {
	if g.IntN(5) > 0 {
		return ""
	}
	return g.pick(" >f1", " > a/f2", " 2>f3", " &>f4", " >>f5", " 2>&1", " >&f6", " <<<m1", ` >"$x"f`, " >f{7,8}", " > '~'", " <>f9", " >|f8", " 2> ../f0", " {fd}>f7")
}

// exactly is the pattern of one call.
func exactly(t testing.TB, call []string) Pattern {
	t.Helper()
	p, err := ParsePattern(quotedCall(call))
	if err != nil {
		t.Fatalf("%q: %v", call, err)
	}
	return p
}

func quotedCall(call []string) string {
	out := make([]string, len(call))
	for i, w := range call {
		out[i] = quoted(w)
		if rest, ok := strings.CutPrefix(w, homeDir); ok && (rest == "" || rest[0] == '/') {
			out[i] = "~/" + quoted(strings.TrimPrefix(rest, "/")) // a ~ is known as that
			if rest == "" {
				out[i] = "~"
			}
		}
	}
	return strings.Join(out, " ")
}

// grantedSets are allow rules: where they cover a script, all that it calls must be what
// they mean.
func grantedSets(t testing.TB) [][]Pattern {
	var out [][]Pattern
	for _, set := range [][]string{
		{"m1 *"},
		{"m1 *", "m2 *", "m3 *", "m4 *", "m5 *"},
		{"m1", "m2", "m3", "m4 a", "m5 *"},
		{"* a", "m1 * b"},
		{"A=* m1 *", "m2 *", "timeout 5 m3 *", "env *", "find *"},
	} {
		var list []Pattern
		for _, text := range set {
			p, err := ParsePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, p)
		}
		out = append(out, list)
	}
	return out
}

// checkSound compares what a script does with what was read of it.
func checkSound(t testing.TB, l lab, n int, text string, sets [][]Pattern) (accepted bool) {
	t.Helper()
	s, err := Read(text)
	if err != nil {
		return false
	}
	calls, made := l.run(t, n, text)
	for _, call := range calls {
		if p := exactly(t, call); !slices.ContainsFunc(s.Parts, func(part Part) bool { return p.May(&part) }) {
			t.Errorf("%q ran %q, which no part shows\n%s", text, call, show(text))
			return true
		}
		literal, err := Read(quotedCall(call))
		if err != nil {
			continue
		}
		for _, set := range sets {
			if covered(s, set) && !covered(literal, set) {
				t.Errorf("%q ran %q, and was covered by rules that do not mean that\n%s", text, call, show(text))
				return true
			}
		}
	}
	for _, file := range made {
		if !foreseen(s, file) {
			t.Errorf("%q made %s, which no part shows\n%s", text, file, show(text))
			return true
		}
	}
	return true
}

func covered(s Script, set []Pattern) bool {
	for _, part := range s.Parts {
		if part.Neutral && part.Opaque == "" {
			continue
		}
		if !slices.ContainsFunc(set, func(p Pattern) bool { return p.Covers(&part) }) {
			return false
		}
	}
	return true
}

// foreseen reports whether some part says that a file may be written.
func foreseen(s Script, file string) bool {
	for _, part := range s.Parts {
		if part.Opaque != "" {
			return true
		}
		for _, a := range part.Accesses {
			if a.Write && (!a.Path.Literal || filepath.Clean(a.Path.Text) == file) {
				return true
			}
		}
	}
	return false
}

// script gives the script of a seed: tokens, or by the grammar.
func script(seed uint64) string {
	text := ""
	for n := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, n)) //nolint:gosec // no secret
		switch seed % 3 {
		case 0:
			text = soup(r, tokens)
		case 1:
			text = soup(r, quoting)
		default:
			text = (&grown{Rand: r, left: 6}).list()
		}
		if _, err := Read(text); err == nil && strings.Contains(text, "m") {
			break
		}
	}
	return text
}

// rounds are how many scripts a test makes; FuzzWhatRuns makes others.
func rounds(most uint64) uint64 {
	if testing.Short() {
		return most / 5
	}
	return most
}

// TestWhatRunsIsShown runs scripts for real: whatever program bash calls, and whatever
// file it makes, must be in a part.
func TestWhatRunsIsShown(t *testing.T) {
	l, sets := newLab(t), grantedSets(t)
	accepted := uint64(0)
	for seed := range rounds(120) {
		if checkSound(t, l, int(seed), script(seed), sets) { //nolint:gosec // a small number
			accepted++
		}
	}
	if accepted < rounds(120)/2 {
		t.Errorf("only %d scripts were read", accepted)
	}
}

// TestBashAgrees: what is read here also parses for bash.
func TestBashAgrees(t *testing.T) {
	l := newLab(t)
	for seed := range rounds(90) {
		text := script(seed)
		if _, err := Read(text); err == nil && !l.parses(t, text) {
			t.Errorf("bash does not parse %q, which was read\n%s", text, show(text))
		}
	}
}

// FuzzWhatRuns runs scripts of any seed.
func FuzzWhatRuns(f *testing.F) {
	l, sets := newLab(f), grantedSets(f)
	for seed := range uint64(10) {
		f.Add(1000 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		checkSound(t, l, os.Getpid()*1000+int(seed%1000), script(seed), sets) //nolint:gosec // only a name
	})
}
