package admin

import (
	"context"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Review is what a person looks at before deciding: why it is held, and both
// contracts as their server sent them. An act names Incarnation and Tool.Digest.
type Review struct {
	Tool     Tool      `json:"tool"`
	Live     Contract  `json:"live" doc:"What an approval approves"`
	Approved *Contract `json:"approved,omitempty" doc:"What agents were or are given"`
	Anchor   *Contract `json:"anchor,omitempty" doc:"The last that a person approved, where it is another than approved"`
	AnchorBy *Grant    `json:"anchor_by,omitempty"`
	Declined string    `json:"declined_digest,omitempty"`

	LiveClass string `json:"live_class" enum:"read,write,destructive" doc:"What a caller has to be permitted to do once the live definition is approved"`

	Lines       []ReviewLine `json:"lines,omitempty" doc:"What changed since it was approved, line by line: what is held first"`
	AnchorLines []ReviewLine `json:"anchor_lines,omitempty" doc:"The same since the anchor, where that is another contract"`

	CanApprove bool   `json:"can_approve"`
	CanDismiss bool   `json:"can_dismiss"`
	WhyNot     string `json:"why_not,omitempty" doc:"Why it can't be approved"`
}

// Contract is one definition. Text is exactly what the server sent, foreign text;
// bytes that are no UTF-8 are shown as U+FFFD, and Exact is false then.
type Contract struct {
	Digest  string `json:"digest"`
	Text    string `json:"text"`
	Exact   bool   `json:"exact"`
	Problem string `json:"problem,omitempty" doc:"Why it can't be read"`
}

func contractOf(c contract.Contract) Contract {
	return Contract{Digest: string(c.Digest()), Text: string(c.Raw()), Exact: utf8.Valid(c.Raw()), Problem: c.Problem()}
}

func optionalContract(c contract.Contract) *Contract {
	if c.IsZero() {
		return nil
	}
	v := contractOf(c)
	return &v
}

func (a *api) reviewTool(_ context.Context, in *OnTool) (*body[Review], error) {
	e, err := a.find(in.Name, in.Kind, in.Tool)
	if err != nil {
		return nil, err
	}
	r := e.Record
	v := Review{
		Tool: toolOf(e), Live: contractOf(r.Live), Approved: optionalContract(r.Approved),
		Declined: string(r.Declined), Lines: linesOf(a.Trust.Catalogue(), in.Kind, r.Approved, r.Live), CanApprove: r.Live.Parsable(), CanDismiss: r.Waiting(),
	}
	if !r.Anchor.IsZero() && !r.Anchor.Equal(r.Approved) {
		v.Anchor, v.AnchorBy = optionalContract(r.Anchor), grantOf(r.AnchorBy)
		v.AnchorLines = linesOf(a.Trust.Catalogue(), in.Kind, r.Anchor, r.Live)
	}
	v.LiveClass = contract.Read.String() // everything but a tool is read
	if r.Key.Kind == approval.Tool {
		v.LiveClass = r.Live.Class(a.Trust.Catalogue().Settings().Unannotated).String()
	}
	if !v.CanApprove {
		v.WhyNot = "the live definition can't be read: " + r.Live.Problem()
	}
	return &body[Review]{v}, nil
}

// Decision is a person's act on tools of one server, all or none.
type Decision struct {
	ExpectedIncarnation string     `json:"expected_incarnation" minLength:"1" maxLength:"200" doc:"Of the server that the person saw"`
	Tools               []SeenTool `json:"tools" nullable:"false" minItems:"1" maxItems:"20000" doc:"With the digests that the person saw"`
}

// Decided is how the tools stand after an act.
type Decided struct {
	Items []Tool `json:"items" nullable:"false"`
}

func (a *api) decide(act func(approval.State, approval.ReviewRequest) (approval.Change, error)) func(context.Context, *decideInput) (*body[Decided], error) {
	return func(ctx context.Context, in *decideInput) (*body[Decided], error) {
		// What the last security scan showed counts as seen, as what a pass showed does.
		report, err := a.Audit.Report(ctx, in.Name)
		if err != nil {
			return nil, err
		}
		r := approval.ReviewRequest{Report: report, Actor: actorOf(ctx), Incarnation: in.Body.ExpectedIncarnation, Tools: seen(in.Body.Tools)}
		for _, t := range r.Tools {
			if _, err := a.find(in.Name, string(t.Kind), t.Name); err != nil {
				return nil, err
			}
		}
		if _, err := a.apply(ctx, in.Name, func(s approval.State) (approval.Change, error) { return act(s, r) }); err != nil {
			return nil, err
		}
		out := Decided{Items: []Tool{}}
		for _, t := range r.Tools {
			e, err := a.find(in.Name, string(t.Kind), t.Name)
			if err != nil {
				continue // removed since by somebody else; the act is done
			}
			out.Items = append(out.Items, toolOf(e))
		}
		return &body[Decided]{out}, nil
	}
}

type decideInput struct {
	OnServer
	Body Decision
}

// NamedTool names a record.
type NamedTool struct {
	Kind string `json:"kind,omitempty" enum:"tool,prompt,template,instructions" default:"tool"`
	Name string `json:"name"`
}

// Block names the tools to block. It takes no digest: a server that changes its
// tools on every listing must not be able to keep a person from blocking them.
type Block struct {
	ExpectedIncarnation string      `json:"expected_incarnation" minLength:"1" maxLength:"200"`
	Tools               []NamedTool `json:"tools" nullable:"false" minItems:"1" maxItems:"20000"`
}

func (a *api) blockTools(ctx context.Context, in *struct {
	OnServer
	Body Block
},
) (*body[Decided], error) {
	d := decideInput{OnServer: in.OnServer, Body: Decision{ExpectedIncarnation: in.Body.ExpectedIncarnation}}
	for _, t := range in.Body.Tools {
		d.Body.Tools = append(d.Body.Tools, SeenTool{Kind: t.Kind, Name: t.Name})
	}
	return a.decide(approval.Block)(ctx, &d)
}
