package dispatch

import (
	"slices"
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Face is where a call came from: it decides how a name is resolved. In the zero
// Face nothing is found; a Face with a Server is that server's.
type Face struct {
	Server string // of the server face; empty otherwise
	Direct bool   // names are server__tool (direct and search faces)
}

// Permissions is a set of dispatch classes, each named. The zero set permits nothing.
type Permissions struct{ Read, Write, Destructive bool }

// Has reports whether the set names c.
func (p Permissions) Has(c contract.Class) bool {
	switch c {
	case contract.Read:
		return p.Read
	case contract.Write:
		return p.Write
	case contract.Destructive:
		return p.Destructive
	case contract.NoClass:
	}
	return false
}

// Scope is what a token may touch. The zero Scope contains nothing.
type Scope struct {
	Servers []string // names, or "*"
	Tools   []string // globs over server__tool or the tool's own name, or "*"
}

func (s Scope) server(name string) bool {
	return slices.Contains(s.Servers, name) || slices.Contains(s.Servers, "*")
}

// contains reports whether e is in the scope. A glob may name the thing by its
// full name, by its own, and by the aliases that it is served under.
func (s Scope) contains(e *Entry) bool {
	if !s.server(e.Server.Name) {
		return false
	}
	key := e.Record.Key
	for _, glob := range s.Tools {
		if glob == "*" || match(glob, fullName(key.Server, key.Name)) || match(glob, key.Name) ||
			glob == e.Direct || glob == e.Own {
			return true
		}
	}
	return false
}

// Token is a stored agent token. Hash is the SHA-256 of its secret.
type Token struct {
	ID          string
	Name        string
	Hash        [32]byte
	Scope       Scope
	Permissions Permissions
	Created     time.Time
	Expires     time.Time // zero: never
	LastUsed    time.Time
	Revoked     time.Time // zero: not revoked
}

// Caller is who calls, after the token was checked. The zero Caller is refused.
type Caller struct {
	Name        string // token name, or "local"
	TokenID     string // empty for the local user
	Scope       Scope
	Permissions Permissions
}

// Caller gives the caller that t stands for now; the zero Caller when it is
// expired or revoked. A token that was revoked stays so, whatever the clock says.
func (t Token) Caller(now time.Time) Caller {
	expired := !t.Expires.IsZero() && !now.Before(t.Expires)
	if t.ID == "" || t.Name == "" || expired || !t.Revoked.IsZero() {
		return Caller{}
	}
	return Caller{
		Name:        t.Name,
		TokenID:     t.ID,
		Scope:       Scope{Servers: slices.Clone(t.Scope.Servers), Tools: slices.Clone(t.Scope.Tools)},
		Permissions: t.Permissions,
	}
}

// Local is the local user over the unix socket or stdio.
func Local() Caller {
	return Caller{
		Name:        "local",
		Scope:       Scope{Servers: []string{"*"}, Tools: []string{"*"}},
		Permissions: Permissions{Read: true, Write: true, Destructive: true},
	}
}
