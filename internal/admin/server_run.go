package admin

import (
	"context"
	"fmt"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// restartServer writes the act down before it is done: a restart cancels calls, and
// who looks at a cancelled call later should find out why.
func (a *api) restartServer(ctx context.Context, in *OnSeenServer) (*body[Server], error) {
	err := a.actOnServer(ctx, in, func(s approval.State, who record.Actor) (approval.Change, error) {
		if !s.Server.Runs() {
			return approval.Change{}, notRunning(s.Server)
		}
		return approval.Change{
			SettingsID: s.Settings.ID, Name: s.Server.Name, Made: s.Server.Version,
			Entries: []record.Entry{{
				Time: s.Now, Type: record.TypeServer, Actor: who, Server: s.Server.Name,
				Incarnation: s.Server.Incarnation, SettingsID: s.Settings.ID, Act: &record.Act{What: "restarted"},
			}},
		}, nil
	})
	if err != nil {
		return nil, err
	}
	if err := a.Servers.Restart(in.Name); err != nil {
		return nil, err
	}
	return a.answerServer(in.Name)
}

func (a *api) discoverServer(ctx context.Context, in *OnServer) (*body[Server], error) {
	s, err := a.stateOf(in.Name)
	if err != nil {
		return nil, err
	}
	if !s.Server.Runs() {
		return nil, notRunning(s.Server)
	}
	if err := a.Trust.Discover(ctx, in.Name); err != nil {
		return nil, err
	}
	return a.answerServer(in.Name)
}

func notRunning(s approval.Server) error {
	switch {
	case !s.Named:
		return fault.New(fault.Unavailable, fmt.Sprintf("the server %s does not run: the configuration file no longer names it", s.Name), "name it in the file again")
	case s.Proposal:
		return fault.New(fault.Unavailable, fmt.Sprintf("the server %s does not run: an agent proposed it and nobody enabled it yet", s.Name), "look at what it would run, then enable it")
	}
	return fault.New(fault.Unavailable, fmt.Sprintf("the server %s does not run: it is disabled", s.Name), "enable it first")
}

// Logs are the last lines of a server's standard error, oldest first: foreign text.
type Logs struct {
	Server string   `json:"server"`
	Lines  []string `json:"lines" nullable:"false"`
}

func (a *api) serverLogs(_ context.Context, in *struct {
	OnServer
	Lines int `query:"lines" minimum:"1" maximum:"10000" default:"100"`
},
) (*body[Logs], error) {
	if _, err := a.stateOf(in.Name); err != nil {
		return nil, err
	}
	lines, err := a.Servers.Logs(in.Name, in.Lines)
	if err != nil {
		return nil, err
	}
	if lines == nil {
		lines = []string{}
	}
	return &body[Logs]{Logs{Server: in.Name, Lines: lines}}, nil
}
