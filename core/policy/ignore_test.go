package policy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIgnore(t *testing.T) {
	i := ParseIgnore([]byte("\ufeff# comment\n\n*.log\n!keep.log\nbuild/\n/top\r\n\\#hash\ntail\\ \nblank   \ndir/**\n!dir/x\n[bad\n/\n**/deep/x\n"))
	for _, c := range []struct {
		path           string
		folder         bool
		ignored, spoke bool
	}{
		{"a.log", false, true, true},
		{"x/a.log", false, true, true},
		{"keep.log", false, false, true},
		{"build", true, true, true},
		{"build", false, false, false},
		{"build/keep.log", false, true, true},
		{"top", false, true, true},
		{"a/top", false, false, false},
		{"#hash", false, true, true},
		{"tail ", false, true, true},
		{"tail", false, false, false},
		{"blank", false, true, true},
		{"dir", true, false, false},
		{"dir/y", false, true, true},
		{"dir/x", false, false, true},
		{"a/deep/x", false, true, true},
		{"src/a.ts", false, false, false},
	} {
		ignored, spoke := within(i, c.path, c.folder)
		if ignored != c.ignored || spoke != c.spoke {
			t.Errorf("%s (folder %t): ignored %t, spoke %t; want %t, %t", c.path, c.folder, ignored, spoke, c.ignored, c.spoke)
		}
	}
	if ignored, spoke := (Ignore{}).Match("a", false); ignored || spoke {
		t.Error("the zero Ignore ignores nothing")
	}
}

// within is what a file alone says of a path and the folders that it lies in.
func within(i Ignore, path string, folder bool) (ignored, spoke bool) {
	names := strings.Split(path, "/")
	for n := 1; n <= len(names) && !ignored; n++ {
		ignored, spoke = i.Match(strings.Join(names[:n], "/"), folder || n < len(names))
	}
	return ignored, spoke
}

// TestIgnoreAgainstGit asks git itself, on a real tree: what each path is to a drawn
// .gitignore. Rules' patterns are compared with it too, where they mean the same.
func TestIgnoreAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed, so that patterns are not compared with it")
	}
	repo := t.TempDir()
	git := func(stdin string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "core.excludesFile=/dev/null"}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("git %v: %v %s", args, err, errs.String())
		}
		return out.String()
	}
	git("", "init", "-q")
	folders, files := plant(t, repo)
	all := append(slices.Clone(folders), files...)
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"", "", "", "!"}).Draw(t, "not") + patternText().Draw(t, "pattern")
		}), 1, 4).Draw(rt, "lines")
		text := strings.Join(lines, "\n") + "\n"
		if oddStars.MatchString(text) {
			rt.Skip("git takes these stars for folders, against its manual")
		}
		if err := os.WriteFile(filepath.Join(repo, ".gitignore"), []byte(text), 0o600); err != nil {
			rt.Fatal(err)
		}
		fields := strings.Split(git(strings.Join(all, "\x00"), "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"), "\x00")
		i := ParseIgnore([]byte(text))
		for n, path := range all {
			pattern := fields[n*4+2]
			spoke, folder := pattern != "", n < len(folders)
			ignored := spoke && !strings.HasPrefix(pattern, "!")
			gotIgnored, gotSpoke := within(i, path, folder)
			if gotIgnored != ignored || gotSpoke != spoke {
				rt.Fatalf("%q on %s (folder %t): ignored %t, spoke %t; git says %t, %t", text, path, folder, gotIgnored, gotSpoke, ignored, spoke)
			}
			if len(lines) == 1 && comparable(lines[0]) {
				p, err := parsePattern(strings.TrimPrefix(lines[0], "/"), "", "")
				if strings.HasPrefix(lines[0], "/") {
					p, err = parsePattern("."+lines[0], "", "")
				}
				if err == nil && p.covers(split("/"+path), folder) != ignored {
					rt.Fatalf("the rule %q on %s (folder %t) covers it: %t; git ignores it: %t", lines[0], path, folder, !ignored, ignored)
				}
			}
		}
	})
}

// oddStars are two stars after a letter: git cuts the letters off before it matches, and
// the stars then seem to stand alone. gitignore(5) calls them regular stars.
var oddStars = regexp.MustCompile(`(?m)[^/!\n*]\*\*+(/|$)`)

// comparable reports whether a line means the same in a rule.
func comparable(line string) bool {
	line = strings.TrimSuffix(line, "/")
	return !strings.HasPrefix(line, "!") && !strings.HasPrefix(line, "./") && !strings.HasSuffix(line, "/**") && strings.Trim(line, "*/") != "" &&
		!strings.HasSuffix(line, "***") && !strings.Contains(line, "//")
}

// plant makes a small tree and gives its folders and files.
func plant(t *testing.T, repo string) (folders, files []string) {
	t.Helper()
	level := []string{""}
	for range 3 {
		var next []string
		for _, at := range level {
			for _, name := range []string{"a", "ab", "b."} {
				folder := filepath.Join(at, name)
				folders, next = append(folders, folder), append(next, folder)
				if err := os.MkdirAll(filepath.Join(repo, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"c", "b", "a.b", ".a", "*"} {
				file := filepath.Join(at, name)
				files = append(files, file)
				if err := os.WriteFile(filepath.Join(repo, file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		level = next
	}
	return folders, files
}
