package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

const maxIgnore = 1 << 20 // bytes of a .gitignore that is read

// ignores are the .gitignore files that speak of a folder: its own and those above it
// up to the root. The nearest that says anything about a path decides. Nil says nothing.
type ignores struct {
	above *ignores
	at    string // the folder's real path
	set   policy.Ignore
}

// with adds the files of a folder, of which list is what is in it.
func (g *ignores) with(r *os.Root, real string, list []fs.DirEntry) *ignores {
	own := false
	for _, d := range list {
		switch {
		case d.Name() == ".git" && d.IsDir():
			g = g.add(r, real, filepath.Join(".git", "info", "exclude"))
		case d.Name() == ".gitignore" && d.Type().IsRegular():
			own = true
		}
	}
	if own { // nearer than what is in .git
		g = g.add(r, real, ".gitignore")
	}
	return g
}

func (g *ignores) add(r *os.Root, real, name string) *ignores {
	f, err := r.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return g
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnore {
		return g
	}
	text, err := readAll(f, info.Size(), maxIgnore)
	if err != nil {
		return g
	}
	return &ignores{above: g, at: real, set: policy.ParseIgnore(text)}
}

// match reports whether a path below is ignored.
func (g *ignores) match(real string, folder bool) bool {
	for ; g != nil; g = g.above {
		rel := strings.TrimPrefix(real[len(g.at):], string(filepath.Separator))
		if ignored, spoke := g.set.Match(filepath.ToSlash(rel), folder); spoke {
			return ignored
		}
	}
	return false
}

// ignoresAbove gives what the folders above a judged one say.
func (t *tree) ignoresAbove(p policy.Resolved) *ignores {
	rel, err := filepath.Rel(t.paths[p.Root], p.Real)
	if err != nil || rel == "." {
		return nil
	}
	var g *ignores
	way := t.paths[p.Root]
	for _, step := range strings.Split(rel, string(filepath.Separator)) {
		if at, err := t.find(policy.Resolved{Real: filepath.Join(way, step), Root: p.Root}, false); err == nil {
			g = g.add(at.Root, way, filepath.Join(".git", "info", "exclude")).add(at.Root, way, ".gitignore")
			_ = at.Close()
		}
		way = filepath.Join(way, step)
	}
	return g
}
