package workspace

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
)

const maxGlob = 100 // files of one answer

// globbed is the structured result of Glob.
type globbed struct {
	Files     []string `json:"files"`
	LeftOut   int      `json:"left_out"`
	Truncated bool     `json:"truncated"`
}

type dated struct {
	path string
	time int64 // of its content
}

// glob is the tool Glob.
func (s *Server) glob(ctx context.Context, in *judge.GlobInput, paths []policy.Resolved) result {
	if len(paths) == 0 {
		return failure("Nothing was searched: no path was judged.")
	}
	pattern := filepath.ToSlash(in.Pattern)
	if from := judge.GlobRoot(in.Pattern); from != "" {
		pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, filepath.ToSlash(from)), "/")
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if slices.Contains(strings.Split(pattern, "/"), "..") {
		return failure("A pattern holds no \"..\": name the folder in path.")
	}
	m, err := parseMatcher(pattern)
	if err != nil {
		return failure("Nothing was searched: %v.", err)
	}
	var all []dated
	left := 0
	base := paths[0].Real
	err = s.tree.walk(paths[0], func(e *entry) bool {
		if ctx.Err() != nil || e.isIgnored() || strings.EqualFold(e.name, ".git") {
			return false
		}
		folder := e.kind.IsDir()
		if reach, _ := s.o.Policy.Reach(e.real, folder); reach == policy.Hidden {
			left++
			return false
		}
		if folder || !e.kind.IsRegular() {
			return folder
		}
		rel, err := filepath.Rel(base, e.real)
		if err != nil {
			return false
		}
		if !m.match(filepath.ToSlash(rel)) {
			return false
		}
		if !s.o.Policy.Readable(e.real, e.real) {
			left++
			return false
		}
		if now, ok := e.stat(); ok {
			all = append(all, dated{e.real, now.time})
		}
		return false
	})
	switch {
	case ctx.Err() != nil:
		return failure("The search was given up.")
	case err != nil:
		return unopened(s.shown(base), err)
	}
	slices.SortFunc(all, func(a, b dated) int {
		return cmp.Or(cmp.Compare(b.time, a.time), strings.Compare(a.path, b.path))
	})
	g := globbed{Files: []string{}, LeftOut: left, Truncated: len(all) > maxGlob}
	for _, d := range all[:min(len(all), maxGlob)] {
		g.Files = append(g.Files, s.shown(d.path))
	}
	return result{text: listed(g.Files, "No file matches.", g.Truncated, left), structured: g}
}
