package workspace

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
)

// Tools is the one catalogue of a workspace: what is offered, approved by being part of
// this program. It never changes, so it is always fresh.
type Tools struct {
	name      string
	catalogue *dispatch.Catalogue
	absent    map[string]string // why a tool is not offered
}

// Tools gives the catalogue of the server, for the desk and the face.
func (s *Server) Tools() *Tools { return s.tools }

// Catalogue gives the catalogue.
func (t *Tools) Catalogue() *dispatch.Catalogue { return t.catalogue }

// Fresh is nil: this program can't offer other tools than it does.
func (t *Tools) Fresh(context.Context, string) error { return nil }

// Lost names the tools that are offered, and why this one is not where it could be.
func (t *Tools) Lost(name string, offered []string) string {
	remedy := "The tools here are " + strings.Join(offered, ", ") + "."
	if why := t.absent[name]; why != "" {
		remedy += " " + name + " is not offered here: " + strings.TrimSuffix(why, ".") + "."
	}
	return remedy
}

// Apply refuses every act: nobody approves or changes anything here.
func (t *Tools) Apply(context.Context, string, func(approval.State) (approval.Change, error)) (approval.Change, error) {
	return approval.Change{}, errors.New("the tools of a workspace can't be changed")
}

func (t *Tools) entry(tool string) dispatch.Entry {
	e, _ := t.catalogue.Find(approval.Key{Server: t.name, Kind: approval.Tool, Name: tool})
	return e
}

// catalogue lists what is offered.
func (s *Server) catalogue(shell, search bool) *Tools {
	var records []approval.Record
	absent := map[string]string{}
	for _, d := range judge.Definitions() {
		switch d.Name {
		case "Bash", "BashOutput", "KillShell":
			if !shell {
				absent[d.Name] = s.o.Shell.why
				continue
			}
		case "Grep":
			if !search {
				absent[d.Name] = s.o.Search.why
				continue
			}
		}
		c := contract.Parse(d.Raw)
		s.held[d.Name] = c.Digest()
		records = append(records, approval.Record{
			Key:    approval.Key{Server: s.o.Name, Kind: approval.Tool, Name: d.Name},
			Status: approval.Approved, Approved: c, Live: c,
		})
	}
	server := approval.Server{Name: s.o.Name, Incarnation: s.o.Session, Version: 1, Named: true, Enabled: true}
	settings := approval.Settings{ID: "workspace", Unannotated: contract.Destructive}
	return &Tools{s.o.Name, dispatch.NewCatalogue(settings, []approval.Server{server}, records), absent}
}

// digest is what is offered under a name, for permits.
func (s *Server) digest(kind approval.Kind, name string) contract.Digest {
	if kind != approval.Tool {
		return ""
	}
	return s.held[name]
}

// sameArguments reports whether the params of a call hold these arguments, byte for
// byte. A call without arguments holds {}.
func sameArguments(params, arguments []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(params))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	found := []byte("{}")
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return false
		}
		name := key.String()
		v, err := d.ReadValue()
		if err != nil {
			return false
		}
		if name == "arguments" {
			found = bytes.Clone(v)
		}
	}
	return bytes.Equal(found, arguments)
}
