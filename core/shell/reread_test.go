//go:build unix

package shell

import (
	"strings"
	"testing"
	"time"
)

// reread are scripts that bash reads otherwise than they are written, or not to their end.
var reread = []string{
	// Keys of an array, and what they name.
	`x='a[$(m1)]'; echo "${!x[@]#z}"`, `x='a[$(m1)]'; echo "${!x[*]:-z}"`, `x='a[$(m1)]'; echo "${!x[@]%z}"`, `x='a[$(m1)]'; echo "${!x[@]/a/b}"`,
	`x='a[$(m1)]'; echo "${!x[@]:0}"`, `x='a[$(m1)]'; echo "${!x[@]@Q}"`, `x='a[$(m1)]'; echo "${!x[@]^^}"`, `x='a[$(m1)]'; for y in "${!x[@]+b}"; do :; done`,
	"x='a[$(m1)]'; cat <<E\n${!x[@]#z}\nE", `x=(a b); echo "${!x[@]}"; m1`,
	// Numbers that are no descriptors.
	"timeout 99999999999</dev/null m1 echo a", "timeout 2147483648<a m1 echo a", "nice -n 4294967296</dev/null m1 echo a", "echo a | xargs -n 99999999999</dev/null m1 echo",
	"bash <<'E' 00<<'F'\ntrue\nE\nm1 x\nF\n", "sh <<'E' 000<<'F'\ntrue\nE\nm1 x\nF\n", "bash -s <<'E' 00<<<'m1 y'\ntrue\nE\n", "bash <<'E' 3<<<m1 00<&3\ntrue\nE\n",
	// What follows a here-document in a substitution.
	"echo $(cat <<X\nX\neval :; : ';m1 x')", "echo \"$(cat <<'X'\nX\neval :; : ';m1 x')\"", ": <(cat <<X\nX\neval :; : ';m1 x')", ": >(cat <<X\nX\neval :; : ';m1 x')",
	"[[ $(cat <<X\nX\neval :; : ';m1 x') ]]", "cat <<<$(cat <<X\nX\neval :; : ';m1 x')", "echo ${x:-$(cat <<X\nX\neval :; : ';m1 x')}", "echo $(cat <<X\nX\nm1; echo --evil)",
	"x=$(cat <<'X'\nX\nm1; m2 x)", "echo $(cat <<'X'\nX\ncd a/nope || exit; echo x > f)", "echo $(cat <<X; m1\nX\n)", "echo $(cat <<X\nX\n)$(m1)", "echo \"$(cat <<'X'\nm1\nX\n)\"",
	// Where time is a program.
	`: "$(time case a in a) true;; esac; : ";m1 x;" )"`, `: "$( time -p case a in a) true;; esac; : ";m1 x;" )"`, `: | time -f x m1 y`, `: |& time -o f m2`, ": |\ntime -f x m1", `: | time m1`, `echo $(time m1)`,
	// An exit that does not exit, and what is not run as its redirection fails.
	`cd nope || exit --help; echo > f`, `cd nope || exit <missing; echo > f`, `cd nope || exit 1 2; echo > f`, `{ cd a || exit; } <missing; echo > f`, `{ ! cd a; } <missing || echo > f`,
	`if cd a; then :; else exit; fi <missing; echo > f`, `cd a <missing; echo > f`, `! cd a <missing && echo > f`, `cd nope || exit 1; echo > f`,
	// An expansion that fails ends the line, and not the script.
	"cd a && : $((1/0)) && cd .. || exit\necho > f", "cd a && : $((08)) && cd ../b || exit\necho > f", "cd a && x=y && : ${x:0:-9} && cd .. || exit\necho > f", "cd a; exit $((1/0))\necho > f",
	"eval 'cd a && : $((1/0)) && cd .. || exit\necho > f'", "readonly x; cd a && x=1 && cd .. || exit\necho > f", "cd a && UID=1 && cd .. || exit\necho > f", "{ cd a\n: $((1/0))\ncd ..\n}\necho > f",
	// To where one came from.
	`cd a && cd .. && cd -- - && echo > f`, `cd a; cd ..; cd -- -; echo > f`, `cd -- a; echo > f`,
}

// TestReread runs each for real, as TestTricks does.
func TestReread(t *testing.T) {
	l, sets := newLab(t), grantedSets(t)
	for n, text := range reread {
		checkSound(t, l, len(tricks)+n, text, sets)
	}
}

// TestFollowed: what people write stays known, and its places with it.
func TestFollowed(t *testing.T) {
	for text, want := range map[string]string{
		"cd src || exit\necho x > f":                       "src/f",
		"cd src || exit 1\necho x > f":                     "src/f",
		"cd src || exit $?\necho x > f":                    "src/f",
		"(cd a && echo y); echo $((1+1))\necho x > f":      "f",
		"x=1; y=$((x2))\necho x > f":                       "f",
		"cd src && x=$(git log) || exit\necho x > f":       "src/f f",
		"cd src && echo >/dev/null && echo x > f":          "src/f",
		"echo \"$(cat <<'E'\na; b\nE\n)\"; echo x > f":     "f",
		"echo \"$(cat <<-E\n\ta\n\tE\n\n)\"; echo x > f":   "f",
		"x=$(time git log) && echo x > f":                  "f",
		"cd a/../b && echo x > f":                          "b/f a/../b/f",
		"cd " + strings.Repeat("a/../", 40) + "a && : > f": "f?",
		"cd " + strings.Repeat("a", 5000) + " && : > f":    "f?",
	} {
		s, err := Read(text)
		if err != nil {
			t.Errorf("%.60q: %v", text, err)
			continue
		}
		var got []string
		for _, part := range s.Parts {
			for _, a := range part.Accesses {
				if to := a.Path.Text; a.Path.Literal {
					got = append(got, to)
				} else {
					got = append(got, to+"?")
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%.60q writes %q, want %q", text, got, want)
		}
	}
}

// TestBounded: what would take long is refused at once.
func TestBounded(t *testing.T) {
	for want, text := range map[string]string{
		"too many brackets": strings.Repeat("$((", 21_000),
		"too many files":    "cd src && : " + strings.Repeat(">x", 10_000),
		"a descriptor":      "echo 1000>f",
	} {
		begun := time.Now()
		if _, err := Read(text); err == nil || !strings.Contains(err.Error(), want) || time.Since(begun) > 5*time.Second {
			t.Errorf("%.20q: %v after %s, want %q", text, err, time.Since(begun), want)
		}
	}
}
