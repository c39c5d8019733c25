package admin

import (
	"context"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
)

// SeenTool names a record and the digest of its live contract that a person saw.
type SeenTool struct {
	Kind   string `json:"kind,omitempty" enum:"tool,prompt,template,instructions" default:"tool"`
	Name   string `json:"name"`
	Digest string `json:"digest" pattern:"^sha256:[0-9a-f]{64}$"`
}

func seen(tools []SeenTool) []approval.Seen {
	out := make([]approval.Seen, 0, len(tools))
	for _, t := range tools {
		out = append(out, approval.Seen{Kind: approval.Kind(t.Kind), Name: t.Name, Digest: contract.Digest(t.Digest)})
	}
	return out
}

// ReleasePreview is what a release would approve and what it would leave.
type ReleasePreview struct {
	Server      string `json:"server"`
	Incarnation string `json:"incarnation"`
	Quarantined bool   `json:"quarantined"`
	Approves    []Tool `json:"approves" nullable:"false" doc:"The request names exactly these, with their live digests"`
	Findings    []Tool `json:"findings" nullable:"false" doc:"Have hard findings: approved only if accept_findings names them"`
	Approved    []Tool `json:"approved" nullable:"false" doc:"Approved already, by a scan or before: agents see them after the release"`
	Leaves      []Tool `json:"leaves" nullable:"false" doc:"Blocked, absent, unreadable or changed: stay as they are"`
}

// Release is a person's request to release a server.
type Release struct {
	ExpectedIncarnation string     `json:"expected_incarnation" minLength:"1" maxLength:"200"`
	Tools               []SeenTool `json:"tools" nullable:"false" maxItems:"20000" doc:"Exactly the pending ones that it approves"`
	AcceptFindings      []SeenTool `json:"accept_findings,omitempty" maxItems:"20000"`
}

func (a *api) previewRelease(ctx context.Context, in *OnServer) (*body[ReleasePreview], error) {
	s, err := a.stateOf(in.Name)
	if err != nil {
		return nil, err
	}
	report, err := a.Audit.Report(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	p := approval.PreviewRelease(s, report)
	var approved []approval.Record
	for _, r := range s.Records {
		if r.Status == approval.Approved && !r.Blocked && !r.Absent {
			approved = append(approved, r)
		}
	}
	c := a.Trust.Catalogue()
	return &body[ReleasePreview]{ReleasePreview{
		Server: in.Name, Incarnation: s.Server.Incarnation, Quarantined: s.Server.Quarantined,
		Approves: toolsOf(c, p.Approves), Findings: toolsOf(c, p.Findings), Approved: toolsOf(c, approved), Leaves: toolsOf(c, p.Leaves),
	}}, nil
}

func (a *api) releaseServer(ctx context.Context, in *struct {
	OnServer
	Body Release
},
) (*body[Server], error) {
	report, err := a.Audit.Report(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	r := approval.ReleaseRequest{
		Actor: actorOf(ctx), Incarnation: in.Body.ExpectedIncarnation,
		Tools: seen(in.Body.Tools), AcceptFindings: seen(in.Body.AcceptFindings), Report: report,
	}
	if _, err := a.apply(ctx, in.Name, func(s approval.State) (approval.Change, error) {
		if err := a.stored(s, in.Name); err != nil {
			return approval.Change{}, err
		}
		return approval.Release(s, r)
	}); err != nil {
		return nil, err
	}
	return a.answerServer(in.Name)
}
