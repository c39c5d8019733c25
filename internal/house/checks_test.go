package house

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// fixture is a small tree, by file name. A Go file that does not start with a
// package clause gets one, with a package comment.
func fixture(t *testing.T, files map[string]string) *tree {
	t.Helper()
	all := newTree()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		if strings.HasSuffix(name, ".go") && !strings.Contains(text, "package ") {
			text = "// Package x is a fixture.\npackage x\n\n" + text
		}
		if err := all.add(name, text); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// check is one case: files, and a part of each complaint in order. None is silence.
type check struct {
	name  string
	files map[string]string
	want  []string
}

func run(t *testing.T, f func(*tree) []string, cases []check) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := f(fixture(t, c.files))
			if len(got) != len(c.want) {
				t.Fatalf("%d complaints, want %d: %q", len(got), len(c.want), got)
			}
			for i, part := range c.want {
				if !strings.Contains(got[i], part) {
					t.Errorf("complaint %q does not say %q", got[i], part)
				}
			}
		})
	}
}

func imports(paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "import _ %q\n", p)
	}
	return b.String()
}

func TestCheckImports(t *testing.T) {
	small := []row{
		{room: "core/contract", why: "innermost"},
		{room: "internal/fault", why: "vocabulary"},
		{room: "internal/store", rooms: []string{"core/contract"}, libs: []string{"modernc.org/sqlite"}, tests: []string{"*"}, why: "driven"},
		{room: "cmd/holdfast", rooms: []string{"internal/store"}, why: "wires"},
	}
	files := func(more map[string]string) map[string]string {
		all := map[string]string{
			"core/contract/a.go": "", "internal/fault/a.go": "", "internal/store/a.go": "", "cmd/holdfast/a.go": "",
		}
		maps.Copy(all, more)
		return all
	}
	run(t, func(tr *tree) []string { return checkImports(tr, small) }, []check{
		{"as the table says", files(map[string]string{
			"internal/store/a.go":           imports("os", module+"/core/contract", "modernc.org/sqlite", "modernc.org/sqlite/lib"),
			"internal/store/suite/suite.go": imports(module + "/internal/store"),
			"internal/store/a_test.go":      imports(module+"/internal/fault", module+"/pilot", "pgregory.net/rapid"),
		}), nil},
		{"a room without a row", files(map[string]string{"internal/new/a.go": ""}), []string{"internal/new: a room without a row"}},
		{
			"a row without a room",
			map[string]string{"core/contract/a.go": "", "internal/fault/a.go": "", "internal/store/a.go": ""},
			[]string{"cmd/holdfast: a row without a room"},
		},
		{"the law knows the world", files(map[string]string{"core/contract/a.go": imports(module + "/internal/store")}), []string{"core/contract may not know internal/store"}},
		{"a room knows a room", files(map[string]string{"internal/store/a.go": imports(module + "/internal/fault")}), []string{"internal/store may not know internal/fault"}},
		{"a library of another room", files(map[string]string{"internal/fault/a.go": imports("modernc.org/sqlite")}), []string{"modernc.org/sqlite is no library of this room"}},
		{"a library with a longer name", files(map[string]string{"internal/store/a.go": imports("modernc.org/sqlite3")}), []string{"modernc.org/sqlite3 is no library"}},
		{"a test library in the product", files(map[string]string{"internal/store/a.go": imports("pgregory.net/rapid")}), []string{"rapid is no library"}},
		{"the pilot in the product", files(map[string]string{"internal/store/a.go": imports(module + "/pilot/model")}), []string{"may not know pilot"}},
		{"a test of the law knows the world", files(map[string]string{"core/contract/a_test.go": imports(module + "/internal/fault")}), []string{"core/contract may not know internal/fault"}},
		{"a test knows a command", files(map[string]string{"internal/store/a_test.go": imports(module + "/cmd/holdfast")}), []string{"may not know cmd/holdfast"}},
	})
	if got := checkImports(fixture(t, map[string]string{"core/contract/a.go": ""}), []row{{room: "core/contract"}}); len(got) != 1 {
		t.Errorf("a row without a reason passes: %q", got)
	}
}

