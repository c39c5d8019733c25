package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Token is an agent token, without its secret.
type Token struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	State       string     `json:"state" enum:"active,expired,revoked"`
	Servers     []string   `json:"servers" nullable:"false"`
	Tools       []string   `json:"tools" nullable:"false"`
	Permissions []string   `json:"permissions" nullable:"false"`
	Created     time.Time  `json:"created"`
	Expires     *time.Time `json:"expires,omitempty"`
	LastUsed    *time.Time `json:"last_used,omitempty"`
	Revoked     *time.Time `json:"revoked,omitempty"`
}

// CreateToken says what a new token may do.
type CreateToken struct {
	Name        string     `json:"name" pattern:"^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$" patternDescription:"letters, digits, dot, dash and underscore"`
	Servers     []string   `json:"servers" minItems:"1" maxItems:"1000" nullable:"false" doc:"Names, or *"`
	Tools       []string   `json:"tools,omitempty" maxItems:"1000" doc:"Globs over server__tool or the tool's own name; absent: all"`
	Permissions []string   `json:"permissions" minItems:"1" maxItems:"3" enum:"read,write,destructive" nullable:"false"`
	Expires     *time.Time `json:"expires,omitempty" doc:"Absent: never"`
}

// NewToken is the only answer that ever holds a secret.
type NewToken struct {
	Token  Token  `json:"token"`
	Secret string `json:"secret" doc:"Shown this once; only its SHA-256 is kept"`
}

// OnToken names a token.
type OnToken struct {
	ID string `path:"id" maxLength:"100" doc:"Id or name"`
}

func (a *api) tokenRoutes() {
	route(a, "list-tokens", http.MethodGet, "/api/v1/tokens", "List the tokens", a.listTokens)
	route(a, "create-token", http.MethodPost, "/api/v1/tokens", "Create a token; its secret is shown once", a.createToken)
	route(a, "get-token", http.MethodGet, "/api/v1/tokens/{id}", "Get a token", a.getToken)
	route(a, "revoke-token", http.MethodPost, "/api/v1/tokens/{id}/revoke", "Revoke a token", a.revokeToken)
}

func (a *api) tokenView(t dispatch.Token) Token {
	v := Token{
		ID: t.ID, Name: t.Name, State: "active", Servers: append([]string{}, t.Scope.Servers...), Tools: append([]string{}, t.Scope.Tools...),
		Permissions: []string{}, Created: t.Created.UTC(), Expires: moment(t.Expires), LastUsed: moment(t.LastUsed), Revoked: moment(t.Revoked),
	}
	for _, p := range []struct {
		has  bool
		word string
	}{{t.Permissions.Read, "read"}, {t.Permissions.Write, "write"}, {t.Permissions.Destructive, "destructive"}} {
		if p.has {
			v.Permissions = append(v.Permissions, p.word)
		}
	}
	switch {
	case v.Revoked != nil:
		v.State = "revoked"
	case v.Expires != nil && !a.Now().Before(*v.Expires):
		v.State = "expired"
	}
	return v
}

func (a *api) listTokens(ctx context.Context, in *struct{ Paging }) (*body[Page[Token]], error) {
	tokens, err := a.Tokens.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	var all []keyed[Token]
	for _, t := range tokens {
		all = append(all, keyed[Token]{key(t.Name, t.ID), a.tokenView(t)})
	}
	p, err := page(in.Paging, all)
	return &body[Page[Token]]{p}, err
}

