package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pureStd is the standard library of the law: packages that compute and do
// nothing else. It has no os, net, log, sync, runtime or context on purpose.
var pureStd = []string{
	"bytes", "cmp", "crypto/sha256", "crypto/subtle", "encoding", "encoding/base32", "encoding/base64",
	"encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt", "hash", "iter", "maps", "math",
	"math/big", "math/bits", "path", "regexp", "slices", "sort", "strconv", "strings", "time", "unicode",
	"unicode/utf16", "unicode/utf8",
}

// pureExceptions are packages that one room of the law needs beside pureStd.
var pureExceptions = []struct{ room, pkg, why string }{
	{"core/contract", "io", "jsontext says the end of its input with io.EOF"},
	{"core/scan", "embed", "its word lists are part of the program: read by the compiler, not at run time"},
	{"core/dispatch", "sync/atomic", "copies of a Permit share one use, and two callers may spend it at the same time"},
}

// impure are the functions of allowed packages that read the clock, wait, read
// the disk or print.
var impure = map[string][]string{
	"time": {
		"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation",
	},
	"fmt": {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// checkPure gives everything in the law that is not a pure function or a value.
func checkPure(t *tree) []string {
	var broken []string
	packages := map[string][]source{}
	for _, s := range t.goes {
		if strings.HasPrefix(s.path, "core/") && !s.isTest() {
			dir := path.Dir(s.path)
			packages[dir] = append(packages[dir], s)
		}
	}
	for _, files := range packages {
		for _, s := range files {
			broken = append(broken, impureImports(s)...)
			broken = append(broken, impureCode(t.fset, s)...)
		}
		broken = append(broken, mutableGlobals(t.fset, files)...)
	}
	slices.Sort(broken)
	return broken
}

func impureImports(s source) []string {
	var broken []string
	for _, p := range s.imports() {
		excepted := false
		for _, e := range pureExceptions {
			excepted = excepted || e.room == s.room() && e.pkg == p
		}
		if std(p) && !excepted && !slices.Contains(pureStd, p) {
			broken = append(broken, fmt.Sprintf("%s: imports %s: the law has no disk, net, clock, lock or log", s.path, p))
		}
	}
	return broken
}

// impureCode finds calls that reach the world, goroutines, channels and init.
func impureCode(fset *token.FileSet, s source) []string {
	names := map[string]string{} // the local name of an import, and its path
	for _, spec := range s.file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value) // the parser accepted it
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = p
	}
	var broken []string
	say := func(n ast.Node, what string) {
		broken = append(broken, fmt.Sprintf("%s: %s", fset.Position(n.Pos()), what))
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			say(n, "starts a goroutine: the law runs in its caller")
		case *ast.ChanType:
			say(n, "has a channel: the law is values and functions")
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				say(n, "has an init function: a law does nothing by being imported")
			}
		case *ast.ImportSpec:
			if n.Name != nil && n.Name.Name == "." {
				say(n, "has a dot import: calls could not be told apart")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(impure[names[x.Name]], n.Sel.Name) {
				say(n, fmt.Sprintf("uses %s.%s: time and input are given to the law, not taken", x.Name, n.Sel.Name))
			}
		}
		return true
	})
	return broken
}

// mutableGlobals finds package-level variables of one package that are more than
// a named value: without a value of their own, or written somewhere.
func mutableGlobals(fset *token.FileSet, files []source) []string {
	var broken []string
	info, globals := resolve(fset, files)
	for _, s := range files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			for _, written := range targets(n) {
				if id := root(written); id != nil && globals[info.Uses[id]] {
					broken = append(broken, fmt.Sprintf("%s: changes the package's variable %s: the law has no state", fset.Position(n.Pos()), id.Name))
				}
			}
			return true
		})
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				if v := spec.(*ast.ValueSpec); len(v.Values) == 0 && !embedded(g, v) {
					broken = append(broken, fmt.Sprintf("%s: the package's variable %s has no value: it could only be state", fset.Position(v.Pos()), v.Names[0].Name))
				}
			}
		}
	}
	return broken
}

// embedded reports whether the compiler gives the variable its value.
func embedded(g *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{g.Doc, v.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}

// resolve tells which identifiers mean which objects, as far as one package alone
// tells it (its imports are not read), and which objects are its variables.
func resolve(fset *token.FileSet, files []source) (*types.Info, map[types.Object]bool) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	var parsed []*ast.File
	for _, s := range files {
		parsed = append(parsed, s.file)
	}
	pkg, _ := conf.Check(path.Dir(files[0].path), fset, parsed, info) // unread imports are no reason to stop
	globals := map[types.Object]bool{}
	for _, name := range pkg.Scope().Names() {
		if v, ok := pkg.Scope().Lookup(name).(*types.Var); ok {
			globals[v] = true
		}
	}
	return info, globals
}

// noImports gives an empty package for every import.
type noImports struct{}

func (noImports) Import(p string) (*types.Package, error) {
	pkg := types.NewPackage(p, path.Base(p))
	pkg.MarkComplete()
	return pkg, nil
}

// targets are the expressions that a node may write to.
func targets(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear", "copy", "append"}, f.Name) && len(n.Args) > 0 {
			return n.Args[:1]
		}
	}
	return nil
}

// root is the identifier that an expression starts from: x of x.f[i].
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

func TestTheLawIsPure(t *testing.T) {
	report(t, checkPure(house(t)))
}
