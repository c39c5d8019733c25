package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// app is what every command knows: the streams and the global flags.
type app struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string

	json       bool
	dataDir    string
	configPath string
}

// root is the program. first is its first argument: a command that it names is all that
// is made, for agents start some of them often and wait.
func (a *app) root(first string) *cobra.Command {
	c := &cobra.Command{
		Use:   "holdfast",
		Short: "A gate between AI agents and their MCP servers",
		Long: `Holdfast stands between AI agents and their MCP servers. New servers are
quarantined, every approved tool contract is pinned, what changed is held for a
person, and every call goes through one gate.

  holdfast demo      shows it in a minute
  holdfast serve     starts it
  holdfast status    says how it stands

` + exitHelp,
		SilenceErrors: true, SilenceUsage: true,
		Version: version, Args: known, RunE: showHelp,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	f := c.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "print answers and errors as JSON")
	f.StringVar(&a.dataDir, "data-dir", "", "data directory (HOLDFAST_DATA_DIR)")
	f.StringVar(&a.configPath, "config", "", "configuration file (HOLDFAST_CONFIG)")
	c.SetFlagErrorFunc(flagFailure)
	c.SetVersionTemplate("holdfast {{.Version}}\n")
	c.SetHelpCommand(helpCommand(c))
	c.AddCommand(a.commands(first)...)
	return c
}

// commands are all commands, or the one that is named.
func (a *app) commands(first string) []*cobra.Command {
	all := []struct {
		name string
		make func() *cobra.Command
	}{
		{"serve", a.serveCommand},
		{"stdio", a.stdioCommand},
		{"status", a.statusCommand},
		{"doctor", a.doctorCommand},
		{"server", a.serverCommand},
		{"tool", a.toolCommand},
		{"token", a.tokenCommand},
		{"audit", a.auditCommand},
		{"config", a.configCommand},
		{"version", a.versionCommand},
		{"demo", a.demoCommand},
		{"demo-server", a.demoServerCommand},
		{"diff", a.diffCommand},
		{"scan", a.scanCommand},
		{"replay", a.replayCommand},
		{"workspace", a.workspaceCommand},
		{"trust", a.trustCommand},
		{"contract", a.contractCommand},
	}
	var made []*cobra.Command
	for _, c := range all {
		if c.name == first {
			return []*cobra.Command{c.make()}
		}
	}
	for _, c := range all {
		made = append(made, c.make())
	}
	return made
}

// group is a command that only holds others.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: known, RunE: showHelp}
	c.AddCommand(children...)
	help := helpCommand(c) // `holdfast server help` is `holdfast help server`
	help.Hidden = true
	c.AddCommand(help)
	return c
}

func showHelp(c *cobra.Command, _ []string) error { return c.Help() }

// helpCommand is what "help" says; a word that is no command is refused like one.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Say what a command does",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				if c == nil {
					c, rest = root, args
				}
				if len(rest) > 0 {
					return known(c, rest)
				}
				return known(root, args)
			}
			c.InitDefaultHelpFlag() // as --help does, so that both say the same
			return c.Help()
		},
	}
}

// known refuses a word that is no command of a group, and names the nearest one.
func known(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := fmt.Sprintf("`%s --help` lists the commands", c.CommandPath())
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean `%s %s`?", c.CommandPath(), near[0])
	}
	return usage(fmt.Sprintf("%q is not a command of `%s`", args[0], c.CommandPath()), hint)
}

// takes requires exactly the named arguments.
func takes(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return usage(wanted(c, names, len(args)), "usage: "+c.UseLine())
	}
}

// takesSome requires one argument of the name or more.
func takesSome(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usage(wanted(c, []string{name}, 0), "usage: "+c.UseLine())
	}
}

func wanted(c *cobra.Command, names []string, got int) string {
	if len(names) == 0 {
		return fmt.Sprintf("`%s` takes no arguments, %d given", c.CommandPath(), got)
	}
	if got < len(names) {
		return fmt.Sprintf("`%s` needs %s", c.CommandPath(), strings.Join(names[got:], " and "))
	}
	return fmt.Sprintf("`%s` takes only %s, %d given", c.CommandPath(), strings.Join(names, " and "), got)
}

var unknownFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`unknown (?:shorthand )?flag: (?:'.' in )?(-\S+)`) })

// flagFailure says which flag was not understood and names the nearest one.
func flagFailure(c *cobra.Command, err error) error {
	hint := fmt.Sprintf("`%s --help` lists the flags", c.CommandPath())
	m := unknownFlag().FindStringSubmatch(err.Error())
	if m == nil {
		return usage(err.Error(), hint)
	}
	best, least := "", len(m[1])/2
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := fault.Distance(strings.TrimLeft(m[1], "-"), f.Name); d < least && !f.Hidden {
			best, least = f.Name, d
		}
	})
	if best != "" {
		hint = "did you mean --" + best + "?"
	}
	return usage(fmt.Sprintf("`%s` has no flag %s", c.CommandPath(), m[1]), hint)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(map[string]string{"version": version})
			}
			a.printf("holdfast %s\n", version)
			return nil
		},
	}
}

// startHint says how to start the daemon that was not there.
func (a *app) startHint() string { return "start it with `" + a.command("serve") + "`" }

// shellWord quotes a word so that it can be pasted into a shell.
func shellWord(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,~", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
