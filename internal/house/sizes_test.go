package house

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Sizes. The rule says "about", so each has a tenth of tolerance: at the limit it
// is time to split, past the tolerance the test fails. Tests are measured as
// files only, and more generously, for a table is long without being hard.
const (
	fileLines     = 400
	testFileLines = 800
	funcLines     = 60   // from "func" to the closing brace; not of tests
	lawLines      = 1000 // of a room of core: lines with code on them, tests not counted
)

// large are the rooms of core that are larger than that. They may shrink, and
// their numbers with them, not grow: the law has to stay readable.
var large = map[string]struct {
	lines int
	why   string
}{
	"core/approval": {2700, "every act of docs/design/approval.md, each with its refusals, and the words for them"},
	"core/delta":    {3950, "a JSON Schema comparison that has to be right for every keyword of two drafts, and the memory it keeps between two"},
	"core/policy":   {2600, "the whole law of the workspace: rules, patterns, contract, modes, and a sentence for each decision"},
	"core/shell":    {4100, "every construct of bash that can hold a command, every wrapper with its options, each way in which a shell finds its script, and what each sets that changes what later words mean"},
	"core/scan":     {4450, "a check for every way that is known to hide an order in a text, in many scripts and languages, what a sentence is judged by beside its words, and what keeps it fast"},
}

// most is a limit with its tolerance.
func most(limit int) int { return limit + limit/10 }

// checkSizes gives every file and function that has grown too large.
func checkSizes(t *tree) []string {
	var broken []string
	core := map[string]int{}
	for _, s := range t.goes {
		lines, limit := strings.Count(s.text, "\n"), fileLines
		if s.isTest() {
			limit = testFileLines
		}
		if lines > most(limit) {
			broken = append(broken, fmt.Sprintf("%s: %d lines, about %d are meant: which two things live in it?", s.path, lines, limit))
		}
		if s.isTest() {
			continue
		}
		if strings.HasPrefix(s.path, "core/") {
			core[s.room()] += codeLines(s.text)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := t.fset.Position(f.End()).Line - t.fset.Position(f.Pos()).Line + 1; n > most(funcLines) {
				broken = append(broken, fmt.Sprintf("%s: %s has %d lines, about %d are meant", t.fset.Position(f.Pos()), f.Name.Name, n, funcLines))
			}
		}
	}
	for room, lines := range core {
		limit := lawLines
		if l, ok := large[room]; ok {
			limit = l.lines
		}
		if lines > limit {
			broken = append(broken, fmt.Sprintf("%s: %d lines of code, at most %d are meant: it can't be read in a sitting", room, lines, limit))
		}
	}
	return broken
}

// codeLines counts the lines of a Go file that have code on them: neither blank
// nor comment alone. Each line of a raw string counts.
func codeLines(text string) int {
	fset := token.NewFileSet()
	f := fset.AddFile("", fset.Base(), len(text))
	var sc scanner.Scanner
	sc.Init(f, []byte(text), nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := sc.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // put there by the scanner
		}
		first := f.Line(pos)
		for i := range strings.Count(lit, "\n") + 1 {
			lines[first+i] = true
		}
	}
}

// vague are names that say nothing about what lives there.
var vague = []string{"util", "utils", "common", "helper", "helpers", "manager", "managers", "types", "misc"}

// vagueWords are those of them that no declared name may have as a word.
var vagueWords = []string{"util", "utils", "helper", "helpers", "manager", "managers"}

// checkNames gives every package, file and top-level name that says nothing.
func checkNames(t *tree) []string {
	var broken []string
	for _, s := range t.goes {
		if slices.Contains(vague, s.file.Name.Name) {
			broken = append(broken, fmt.Sprintf("%s: package %s: a name must say what lives there", s.path, s.file.Name.Name))
		}
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".go"), "_test")
		for part := range strings.SplitSeq(base, "_") {
			if slices.Contains(vague, part) {
				broken = append(broken, fmt.Sprintf("%s: a file name must say what lives there", s.path))
			}
		}
		for name, obj := range declared(s.file) {
			for _, w := range words(name) {
				if slices.Contains(vagueWords, w) {
					broken = append(broken, fmt.Sprintf("%s: %s: a name must say what it is", t.fset.Position(obj), name))
				}
			}
		}
	}
	return broken
}

// declared are the top-level names of a file.
func declared(f *ast.File) map[string]token.Pos {
	all := map[string]token.Pos{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			all[d.Name.Name] = d.Pos()
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					all[spec.Name.Name] = spec.Pos()
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						all[n.Name] = n.Pos()
					}
				}
			}
		}
	}
	return all
}

// words splits a name at its capitals and underscores.
func words(name string) []string {
	var all []string
	start := 0
	for i, r := range name {
		if i > start && (r == '_' || unicode.IsUpper(r)) {
			all = append(all, strings.ToLower(strings.Trim(name[start:i], "_")))
			start = i
		}
	}
	return append(all, strings.ToLower(strings.Trim(name[start:], "_")))
}

// checkComments gives every package without a package comment. The tests of a
// package may leave it to the package.
func checkComments(t *tree) []string {
	said, seen := map[string]bool{}, map[string]bool{}
	for _, s := range t.goes {
		key := path.Dir(s.path) + " (package " + s.file.Name.Name + ")"
		seen[key] = seen[key] || !strings.HasSuffix(s.file.Name.Name, "_test")
		doc := s.file.Doc.Text()
		said[key] = said[key] || strings.HasPrefix(doc, "Package ") || strings.HasPrefix(doc, "Command ")
	}
	var broken []string
	for key, needed := range seen {
		if needed && !said[key] {
			broken = append(broken, key+": no package comment: say what the room is for and where its design stands")
		}
	}
	slices.Sort(broken)
	return broken
}

func TestNothingGrowsTooLarge(t *testing.T) { report(t, checkSizes(house(t))) }

func TestNamesSaySomething(t *testing.T) { report(t, checkNames(house(t))) }

func TestEveryPackageSaysWhatItIsFor(t *testing.T) { report(t, checkComments(house(t))) }
