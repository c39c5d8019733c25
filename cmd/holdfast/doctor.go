package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Say what is wrong or risky with the running Holdfast, and what to do", Args: takes(),
		Long: `Say what is wrong or risky with the running Holdfast, worst first, and what to do
about each. It reads everything, the whole audit too, and changes nothing. The exit
code is 1 while there is a problem or a warning; notes are none.`,
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			var d admin.Doctor
			if err := cl.do(c.Context(), http.MethodGet, "/api/v1/doctor", nil, &d); err != nil {
				return err
			}
			if a.json {
				if err := a.printJSON(d); err != nil {
					return err
				}
			} else {
				a.printDoctor(d)
			}
			if d.Healthy {
				return nil
			}
			n := 0
			for _, f := range d.Findings {
				if f.Level != "note" {
					n++
				}
			}
			return fail(exitFailed, fault.Unavailable, fmt.Sprintf("%s to look at", plural(n, "finding")), "")
		},
	}
}

func (a *app) printDoctor(d admin.Doctor) {
	codes := map[string]string{"problem": red, "warning": yellow, "note": dim}
	for _, f := range d.Findings {
		a.printf("%s%s\n", a.style(codes[f.Level], fmt.Sprintf("%-9s", f.Level)), hang("         ", visible(f.Sentence))[9:])
		if f.Fix != "" {
			a.printf("%s\n", hang("         ", visible(f.Fix)))
		}
	}
	if d.Healthy {
		a.printf("Nothing is wrong.\n")
	}
}
