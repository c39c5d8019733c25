package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

func (a *app) workspaceCheckCommand() *cobra.Command {
	var at place
	var mode string
	var dirs []string
	var hooks bool
	c := &cobra.Command{
		Use: "check TOOL ARGS", Short: "Explain what would be decided on a call, and run nothing",
		Long: `Judges one call as a server started here would, with the sandbox taken as
working, and runs nothing (hooks only with --hooks). ARGS is the call's arguments
as JSON text, or - for standard input:

  holdfast workspace check Bash '{"command": "npm test && git push"}'

Whether Bash and Grep would be offered here at all is noted beside it; for that the
sandbox is tried, with no command of yours. Exits with 0 when the call would be allowed, 1 when it would be refused, and 2
when a server would not start. With --json it prints one line.`,
		Args: takes("TOOL", "ARGS"),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := a.options(at)
			if err != nil {
				return err
			}
			o.Mode, o.AddDirs = mode, dirs
			text := []byte(args[1])
			if args[1] == "-" {
				if text, err = io.ReadAll(io.LimitReader(a.in, judge.MaxArguments+1)); err != nil {
					return fail(exitFailed, fault.BadInput, "standard input can't be read: "+plain(err), "")
				}
			}
			v := judge.Check(c.Context(), o, hooks, args[0], text)
			if err := a.printVerdict(args[0], v); err != nil {
				return err
			}
			if v.Stage == string(policy.StageArguments) && !strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
				a.notef("Arguments are JSON, as in: holdfast workspace check Bash '{\"command\": \"npm test\"}'\n")
			}
			if !a.json && v.Starts() {
				a.noteOffer(c.Context(), v.Settings, args[0])
				a.noteMasked(v, args[0])
			}
			if s := v.Settings; s != nil && !hooks && len(s.Hooks) > 0 && !s.HooksOff {
				a.notef("Hooks were not asked (%s); --hooks runs them.\n", plural(len(s.Hooks), "hook"))
			}
			switch {
			case !v.Starts():
				return errNoStart
			case !v.Allowed():
				return errFound
			}
			return nil
		},
	}
	f := c.Flags()
	at.at(f)
	at.managedAt(f)
	f.StringVar(&mode, "mode", "", "the mode that the server is started with")
	f.StringArrayVar(&dirs, "add-dir", nil, "an additional directory; may be given again")
	f.BoolVar(&hooks, "hooks", false, "run the hooks too")
	return c
}

// printVerdict prints one line of JSON, or an explanation for people.
func (a *app) printVerdict(tool string, v judge.Verdict) error {
	if a.json {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return err
		}
		_, err := io.WriteString(a.out, plainJSON(b.String()))
		return err
	}
	word := a.style(green, "allowed")
	switch {
	case !v.Starts():
		word = a.style(red, "no start")
	case v.Stage == "ask":
		word = a.style(yellow, "refused, for somebody would have to be asked")
	case !v.Allowed():
		word = a.style(red, "refused")
	}
	a.printf("%s: %s [%s]\n", visible(tool), word, v.Stage)
	a.printf("%s\n", paragraph(v.Reason))
	where := ""
	if v.File != nil {
		where = *v.File
		if v.Line != nil {
			where += fmt.Sprintf(":%d", *v.Line)
		}
	}
	remedy := orEmpty(v.Remedy)
	if strings.HasSuffix(v.Reason, remedy) {
		remedy = ""
	}
	a.fields("rule", visible(orEmpty(v.Rule)), "in", visible(where), "layer", orEmpty(v.Layer), "to do", paragraph(remedy))
	if len(v.Parts) > 1 {
		var rows [][]string
		for _, p := range v.Parts {
			rows = append(rows, []string{p.Decision, visible(orEmpty(p.Rule)), visible(p.Text)})
		}
		a.printf("\n")
		a.table([]string{"DECISION", "RULE", "PART"}, rows)
	}
	if v.Settings != nil {
		a.noteSettings(v)
	}
	return nil
}

// noteSettings tells under what the decision was made, where that may surprise.
func (a *app) noteSettings(v judge.Verdict) {
	s := v.Settings
	a.notef("%s: mode %s, %s\n", visible(s.Dir), s.Mode, trustWord(s.Trusted))
	if s.Clamp.From != "" {
		a.notef("%s in %s:%d counts as %s: nobody is here to watch; --mode is the way out\n", s.Clamp.From, visible(s.Clamp.At.File), s.Clamp.At.Line, s.Clamp.To)
	}
	a.noteOuter(s.Dir, s.Home)
	for _, line := range slices.Concat(s.Ignored, s.MatcherCautions(), s.HookCautions()) {
		a.notef("%s\n", paragraph(visible(line)))
	}
}

// noteOuter tells of rules above a folder that do not count in it.
func (a *app) noteOuter(dir, home string) {
	if note := settings.OuterNote(dir, home); note != "" {
		a.notef("%s\n", paragraph(visible(note)))
	}
}

func trustWord(trusted bool) string {
	if trusted {
		return "trusted"
	}
	return "not trusted"
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