func TestCheckPure(t *testing.T) {
	law := func(body string) map[string]string { return map[string]string{"core/scan/a.go": body} }
	run(t, checkPure, []check{
		{"values and functions", law("import (\n\"errors\"\n\"regexp\"\n\"time\"\n)\nvar errX = errors.New(\"x\")\nvar table = map[string]int{\"a\": 1}\nvar re = regexp.MustCompile(`a`)\nfunc f(now time.Time) int { table := map[string]int{}; table[\"a\"] = 2; return now.Add(time.Second).Second() }"), nil},
		{"outside the law", map[string]string{"internal/store/a.go": "import \"os\"\nvar n int\nfunc f() { go os.Exit(n) }"}, nil},
		{"in its tests", map[string]string{"core/scan/a.go": "", "core/scan/a_test.go": "import \"os\"\nvar n = len(os.Args)"}, nil},
		{"the disk", law(`import _ "os"`), []string{"imports os"}},
		{"the log", law(`import _ "log/slog"`), []string{"imports log/slog"}},
		{"a lock", law(`import _ "sync"`), []string{"imports sync"}},
		{"an atomic elsewhere", law(`import _ "sync/atomic"`), []string{"imports sync/atomic"}},
		{"an atomic of the permit", map[string]string{"core/dispatch/a.go": `import _ "sync/atomic"`}, nil},
		{"the clock", law("import \"time\"\nvar f = time.Now"), []string{"uses time.Now"}},
		{"the clock under another name", law("import clock \"time\"\nfunc f() { clock.Sleep(1) }"), []string{"uses clock.Sleep"}},
		{"the clock with a dot", law("import . \"time\"\nvar f = Now"), []string{"dot import"}},
		{"printing", law("import \"fmt\"\nfunc f() { fmt.Println() }"), []string{"uses fmt.Println"}},
		{"a goroutine", law("func f() { go f() }"), []string{"starts a goroutine"}},
		{"a channel", law("func f(c chan int) {}"), []string{"has a channel"}},
		{"an init", law("func init() {}"), []string{"has an init function"}},
		{"a method called init", law("type t struct{}\nfunc (t) init() {}"), nil},
		{"a variable without a value", law("var n int"), []string{"variable n has no value"}},
		{"a variable that is embedded", law("import _ \"embed\"\n//go:embed words.txt\nvar words string"), nil},
		{"a variable that is embedded, and set", law("import _ \"embed\"\n//go:embed words.txt\nvar words string\nfunc f() { words = \"\" }"), []string{"variable words"}},
		{"a variable that is set", law("var n = 1\nfunc f() { n = 2 }"), []string{"changes the package's variable n"}},
		{"a variable that is counted up", law("var n = 1\nfunc f() { n++ }"), []string{"changes the package's variable n"}},
		{"a table that is written", law("var m = map[string]int{}\nfunc f() { m[\"a\"] = 1 }"), []string{"variable m"}},
		{"a table that is emptied", law("var m = map[string]int{}\nfunc f() { clear(m) }"), []string{"variable m"}},
		{"a field that is set", law("var s = struct{ a []int }{}\nfunc f() { (s).a[0] = 1 }"), []string{"variable s"}},
		{"an address that is taken", law("var n = 1\nfunc f() *int { return &n }"), []string{"variable n"}},
		{"from another file", map[string]string{"core/scan/a.go": "var n = 1", "core/scan/b.go": "func f() { n = 2 }"}, []string{"core/scan/b.go"}},
	})
}

func TestCheckSizes(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("//\n", n-3) } // three come before
	long := func(n int) string { return "func f() {" + strings.Repeat("\n", n-1) + "}" }
	run(t, checkSizes, []check{
		{"at the tolerance", map[string]string{"a/a.go": lines(440)}, nil},
		{"past it", map[string]string{"a/a.go": lines(441)}, []string{"a/a.go: 441 lines"}},
		{"a test may be longer", map[string]string{"a/a_test.go": lines(880)}, nil},
		{"but not for ever", map[string]string{"a/a_test.go": lines(881)}, []string{"881 lines"}},
		{"a function at the tolerance", map[string]string{"a/a.go": long(66)}, nil},
		{"past it", map[string]string{"a/a.go": long(67)}, []string{"f has 67 lines"}},
		{"a test's function", map[string]string{"a/a_test.go": long(67)}, nil},
		{"a room of the law", map[string]string{"core/a/a.go": "var s = `" + strings.Repeat("x\n", lawLines) + "`"}, []string{"core/a/a.go", "core/a: 1002 lines"}},
		{"a large one", map[string]string{"core/delta/a.go": "var s = `" + strings.Repeat("x\n", lawLines) + "`"}, []string{"core/delta/a.go"}},
	})
}

