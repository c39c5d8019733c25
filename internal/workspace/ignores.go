package workspace

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// Limits of .gitignore files, which a command can write. What is over them is passed
// over, so that more is compared and shown than need be.
const (
	maxIgnore   = 64 << 10   // bytes of one
	maxPatterns = 2_000      // lines that speak of one path
	maxParsed   = 50_000     // lines of all that are read in one walk
	maxAsked    = 20_000_000 // lines that paths are held against in one walk
)

// ignores are the .gitignore files that speak of a folder: its own and those above it
// up to the root. The nearest that says anything about a path decides. Nil says nothing.
type ignores struct {
	above *ignores
	at    string // the folder's real path
	text  string
	own   int // lines
	lines int // and those of above
	set   policy.Ignore
}

// ignoreFiles are the .gitignore files that were read. What says the same when it is read
// again is the same ignores, so that what it said of a path need not be asked again. Safe
// for concurrent use.
type ignoreFiles struct {
	mu   sync.Mutex
	read map[string]*ignores // by path
	size int                 // lines of all
}

// with adds the files of a folder, of which list is what is in it. budget is how many
// lines may still be read.
func (c *ignoreFiles) with(g *ignores, r *os.Root, real string, list []dirent, budget *int) *ignores {
	own := false
	for _, d := range list {
		switch {
		case d.name == ".git" && (d.kind.IsDir() || d.kind == unknownKind):
			g = c.addExclude(g, r, real, budget)
		case d.name == ".gitignore" && (d.kind.IsRegular() || d.kind == unknownKind):
			own = true
		}
	}
	if own { // nearer than what is in .git
		g = c.add(g, spot{Root: r, name: ".gitignore"}, real, filepath.Join(real, ".gitignore"), budget)
	}
	return g
}

// addExclude adds .git/info/exclude, which is a .gitignore of the folder.
func (c *ignoreFiles) addExclude(g *ignores, r *os.Root, real string, budget *int) *ignores {
	path := real
	for _, name := range []string{".git", "info"} {
		next, err := into(r, name)
		if err != nil {
			return g
		}
		defer next.Close()
		r, path = next, filepath.Join(path, name)
	}
	return c.add(g, spot{Root: r, name: "exclude"}, real, filepath.Join(path, "exclude"), budget)
}

// add reads a file at a spot, which speaks of the folder real. It follows no link: what
// is ignored tells what the file says, and a link may lead to one that nobody may read.
func (c *ignoreFiles) add(g *ignores, at spot, real, path string, budget *int) *ignores {
	f, info, err := at.openRegular()
	if err != nil {
		return g
	}
	defer f.Close()
	if info.Size() > maxIgnore {
		return g
	}
	text, err := readAll(f, info.Size(), maxIgnore)
	if err != nil {
		return g
	}
	own := bytes.Count(text, []byte("\n")) + 1
	lines := own
	if g != nil {
		lines += g.lines
	}
	if *budget -= own; lines > maxPatterns || *budget < 0 {
		return g
	}
	return c.known(&ignores{above: g, at: real, text: string(text), own: own, lines: lines}, path)
}

// known gives what the file at a path says, the same as before where it is.
func (c *ignoreFiles) known(g *ignores, path string) *ignores {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.read[path]
	if before != nil {
		if before.above == g.above && before.text == g.text {
			return before
		}
		c.size -= before.own
	}
	if c.size += g.own; c.size > maxParsed || c.read == nil {
		c.read, c.size = map[string]*ignores{}, g.own
	}
	g.set = policy.ParseIgnore([]byte(g.text))
	c.read[path] = g
	return g
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
	budget := maxParsed
	way := t.paths[p.Root]
	for _, step := range strings.Split(rel, string(filepath.Separator)) {
		next := filepath.Join(way, step)
		if at, err := t.find(policy.Resolved{Real: next, Root: p.Root}, false); err == nil {
			g = t.rules.addExclude(g, at.Root, way, &budget)
			g = t.rules.add(g, spot{Root: at.Root, name: ".gitignore"}, way, filepath.Join(way, ".gitignore"), &budget)
			_ = at.Close()
		}
		if g.match(next, true) {
			return nil
		}
		way = next
	}
	return g
}
