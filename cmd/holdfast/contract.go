package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

func (a *app) contractCommand() *cobra.Command {
	return group("contract", "Check, show and begin a project's file contract",
		a.contractCheckCommand(), a.contractShowCommand(), a.contractInitCommand())
}

// contractReading is a command that reads the contracts and tells of them.
func (a *app) contractReading(use, short string, tell func([]policy.ContractSpec)) *cobra.Command {
	var at place
	c := &cobra.Command{
		Use: use, Short: short, Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			specs, err := a.contracts(at)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(viewContracts(specs))
			}
			tell(specs)
			return nil
		},
	}
	at.at(c.Flags())
	return c
}

func (a *app) contractCheckCommand() *cobra.Command {
	return a.contractReading("check", "Check the contracts of the project and of the user", func(specs []policy.ContractSpec) {
		if len(specs) == 0 {
			a.printf("There is no contract here.\n")
		}
		for _, s := range specs {
			a.printf("%s is right: %s.\n", visible(s.At.File), plural(len(s.Rules), "rule"))
		}
	})
}

func (a *app) contractShowCommand() *cobra.Command {
	return a.contractReading("show", "Show what the contracts say", func(specs []policy.ContractSpec) {
		if len(specs) == 0 {
			a.printf("There is no contract here; `holdfast contract init` begins one.\n")
		}
		for n, s := range specs {
			if n > 0 {
				a.printf("\n")
			}
			a.showContract(s)
		}
	})
}

func (a *app) showContract(s policy.ContractSpec) {
	a.printf("%s (%s)\n", visible(s.At.File), s.At.Layer)
	rows := [][]string{}
	for _, r := range s.Rules {
		why := r.Reason
		if r.Owner != "" {
			why = fmt.Sprintf("%s (%s)", why, r.Owner)
		}
		rows = append(rows, []string{fmt.Sprint(r.Line), visible(r.Glob), dash(r.Axes.Read), dash(r.Axes.Write), dash(r.Axes.Execute), visible(why)})
	}
	if d := s.Defaults; d != (policy.Axes{}) {
		rows = append(rows, []string{"", "what no rule names", dash(d.Read), dash(d.Write), dash(d.Execute), ""})
	}
	if len(rows) == 0 {
		a.printf("says nothing.\n")
		return
	}
	a.table([]string{"LINE", "GLOB", "READ", "WRITE", "EXECUTE", "WHY"}, rows)
}

func (a *app) contractInitCommand() *cobra.Command {
	var at place
	c := &cobra.Command{
		Use: "init", Short: "Begin a contract in the project", Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			path, err := settings.InitContract(at.dir)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"file": path})
			}
			a.printf("Written: %s\nEdit it, then run `holdfast contract check`.\n", visible(path))
			return nil
		},
	}
	c.Flags().StringVarP(&at.dir, "dir", "C", ".", "the project directory")
	return c
}

// contracts reads the contracts that count here.
func (a *app) contracts(at place) ([]policy.ContractSpec, error) {
	o, err := a.options(at)
	if err != nil {
		return nil, err
	}
	specs, err := settings.ReadContracts(o)
	if err == nil && !a.json {
		a.noteOuter(o.Dir, o.Home)
	}
	return specs, err
}

// contractView is a contract with --json.
type contractView struct {
	File     string             `json:"file"`
	Layer    string             `json:"layer"`
	Defaults axesView           `json:"defaults"`
	Rules    []contractRuleView `json:"rules"`
}

type axesView struct {
	Read    string `json:"read,omitempty"`
	Write   string `json:"write,omitempty"`
	Execute string `json:"execute,omitempty"`
}

type contractRuleView struct {
	Line int    `json:"line"`
	Glob string `json:"glob"`
	axesView
	Owner  string `json:"owner,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func viewContracts(specs []policy.ContractSpec) []contractView {
	views := []contractView{}
	for _, s := range specs {
		v := contractView{File: s.At.File, Layer: s.At.Layer.String(), Defaults: viewAxes(s.Defaults), Rules: []contractRuleView{}}
		for _, r := range s.Rules {
			v.Rules = append(v.Rules, contractRuleView{r.Line, r.Glob, viewAxes(r.Axes), r.Owner, r.Reason})
		}
		views = append(views, v)
	}
	return views
}

func viewAxes(x policy.Axes) axesView {
	return axesView{effectWord(x.Read), effectWord(x.Write), effectWord(x.Execute)}
}

// effectWord is an effect as a contract writes it; empty for no opinion.
func effectWord(e policy.Effect) string {
	switch e {
	case policy.Allow:
		return "allow"
	case policy.Ask:
		return "ask"
	case policy.Deny:
		return "deny"
	case policy.NoEffect:
	}
	return ""
}

func dash(e policy.Effect) string {
	if word := effectWord(e); word != "" {
		return word
	}
	return "-"
}

func placeText(p policy.Place) string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return p.File
}