func TestCodeLines(t *testing.T) {
	for text, want := range map[string]int{
		"package x\n":                                1,
		"// c\n\npackage x // c\n\n/* c\nc */\n":     1,
		"package x\n\nvar s = `a\n\nb`\n":            4,
		"package x\n\nfunc f() {\n\n\t// c\n\n}\n":   3,
		"package x\n\nvar a, b = 1,\n\t/* c */ 2\n ": 3,
	} {
		if got := codeLines(text); got != want {
			t.Errorf("%q has %d lines of code, want %d", text, got, want)
		}
	}
}

func TestCheckNames(t *testing.T) {
	run(t, checkNames, []check{
		{"names that say something", map[string]string{"a/content.go": "type contentTypes int\nfunc commonPrefix() {}\nfunc utility() {}"}, nil},
		{"a package", map[string]string{"util/a.go": "package util"}, []string{"package util"}},
		{"a file", map[string]string{"a/types.go": ""}, []string{"a/types.go"}},
		{"a part of a file name", map[string]string{"a/store_helpers_test.go": ""}, []string{"a/store_helpers_test.go"}},
		{"a type", map[string]string{"a/a.go": "type SessionManager struct{}"}, []string{"SessionManager"}},
		{"a function", map[string]string{"a/a.go": "func helper_x() {}"}, []string{"helper_x"}},
	})
}

func TestCheckComments(t *testing.T) {
	run(t, checkComments, []check{
		{"one file of two", map[string]string{"a/a.go": "", "a/b.go": "package x"}, nil},
		{"a test of its own package", map[string]string{"a/a.go": "", "a/a_test.go": "package x_test"}, nil},
		{"none", map[string]string{"a/a.go": "// This is a file.\npackage x"}, []string{"a (package x): no package comment"}},
	})
}

func TestCheckTexts(t *testing.T) {
	registry, home := "https://"+registries[0]+"/x", "/ro"+"ot/.cache"
	run(t, checkTexts, []check{
		{"plain", map[string]string{"a.md": "See https://example.com/work/root and ~/.config, GET /worker/root, `/home/you/x`."}, nil},
		{"a registry", map[string]string{"package-lock.json": `{"resolved":"` + registry + `"}`}, []string{"package-lock.json:1"}},
		{"a path", map[string]string{"Makefile": "x:\n\tls " + home}, []string{"Makefile:2"}},
		{"a home", map[string]string{"a.json": `{"cwd":"/ho` + `me/jane/x"}`}, []string{"/jane/"}},
		{"kept as it came", map[string]string{"testdata/corpus/a.json": `"` + home + `"`}, nil},
	})
}

func TestCheckCitations(t *testing.T) {
	run(t, checkCitations, []check{
		{"there", map[string]string{"a/a.go": "// See docs/design/x.md.\npackage x", "docs/design/x.md": "[up](../../README.md#top) [folder](../) [mail](mailto:a@b.c) [web](https://x.y)", "README.md": ""}, nil},
		{"not there", map[string]string{"a/a.go": "// See docs/design/x.md.\npackage x"}, []string{"points to docs/design/x.md"}},
		{"a dead link", map[string]string{"README.md": "[x](docs/nothing.md)"}, []string{"links to docs/nothing.md", "points to docs/nothing.md"}},
	})
}

func TestCheckDependencies(t *testing.T) {
	mod := "module m\n\ngo 1.26\n\nrequire a.b/c v1.0.0\n\nrequire (\n\td.e/f v1.0.0 // indirect\n\tg.h/i v0.1.0\n)\n"
	run(t, checkDependencies, []check{
		{"each has a row", map[string]string{"go.mod": mod, "docs/dependencies.md": "| `a.b/c` | x |\n| `d.e/f` | x |\n| `g.h/i` | x |\n"}, nil},
		{"one has none", map[string]string{"go.mod": mod, "docs/dependencies.md": "| `a.b/c` | x |\n`d.e/f`\n| `g.h/i` | x |\n"}, []string{"no row for d.e/f"}},
		{"one is gone", map[string]string{"go.mod": "module m\n", "docs/dependencies.md": "| `a.b/c` | x |\n"}, []string{"a row for a.b/c"}},
	})
}

func TestCheckFinished(t *testing.T) {
	todo := "// TO" + "DO"
	run(t, checkFinished, []check{
		{"finished", map[string]string{"a/a.go": "func f() { panic(\"never reached\") }"}, nil},
		{"unwritten", map[string]string{"a/a.go": "func f() { panic(\"unwritten\") }"}, []string{"a/a.go:4"}},
		{"no issue", map[string]string{"a/a.go": todo + " later\npackage x"}, []string{"a/a.go:1"}},
		{"an issue", map[string]string{"a/a.go": todo + "(#3): later\npackage x"}, nil},
	})
}
