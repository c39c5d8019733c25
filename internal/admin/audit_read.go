package admin

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

const exportPath = "/api/v1/audit/export"

func (a *api) auditRoutes() {
	route(a, "list-audit", http.MethodGet, "/api/v1/audit", "List audit entries, newest first", a.listAudit)
	route(a, "get-audit-entry", http.MethodGet, "/api/v1/audit/entries/{seq}", "Get one entry with its contracts in full", a.getEntry)
	route(a, "verify-audit", http.MethodGet, "/api/v1/audit/verify", "Recompute the hash chain", a.verifyAudit)
}

func (a *api) listAudit(ctx context.Context, in *struct {
	Paging
	Server string    `query:"server" maxLength:"32"`
	Name   string    `query:"name" maxLength:"1000" doc:"Of a tool, prompt or template"`
	Type   []string  `query:"type" enum:"transition,server,settings,token,call.intent,call.outcome,call.refused,pass"`
	Since  time.Time `query:"since"`
	Until  time.Time `query:"until"`
	Query  string    `query:"query" maxLength:"200" doc:"Found anywhere in the entry"`
},
) (*body[Page[AuditEntry]], error) {
	before, err := in.seq()
	if err != nil {
		return nil, err
	}
	f := AuditFilter{
		Server: in.Server, Name: in.Name, Since: in.Since, Until: in.Until, Text: in.Query,
		Before: before, Limit: in.Limit + 1,
	}
	for _, t := range in.Type {
		f.Types = append(f.Types, record.Type(t))
	}
	entries, err := a.Audit.Audit(ctx, f)
	if err != nil {
		return nil, err
	}
	out := Page[AuditEntry]{Items: []AuditEntry{}}
	for _, e := range entries {
		if len(out.Items) == in.Limit {
			out.NextCursor = seqCursor(out.Items[in.Limit-1].Seq)
			break
		}
		out.Items = append(out.Items, entryOf(e, false))
	}
	return &body[Page[AuditEntry]]{out}, nil
}

func seqCursor(seq int64) string { return cursorOf(strconv.FormatInt(seq, 10)) }

// seq reads the cursor of a list of audit entries.
func (p Paging) seq() (int64, error) {
	if p.Cursor == "" {
		return 0, nil
	}
	text, err := p.after()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fault.New(fault.BadInput, "the cursor is not one of this list", "start without a cursor")
	}
	return n, nil
}

func (a *api) getEntry(ctx context.Context, in *struct {
	Seq int64 `path:"seq" minimum:"1"`
},
) (*body[AuditEntry], error) {
	e, err := a.Audit.Entry(ctx, in.Seq)
	if err != nil {
		return nil, err
	}
	v := entryOf(e, true)
	if t := e.Transition; t != nil && !t.New.Contract.IsZero() {
		v.Transition.Lines = linesOf(a.Trust.Catalogue(), e.Kind, t.Old.Contract, t.New.Contract)
	}
	return &body[AuditEntry]{v}, nil
}

// Verified is what recomputing the chain found.
type Verified struct {
	OK      bool   `json:"ok"`
	Entries int64  `json:"entries"`
	Head    string `json:"head" doc:"Hash of the last entry, hexadecimal"`
	BadSeq  int64  `json:"bad_seq,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func (a *api) verifyAudit(ctx context.Context, _ *struct{}) (*body[Verified], error) {
	c, err := a.Audit.Verify(ctx)
	if err != nil {
		return nil, err
	}
	return &body[Verified]{Verified{
		OK: c.BadSeq == 0 && c.Problem == "", Entries: c.Entries, Head: hex.EncodeToString(c.Head[:]), BadSeq: c.BadSeq, Problem: c.Problem,
	}}, nil
}

// exportRoute streams; the framework would hold the whole audit in memory.
func (a *api) exportRoute(mux *http.ServeMux) {
	mux.HandleFunc("GET "+exportPath, func(w http.ResponseWriter, r *http.Request) {
		from := int64(1)
		for name, values := range r.URL.Query() {
			n, err := strconv.ParseInt(values[0], 10, 64)
			if name != "from" || err != nil || n < 1 {
				writeProblem(w, r, fault.New(fault.BadInput, fmt.Sprintf("the parameter %q is not understood", name), "give from=SEQ, a number from 1 on"))
				return
			}
			from = n
		}
		w.Header().Set("Content-Type", "application/jsonl")
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		err := a.Audit.Walk(r.Context(), from, func(e record.Entry) error { return out.Encode(entryOf(e, true)) })
		if err != nil && r.Context().Err() == nil {
			a.Log.Error("the export of the audit broke off", "request", requestID(r.Context()), "err", err)
			panic(http.ErrAbortHandler) // so that a cut-off export does not look whole
		}
	})
}

// describeExport puts the streamed route into the document.
func (a *api) describeExport() {
	one := 1.0
	a.huma.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "export-audit", Method: http.MethodGet, Path: exportPath, Tags: []string{"audit"},
		Summary: "Every entry with its contracts in full, oldest first, one JSON object a line",
		Parameters: []*huma.Param{{
			Name: "from", In: "query", Description: "First sequence number",
			Schema: &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &one},
		}},
		Responses: map[string]*huma.Response{"200": {
			Description: "JSON lines", Content: map[string]*huma.MediaType{"application/jsonl": {}},
		}},
	})
}
