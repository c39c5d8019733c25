package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

const (
	maxIgnore  = 1 << 20 // bytes of a .gitignore that is read
	maxIgnores = 8 << 20 // bytes of all that are kept
)

// ignores are the .gitignore files that speak of a folder: its own and those above it
// up to the root. The nearest that says anything about a path decides. Nil says nothing.
type ignores struct {
	above *ignores
	at    string // the folder's real path
	text  string
	set   policy.Ignore
}

// ignoreFiles are the .gitignore files that were read. What says the same when it is read
// again is the same ignores, so that what it said of a path need not be asked again. Safe
// for concurrent use.
type ignoreFiles struct {
	mu   sync.Mutex
	read map[string]*ignores // by path
	size int                 // bytes of their texts
}

// with adds the files of a folder, of which list is what is in it.
func (c *ignoreFiles) with(g *ignores, r *os.Root, real string, list []dirent) *ignores {
	own := false
	for _, d := range list {
		switch {
		case d.name == ".git" && (d.kind.IsDir() || d.kind == unknownKind):
			g = c.add(g, r, real, filepath.Join(".git", "info", "exclude"))
		case d.name == ".gitignore" && (d.kind.IsRegular() || d.kind == unknownKind):
			own = true
		}
	}
	if own { // nearer than what is in .git
		g = c.add(g, r, real, ".gitignore")
	}
	return g
}

func (c *ignoreFiles) add(g *ignores, r *os.Root, real, name string) *ignores {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	path := filepath.Join(real, name)
	known := c.read[path]
	if known != nil && known.above == g && known.text == string(text) {
		return known
	}
	if known != nil {
		c.size -= len(known.text)
	}
	if c.size += len(text); c.size > maxIgnores || c.read == nil {
		c.read, c.size = map[string]*ignores{}, len(text)
	}
	c.read[path] = &ignores{above: g, at: real, text: string(text), set: policy.ParseIgnore(text)}
	return c.read[path]
}

// match reports whether a path is ignored that lies in no ignored folder.
func (g *ignores) match(real string, folder bool) bool {
	for ; g != nil; g = g.above {
		rel := strings.TrimPrefix(real[len(g.at):], string(filepath.Separator))
		if ignored, spoke := g.set.Match(filepath.ToSlash(rel), folder); spoke {
			return ignored
		}
	}
	return false
}

// ignoresAbove gives what the folders above a judged one say; nothing, when it is or
// lies in an ignored one: who asks for that means what is in it.
func (t *tree) ignoresAbove(p policy.Resolved) *ignores {
	rel, err := filepath.Rel(t.paths[p.Root], p.Real)
	if err != nil || rel == "." {
		return nil
	}
	var g *ignores
	way := t.paths[p.Root]
	for _, step := range strings.Split(rel, string(filepath.Separator)) {
		next := filepath.Join(way, step)
		if at, err := t.find(policy.Resolved{Real: next, Root: p.Root}, false); err == nil {
			g = t.rules.add(g, at.Root, way, filepath.Join(".git", "info", "exclude"))
			g = t.rules.add(g, at.Root, way, ".gitignore")
			_ = at.Close()
		}
		if g.match(next, true) {
			return nil
		}
		way = next
	}
	return g
}
