package admin

import (
	"context"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// toolHistory works from the audit alone, so that what was removed can still be
// looked up; a record that is there with no entries answers with an empty list.
func (a *api) toolHistory(ctx context.Context, in *struct {
	OnTool
	Paging
},
) (*body[Page[AuditEntry]], error) {
	before, err := in.seq()
	if err != nil {
		return nil, err
	}
	f := AuditFilter{Server: in.Name, Name: in.Tool, Types: []record.Type{record.TypeTransition}, Before: before, Limit: in.Limit + 1}
	out := Page[AuditEntry]{Items: []AuditEntry{}}
	for {
		entries, err := a.Audit.Audit(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			f.Before = e.Seq
			if e.Kind != in.Kind {
				continue
			}
			if len(out.Items) == in.Limit {
				out.NextCursor = seqCursor(out.Items[in.Limit-1].Seq)
				return &body[Page[AuditEntry]]{out}, nil
			}
			out.Items = append(out.Items, entryOf(e, false))
		}
		if len(entries) < f.Limit {
			break
		}
	}
	if len(out.Items) == 0 && in.Cursor == "" {
		if _, err := a.find(in.Name, in.Kind, in.Tool); err != nil && fault.KindOf(err) == fault.NotFound {
			return nil, err
		}
	}
	return &body[Page[AuditEntry]]{out}, nil
}