func (a *api) getToken(ctx context.Context, in *OnToken) (*body[Token], error) {
	t, err := a.tokenBy(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &body[Token]{a.tokenView(t)}, nil
}

func (a *api) tokenBy(ctx context.Context, nameOrID string) (dispatch.Token, error) {
	tokens, err := a.Tokens.Tokens(ctx)
	if err != nil {
		return dispatch.Token{}, err
	}
	var names []string
	for _, t := range tokens {
		if t.ID == nameOrID || t.Name == nameOrID {
			return t, nil
		}
		names = append(names, t.Name)
	}
	hint := "`holdfast token list` shows the tokens"
	if strings.HasPrefix(nameOrID, "holdfast_") {
		// A secret was pasted where a name belongs: it is not repeated.
		return dispatch.Token{}, fault.New(fault.NotFound, "there is no token of that name or id", "give the token's name or id, not its secret; "+hint)
	}
	if near := nearest(nameOrID, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return dispatch.Token{}, fault.New(fault.NotFound, fmt.Sprintf("there is no token %q", nameOrID), hint)
}

func (a *api) createToken(ctx context.Context, in *struct{ Body CreateToken }) (*body[NewToken], error) {
	t, err := a.newToken(in.Body)
	if err != nil {
		return nil, err
	}
	secret := newSecret()
	t.Hash = sha256.Sum256([]byte(secret))
	v := a.tokenView(t)
	detail := map[string]string{
		"id": t.ID, "name": t.Name, "servers": strings.Join(v.Servers, ","), "tools": strings.Join(v.Tools, ","),
		"permissions": strings.Join(v.Permissions, ","),
	}
	if v.Expires != nil {
		detail["expires"] = v.Expires.Format(time.RFC3339)
	}
	if err := a.Tokens.CreateToken(ctx, t, a.tokenEntry(ctx, "token_created", detail)); err != nil {
		return nil, err
	}
	return &body[NewToken]{NewToken{Token: v, Secret: secret}}, nil
}

// newSecret is "holdfast_" and 43 characters: 256 bits.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return "holdfast_" + base64.RawURLEncoding.EncodeToString(b[:])
}

var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z0-9][a-z0-9-]{0,31}|\*)$`) })

func (a *api) newToken(r CreateToken) (dispatch.Token, error) {
	t := dispatch.Token{ID: "tok-" + strings.ToLower(rand.Text()[:16]), Name: r.Name, Created: a.Now().UTC()}
	for _, s := range r.Servers {
		if !serverName().MatchString(s) {
			return t, fault.New(fault.BadInput, fmt.Sprintf("%q is no server name", s), "give names of servers, or *")
		}
	}
	for _, g := range r.Tools {
		if _, err := path.Match(g, ""); err != nil || g == "" {
			return t, fault.New(fault.BadInput, fmt.Sprintf("%q is no pattern for tools", g), "give names or patterns such as mail__* or read_*")
		}
	}
	t.Scope = dispatch.Scope{Servers: r.Servers, Tools: r.Tools}
	if len(r.Tools) == 0 {
		t.Scope.Tools = []string{"*"}
	}
	for _, p := range r.Permissions {
		switch p {
		case "read":
			t.Permissions.Read = true
		case "write":
			t.Permissions.Write = true
		case "destructive":
			t.Permissions.Destructive = true
		}
	}
	if r.Expires != nil {
		if !r.Expires.After(t.Created) {
			return t, fault.New(fault.BadInput, "the token would have expired already", "give a time in the future, or none")
		}
		t.Expires = r.Expires.UTC()
	}
	return t, nil
}

func (a *api) revokeToken(ctx context.Context, in *OnToken) (*body[Token], error) {
	t, err := a.tokenBy(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if t.Revoked.IsZero() {
		e := a.tokenEntry(ctx, "token_revoked", map[string]string{"id": t.ID, "name": t.Name})
		if err := a.Tokens.RevokeToken(ctx, t.ID, e.Time, e); err != nil {
			return nil, err
		}
		t.Revoked = e.Time
	}
	return &body[Token]{a.tokenView(t)}, nil
}

func (a *api) tokenEntry(ctx context.Context, what string, detail map[string]string) record.Entry {
	return record.Entry{
		Time: a.Now().UTC(), Type: record.TypeToken, Actor: actorOf(ctx), RequestID: requestID(ctx),
		SettingsID: a.Trust.Catalogue().Settings().ID, Act: &record.Act{What: what, Detail: detail},
	}
}
