package house

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// registries are hosts that a project must not name: where its parts come from is
// the business of the machine that builds it. They are put together here so that
// this file does not name them.
var registries = []string{
	"registry." + "npmjs.org", "registry." + "npmjs.com", "registry." + "yarnpkg.com", "proxy." + "golang.org",
	"sum." + "golang.org", "files." + "pythonhosted.org", "static." + "crates.io", "deb." + "debian.org",
}

// machine finds absolute paths of whoever built this, also put together here.
// Examples use the home of "you", or of "user".
var machine = regexp.MustCompile(`(?:^|[\s"'(=:\[,\x60])((?:/ro` + `ot|/wo` + `rk|/fa` + `rm|/ho` + `me/[a-z0-9_-]+|/Us` + `ers/[A-Za-z0-9_-]+)/|[A-Z]:\\\\?Us` + `ers\\\\?[A-Za-z]+)`)

// nobody are homes that belong to no machine.
var nobody = []string{"/home/you/", "/home/user/", "/Users/you/", `C:\Users\you`, `C:\\Users\\you`}

// notOurs are files whose text was written elsewhere and is kept as it came.
var notOurs = []string{"testdata/corpus/"}

// checkTexts gives every text that names a registry or a path of one machine.
func checkTexts(t *tree) []string {
	var broken []string
	for name, text := range t.texts {
		if slices.ContainsFunc(notOurs, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		n := 0
		for line := range strings.Lines(text) {
			n++
			for _, host := range registries {
				if strings.Contains(line, host) {
					broken = append(broken, fmt.Sprintf("%s:%d: names the registry host %s", name, n, host))
				}
			}
			for _, m := range machine.FindAllStringSubmatch(line, -1) {
				if !slices.Contains(nobody, m[1]) {
					broken = append(broken, fmt.Sprintf("%s:%d: has %s, a path of one machine", name, n, m[1]))
				}
			}
		}
	}
	slices.Sort(broken)
	return broken
}

// cited finds design pages that a text points to; links are those of Markdown.
var (
	cited = regexp.MustCompile(`docs/[a-z0-9/_-]+\.md`)
	links = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
)

// checkCitations gives every page that is pointed to and does not exist.
func checkCitations(t *tree) []string {
	var broken []string
	for name, text := range t.texts {
		if strings.HasPrefix(name, "internal/house/") {
			continue // its fixtures point to pages on purpose
		}
		if strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".md") {
			for _, page := range cited.FindAllString(text, -1) {
				if _, ok := t.texts[page]; !ok {
					broken = append(broken, fmt.Sprintf("%s: points to %s, which is not there", name, page))
				}
			}
		}
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			to := path.Join(path.Dir(name), m[1])
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") || t.has(to) {
				continue
			}
			broken = append(broken, fmt.Sprintf("%s: links to %s, which is not there", name, m[1]))
		}
	}
	slices.Sort(broken)
	return slices.Compact(broken)
}

// has reports whether a file or a directory is in the tree.
func (t *tree) has(p string) bool {
	for name := range t.texts {
		if name == p || strings.HasPrefix(name, p+"/") {
			return true
		}
	}
	return false
}

// requirement is one module of a go.mod.
type requirement struct {
	path     string
	indirect bool
}

// requirements reads the require lines of a go.mod.
func requirements(gomod string) []requirement {
	var all []requirement
	in := false
	for line := range strings.Lines(gomod) {
		code, comment, _ := strings.Cut(strings.TrimSpace(line), "//")
		f := strings.Fields(code)
		switch {
		case len(f) == 2 && f[0] == "require" && f[1] == "(":
			in = true
			continue
		case len(f) == 1 && f[0] == ")":
			in = false
			continue
		case len(f) == 3 && f[0] == "require":
			f = f[1:]
		case !in:
			continue
		}
		if len(f) == 2 {
			all = append(all, requirement{f[0], strings.TrimSpace(comment) == "indirect"})
		}
	}
	return all
}

// named finds the modules that the page of dependencies has a row for.
var named = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// checkDependencies gives every module that the page does not explain, and every
// one that it explains and nobody requires.
func checkDependencies(t *tree) []string {
	const page = "docs/dependencies.md"
	var broken []string
	said := map[string]bool{}
	for _, m := range named.FindAllStringSubmatch(t.texts[page], -1) {
		said[m[1]] = true
	}
	for _, r := range requirements(t.texts["go.mod"]) {
		if !said[r.path] {
			broken = append(broken, fmt.Sprintf("%s: has no row for %s: say what it is for", page, r.path))
		}
		delete(said, r.path)
	}
	for p := range said {
		broken = append(broken, fmt.Sprintf("%s: has a row for %s, which go.mod does not require", page, p))
	}
	slices.Sort(broken)
	return broken
}

// unfinished finds what a room still owes.
var unfinished = regexp.MustCompile(`panic\("(?:unwritten|not implemented|todo)|\b(?:TO` + `DO|FIX` + `ME)\b`)

// issue is what makes it a plan.
var issue = regexp.MustCompile(`(?:issue |#)\d+`)

// checkFinished gives every line that says that something is missing and names no
// issue.
func checkFinished(t *tree) []string {
	var broken []string
	for name, text := range t.texts {
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "internal/house/") {
			continue // its own fixtures are unfinished on purpose
		}
		n := 0
		for line := range strings.Lines(text) {
			n++
			if unfinished.MatchString(line) && !issue.MatchString(line) {
				broken = append(broken, fmt.Sprintf("%s:%d: unfinished, and no issue says so: %s", name, n, strings.TrimSpace(line)))
			}
		}
	}
	slices.Sort(broken)
	return broken
}

func TestNothingIsLeftUnwritten(t *testing.T) { report(t, checkFinished(house(t))) }

func TestTextsStandAlone(t *testing.T) { report(t, checkTexts(house(t))) }

func TestCitedPagesExist(t *testing.T) { report(t, checkCitations(house(t))) }

func TestEveryDependencyIsExplained(t *testing.T) { report(t, checkDependencies(house(t))) }
