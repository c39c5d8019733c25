package admin

import (
	"context"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// ToolFilter selects records; empty fields select everything.
type ToolFilter struct {
	Server string `query:"server" maxLength:"32"`
	Kind   string `query:"kind" enum:"tool,prompt,template,instructions"`
	Status string `query:"status" enum:"pending,approved,changed,ready,waiting,blocked,absent,review" doc:"A status, or a condition beside it; review: what waits for a person"`
	Query  string `query:"query" maxLength:"200" doc:"Found in name, title or description, whatever the case"`
}

func (f ToolFilter) keeps(t Tool) bool {
	if (f.Server != "" && t.Server != f.Server) || (f.Kind != "" && t.Kind != f.Kind) {
		return false
	}
	if f.Query != "" && !strings.Contains(strings.ToLower(t.Name+"\n"+t.Title+"\n"+t.Text), strings.ToLower(f.Query)) {
		return false
	}
	switch f.Status {
	case "":
		return true
	case "ready":
		return t.Ready
	case "waiting":
		return t.Waiting
	case "blocked":
		return t.Blocked
	case "absent":
		return t.Absent
	case "review":
		return t.InReview
	}
	return t.Status == f.Status
}

func (a *api) listTools(_ context.Context, in *struct {
	Paging
	ToolFilter
},
) (*body[Page[Tool]], error) {
	c := a.Trust.Catalogue()
	if _, ok := c.Server(in.Server); in.Server != "" && !ok {
		return nil, noServer(c, in.Server)
	}
	var all []keyed[Tool]
	each(c, func(t Tool) {
		if in.keeps(t) {
			all = append(all, keyed[Tool]{key(t.Server, t.Kind, t.Name), t})
		}
	})
	p, err := page(in.Paging, all)
	return &body[Page[Tool]]{p}, err
}

func (a *api) reviewQueue(_ context.Context, in *struct {
	Paging
	Server string `query:"server" maxLength:"32"`
},
) (*body[Page[Tool]], error) {
	c := a.Trust.Catalogue()
	var all []keyed[Tool]
	each(c, func(t Tool) {
		if t.InReview && (in.Server == "" || t.Server == in.Server) {
			all = append(all, keyed[Tool]{key(danger(t), t.Server, t.Kind, t.Name), t})
		}
	})
	p, err := page(in.Paging, all)
	return &body[Page[Tool]]{p}, err
}

// danger orders the queue: what a scan called dangerous, then what agents lost
// because it changed, then updates that wait, then what nobody ever approved.
func danger(t Tool) string {
	switch {
	case t.Held != nil && t.Held.Verdict.Outcome == "dangerous":
		return "0"
	case t.Status == "changed":
		return "1"
	case t.Waiting:
		return "2"
	}
	return "3"
}

func each(c *dispatch.Catalogue, f func(Tool)) {
	for _, s := range c.Servers() {
		for _, e := range c.Entries(s.Name) {
			f(toolOf(e))
		}
	}
}

func (a *api) getTool(_ context.Context, in *OnTool) (*body[Tool], error) {
	e, err := a.find(in.Name, in.Kind, in.Tool)
	if err != nil {
		return nil, err
	}
	return &body[Tool]{toolOf(e)}, nil
}
