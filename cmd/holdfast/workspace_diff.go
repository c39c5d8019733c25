package main

import (
	"bytes"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

// maxDiffLines is how many lines of one file's difference are shown; holdfast workspace
// show ID PATH gives the whole of what it held before.
const maxDiffLines = 200

// printDiffs shows what changed in each file, from before to after, or back. What was not
// kept, is no text or has changed since is passed over: the table says what is known.
func (a *app) printDiffs(w *owned, changes []ledger.Change, back bool) {
	for _, c := range changes {
		before, ok := w.held(c.Before, "")
		after, there := w.held(c.After, c.Path)
		if !ok || !there || bytes.Equal(before, after) {
			continue
		}
		if back {
			before, after = after, before
		}
		name := w.shown(c.Path)
		lines := strings.Split(strings.TrimSuffix(string(diff.Diff(name, before, name, after)), "\n"), "\n")
		a.printf("\n")
		for i, line := range lines[min(1, len(lines)):] { // the first says "diff"
			if i == maxDiffLines {
				a.printf("... and %s\n", plural(len(lines)-1-maxDiffLines, "more line"))
				break
			}
			a.printf("%s\n", a.diffLine(visible(line)))
		}
	}
}

func (a *app) diffLine(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return a.style(green, line)
	case strings.HasPrefix(line, "-"):
		return a.style(red, line)
	}
	return line
}

// held gives a content as it was: from the ledger, or, where the file at path still has
// it, from there. ok is false for what is no text or not to be had.
func (w *owned) held(s ledger.State, path string) (content []byte, ok bool) {
	switch {
	case s.Kind == ledger.Absent:
		return nil, true
	case s.Kind != ledger.File || s.Size > ledger.MaxFile:
		return nil, false
	}
	content, err := w.ledger.Content(s)
	if err != nil && path != "" {
		info, there := os.Lstat(path)
		if there != nil || !info.Mode().IsRegular() || info.Size() != s.Size {
			return nil, false
		}
		content, err = os.ReadFile(path)
	}
	if err != nil || ledger.Describe(content, s.Mode).SHA256 != s.SHA256 || bytes.IndexByte(content, 0) >= 0 {
		return nil, false
	}
	return content, true
}
