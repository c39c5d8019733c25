package admin

import (
	"context"
	"crypto/rand"
	"maps"

	"github.com/holdfast-mcp/holdfast/core/approval"
)

// PatchServer changes only what it names. In env and headers a name with null is
// taken away, and what is not named stays: a masked value that was read is never
// to be sent back.
type PatchServer struct {
	ExpectedIncarnation string        `json:"expected_incarnation" minLength:"1" maxLength:"200"`
	Program             *PatchProgram `json:"program,omitempty" doc:"Changing what is run gives a new incarnation"`
	Options             *PatchOptions `json:"options,omitempty"`
}

// PatchProgram is a change of what is run.
type PatchProgram struct {
	Type      *string            `json:"type,omitempty" enum:"stdio,http"`
	Command   *string            `json:"command,omitempty"`
	Args      []string           `json:"args,omitempty"`
	Cwd       *string            `json:"cwd,omitempty"`
	URL       *string            `json:"url,omitempty"`
	Isolation *string            `json:"isolation,omitempty"`
	Env       map[string]*string `json:"env,omitempty"`
	Headers   map[string]*string `json:"headers,omitempty"`
}

// PatchOptions is a change of the options; an empty value is the default again.
type PatchOptions struct {
	TrustMode     *string  `json:"trust_mode,omitempty"`
	OnHold        *string  `json:"on_hold,omitempty"`
	EnabledTools  []string `json:"enabled_tools,omitempty"`
	DisabledTools []string `json:"disabled_tools,omitempty"`
	Timeout       *string  `json:"timeout,omitempty"`
	MaxConcurrent *int     `json:"max_concurrent,omitempty" minimum:"0" maximum:"10000"`
}

func (a *api) patchServer(ctx context.Context, in *struct {
	OnServer
	Body PatchServer
},
) (*body[Server], error) {
	incarnation := rand.Text()
	_, err := a.apply(ctx, in.Name, func(s approval.State) (approval.Change, error) {
		if err := a.stored(s, in.Name); err != nil {
			return approval.Change{}, err
		}
		if err := expect(s, in.Body.ExpectedIncarnation); err != nil {
			return approval.Change{}, err
		}
		r := approval.EditRequest{Actor: actorOf(ctx), Incarnation: incarnation, Mask: a.Mask}
		if p := in.Body.Program; p != nil {
			program := p.on(s.Server.Program)
			if err := checkProgram(&program); err != nil {
				return approval.Change{}, err
			}
			r.Program = &program
		}
		if p := in.Body.Options; p != nil {
			options, err := optionsOf(p.on(PreferencesOf(s.Server.Options)))
			if err != nil {
				return approval.Change{}, err
			}
			r.Options = &options
		}
		return approval.Edit(s, r)
	})
	if err != nil {
		return nil, err
	}
	return a.answerServer(in.Name)
}

func (p *PatchProgram) on(was approval.Program) approval.Program {
	set(&was.Type, p.Type)
	set(&was.Command, p.Command)
	set(&was.Cwd, p.Cwd)
	set(&was.URL, p.URL)
	set(&was.Isolation, p.Isolation)
	if p.Args != nil {
		was.Args = p.Args
	}
	was.Env, was.Headers = merged(was.Env, p.Env), merged(was.Headers, p.Headers)
	return was
}

func (p *PatchOptions) on(was Preferences) Preferences {
	set(&was.TrustMode, p.TrustMode)
	set(&was.OnHold, p.OnHold)
	set(&was.Timeout, p.Timeout)
	set(&was.MaxConcurrent, p.MaxConcurrent)
	if p.EnabledTools != nil {
		was.EnabledTools = p.EnabledTools
	}
	if p.DisabledTools != nil {
		was.DisabledTools = p.DisabledTools
	}
	return was
}

func set[T any](field *T, v *T) {
	if v != nil {
		*field = *v
	}
}

// merged leaves the stored map as it is: the state is a value.
func merged(was map[string]string, change map[string]*string) map[string]string {
	if len(change) == 0 {
		return was
	}
	m := maps.Clone(was)
	if m == nil {
		m = map[string]string{}
	}
	for k, v := range change {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = *v
		}
	}
	return m
}
