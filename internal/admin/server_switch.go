package admin

import (
	"context"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
)

// switchServer is enable, disable and quarantine: one act without a body.
func (a *api) switchServer(act func(approval.State, record.Actor) (approval.Change, error)) func(context.Context, *OnSeenServer) (*body[Server], error) {
	return func(ctx context.Context, in *OnSeenServer) (*body[Server], error) {
		if err := a.actOnServer(ctx, in, act); err != nil {
			return nil, err
		}
		return a.answerServer(in.Name)
	}
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
