package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// noteOffer tells that a tool would not be offered here, whatever is decided on a call of
// it: decisions take the sandbox as working.
func (a *app) noteOffer(ctx context.Context, s *settings.Settings, tool string) {
	w := &openedWorkspace{settings: s}
	ok, why := true, ""
	switch tool {
	case "Bash", "BashOutput", "KillShell":
		if err := w.chooseShell(ctx, workspace.Confinement(s, os.Environ())); err != nil {
			return
		}
		ok, why = w.shell.Offered()
	case "Grep":
		w.chooseSearch(os.Environ())
		ok, why = w.search.Offered()
	}
	if !ok {
		a.notef("%s would not be offered here now, whatever is decided: %s.\n", tool, visible(strings.TrimSuffix(why, ".")))
	}
}

// quotedWord is a word of a part that holds blanks or quotes.
var quotedWord = regexp.MustCompile(`'[^']*'`)

// noteMasked tells of files and folders that an allowed command names, as a word of its
// own, and that it will not find, or not write, in the sandbox. What a word is for is not
// known; what is told of the path is true whatever the command does with it.
func (a *app) noteMasked(v judge.Verdict, tool string) {
	if tool != "Bash" || !v.Allowed() {
		return
	}
	p, err := v.Settings.Policy(true)
	if err != nil {
		return
	}
	var told []string
	for _, part := range v.Parts {
		for _, word := range strings.Fields(quotedWord.ReplaceAllString(part.Text, "'")) {
			if strings.ContainsRune(word, '\'') {
				continue
			}
			path := word
			if !filepath.IsAbs(path) {
				path = filepath.Join(v.Settings.Dir, path)
			}
			info, err := os.Stat(path)
			real, failed := settings.Disk{}.Real(path)
			if err != nil || failed != nil || !inAny(real, v.Settings.Roots) || slices.Contains(told, real) {
				continue
			}
			switch reach, _ := p.Reach(real, info.IsDir()); reach {
			case policy.Hidden:
				a.notef("In the sandbox %s can't be read: a contract or a deny rule keeps it from that.\n", visible(word))
			case policy.ReadOnly:
				a.notef("In the sandbox %s is read-only: it is protected, or a contract or a deny rule keeps it from being written.\n", visible(word))
			case policy.Writable:
				continue
			}
			told = append(told, real)
		}
	}
}
