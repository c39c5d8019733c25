package admin

import (
	"context"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
)

// switchServer is disable and quarantine: one act without a body.
func (a *api) switchServer(act func(approval.State, record.Actor) (approval.Change, error)) func(context.Context, *OnSeenServer) (*body[Server], error) {
	return func(ctx context.Context, in *OnSeenServer) (*body[Server], error) {
		if err := a.actOnServer(ctx, in, act); err != nil {
			return nil, err
		}
		return a.answerServer(in.Name)
	}
}

// enableServer takes the digest of what a person saw that would be run: a proposal
// is enabled with nothing less.
func (a *api) enableServer(ctx context.Context, in *struct {
	OnSeenServer
	ExpectedProgram string `query:"expected_program" maxLength:"71" doc:"program_digest as it was seen. Required for a proposal; refused with review_out_of_date when it is another by now"`
},
) (*body[Server], error) {
	err := a.actOnServer(ctx, &in.OnSeenServer, func(s approval.State, who record.Actor) (approval.Change, error) {
		return approval.Enable(s, approval.EnableRequest{Actor: who, Program: contract.Digest(in.ExpectedProgram), Mask: a.Mask})
	})
	if err != nil {
		return nil, err
	}
	return a.answerServer(in.Name)
}

func (a *api) removeServer(ctx context.Context, in *OnSeenServer) (*struct{}, error) {
	return nil, a.actOnServer(ctx, in, approval.Remove)
}

func (a *api) actOnServer(ctx context.Context, in *OnSeenServer, act func(approval.State, record.Actor) (approval.Change, error)) error {
	_, err := a.apply(ctx, in.Name, func(s approval.State) (approval.Change, error) {
		if err := a.stored(s, in.Name); err != nil {
			return approval.Change{}, err
		}
		if err := expect(s, in.ExpectedIncarnation); err != nil {
			return approval.Change{}, err
		}
		return act(s, actorOf(ctx))
	})
	return err
}
