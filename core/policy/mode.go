package policy

import (
	"errors"
	"fmt"
)

// Mode says what happens to what no rule decides. The zero Mode is none.
type Mode string

// The modes.
const (
	Default     Mode = "default"
	AcceptEdits Mode = "acceptEdits"
	Plan        Mode = "plan"
	DontAsk     Mode = "dontAsk"
	Bypass      Mode = "bypassPermissions"
)

var modes = [...]Mode{Default, AcceptEdits, Plan, DontAsk, Bypass}

// ParseMode reads a mode's name; the error names the nearest.
func ParseMode(name string) (Mode, error) {
	for _, m := range modes {
		if name == string(m) {
			return m, nil
		}
	}
	if near := nearest(name, modes[:]); near != "" {
		return "", fmt.Errorf("%s is no mode: did you mean %q?", quoted(name), near)
	}
	return "", fmt.Errorf("%s is no mode: it must be one of default, acceptEdits, plan, dontAsk, bypassPermissions", quoted(name))
}

// Choice is what an unattended entry knows when the mode is settled.
type Choice struct {
	Flag       Mode   // of --mode; empty when not given
	Configured Mode   // of the strongest layer that has defaultMode and counts; empty when none has
	At         Place  // of Configured
	Trusted    bool   // the project is trusted
	Root       bool   // root outside a container
	Forbidden  *Place // where a layer sets disableBypassPermissionsMode
}

// Clamp says that a configured mode was not taken. The zero Clamp says nothing.
type Clamp struct {
	From, To Mode
	At       Place
}

// Unattended settles the mode of an entry with nobody attached. It is the one clamp:
// every unattended entry uses it. It fails where --mode asks for what it may not.
func Unattended(c Choice) (Mode, Clamp, error) {
	if c.Flag != "" {
		return flagged(c)
	}
	if c.Configured == "" {
		return Default, Clamp{}, nil
	}
	mode, err := ParseMode(string(c.Configured))
	if err != nil {
		return "", Clamp{}, fmt.Errorf("defaultMode (%s): %w", c.At, err)
	}
	if mode == AcceptEdits || mode == Bypass {
		return Default, Clamp{From: mode, To: Default, At: c.At}, nil
	}
	return mode, Clamp{}, nil
}

// flagged is what --mode asks for: somebody typed it for this very start.
func flagged(c Choice) (Mode, Clamp, error) {
	mode, err := ParseMode(string(c.Flag))
	if err != nil {
		return "", Clamp{}, fmt.Errorf("--mode: %w", err)
	}
	if mode != Bypass {
		return mode, Clamp{}, nil
	}
	switch {
	case c.Forbidden != nil:
		return "", Clamp{}, fmt.Errorf("--mode bypassPermissions is switched off by disableBypassPermissionsMode (%s): "+
			"choose another mode and allow what is needed by rules", *c.Forbidden)
	case !c.Trusted:
		return "", Clamp{}, errors.New("--mode bypassPermissions is refused in a directory that is not trusted: " +
			`look at its settings, then run "holdfast trust" there`)
	case c.Root:
		return "", Clamp{}, errors.New("--mode bypassPermissions is refused for root outside a container: " +
			"start the server as another user, or in a container")
	}
	return mode, Clamp{}, nil
}
