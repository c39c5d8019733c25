// Package house holds the tests of the house itself: who may import whom, what
// the law may touch, how large things may grow, and what no text may say. The
// rules and their reasons stand in docs/architecture.md; here they can fail.
//
// It has no code of its own: everything is a test, and each check is a function
// of a small tree of files, so that checks_test.go can show it failing.
package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/holdfast-mcp/holdfast"

// source is one Go file of the tree.
type source struct {
	path string // from the root of the module, with slashes
	text string
	file *ast.File
}

// isTest reports whether the file is only ever compiled into a test: its name
// says so, or it stands in a package of test support such as store/storetest.
func (s source) isTest() bool {
	return strings.HasSuffix(s.path, "_test.go") || strings.HasSuffix(path.Dir(s.path), "test")
}

// room is the room that the file belongs to.
func (s source) room() string { return roomOf(path.Dir(s.path)) }

// imports are the paths that the file imports.
func (s source) imports() []string {
	var all []string
	for _, spec := range s.file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value) // the parser accepted it
		all = append(all, p)
	}
	return all
}

// wings are rooms whose packages below are rooms of their own, each with a row.
var wings = []string{"internal/workspace"}

// roomOf maps a directory of the module to its room: two names deep under core,
// internal and cmd, one elsewhere. Packages below a room belong to it, but for those
// of a wing.
func roomOf(dir string) string {
	parts := strings.Split(dir, "/")
	depth := 1
	if slices.Contains([]string{"core", "internal", "cmd"}, parts[0]) {
		depth = 2
	}
	if len(parts) > depth && slices.Contains(wings, strings.Join(parts[:depth], "/")) {
		depth++
	}
	return strings.Join(parts[:min(depth, len(parts))], "/")
}

// tree is what the checks read.
type tree struct {
	fset  *token.FileSet
	goes  []source
	texts map[string]string // every text file of the repository, Go files too
}

// add parses one Go file into the tree, or keeps any other text.
func (t *tree) add(name, text string) error {
	t.texts[name] = text
	if !strings.HasSuffix(name, ".go") {
		return nil
	}
	f, err := parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.goes = append(t.goes, source{path: name, text: text, file: f})
	return nil
}

// rooms are the rooms that have a Go file, sorted.
func (t *tree) rooms() []string {
	var all []string
	for _, s := range t.goes {
		all = append(all, s.room())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func newTree() *tree {
	return &tree{fset: token.NewFileSet(), texts: map[string]string{}}
}

// generated are directories that no person writes and git does not keep.
var generated = []string{".git", "node_modules", "bin"}

// load reads the whole repository.
func load(root string) (*tree, error) {
	t := newTree()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(generated, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || !d.Type().IsRegular() || !isText(p) {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return t.add(filepath.ToSlash(rel), string(b))
	})
	return t, err
}

// textual are the endings of the files that people read.
var textual = []string{
	".go", ".md", ".mod", ".json", ".jsonl", ".txt", ".txtar", ".yml", ".yaml", ".sh", ".js",
	".mjs", ".css", ".html", ".sql", ".toml", ".lock", "Makefile", "run", "LICENSE", ".gitignore", ".npmrc",
}

func isText(p string) bool {
	return slices.ContainsFunc(textual, func(end string) bool { return strings.HasSuffix(p, end) })
}

// house loads the repository that this test stands in.
func house(t *testing.T) *tree {
	t.Helper()
	all, err := load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// report fails the test once for each broken rule.
func report(t *testing.T, broken []string) {
	t.Helper()
	for _, b := range broken {
		t.Error(b)
	}
}
