package admin_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/admin"
)

func TestTokenSecretIsShownOnce(t *testing.T) {
	h := newHome(t)
	in := time.Now().Add(time.Hour)
	var n admin.NewToken
	h.do("POST", "/api/v1/tokens", admin.CreateToken{Name: "editor", Servers: []string{"mail"}, Permissions: []string{"read", "write"}, Expires: &in}).into(201, &n)
	if len(n.Secret) != len("holdfast_")+43 || !strings.HasPrefix(n.Secret, "holdfast_") || n.Token.State != "active" || n.Token.Tools[0] != "*" {
		t.Errorf("a new token: %+v", n)
	}
	if got, err := h.store.TokenByHash(t.Context(), sha256.Sum256([]byte(n.Secret))); err != nil || got.Name != "editor" || !got.Permissions.Write || got.Permissions.Destructive {
		t.Errorf("the stored token: %+v, %v", got, err)
	}
	for _, path := range []string{"/api/v1/tokens", "/api/v1/tokens/editor", "/api/v1/tokens/" + n.Token.ID, "/api/v1/audit/export"} {
		if a := h.do("GET", path, nil); a.Code != 200 || strings.Contains(a.Body.String(), n.Secret[9:]) {
			t.Errorf("%s: %d, and the secret in it", path, a.Code)
		}
	}
	h.do("POST", "/api/v1/tokens", admin.CreateToken{Name: "editor", Servers: []string{"*"}, Permissions: []string{"read"}}).refused(409, "exists")
	p := h.do("POST", "/api/v1/tokens/"+n.Secret+"/revoke", nil).refused(404, "not_found")
	if strings.Contains(p.Detail+p.Hint, n.Secret) {
		t.Error("a pasted secret is repeated")
	}
	var got admin.Token
	h.do("POST", "/api/v1/tokens/editor/revoke", nil).into(200, &got)
	if got.State != "revoked" {
		t.Errorf("revoked: %+v", got)
	}
	h.do("POST", "/api/v1/tokens/editor/revoke", nil).into(200, &got) // again: nothing more happens
	var acts admin.Page[admin.AuditEntry]
	h.do("GET", "/api/v1/audit?type=token", nil).into(200, &acts)
	if len(acts.Items) != 2 || acts.Items[0].Act.What != "token_revoked" || acts.Items[1].Act.Detail["permissions"] != "read,write" {
		t.Errorf("the audit: %+v", acts)
	}
}

func TestTokenRefusals(t *testing.T) {
	h := newHome(t)
	for name, body := range map[string]string{
		"no permissions": `{"name":"a","servers":["*"],"permissions":[]}`,
		"permission":     `{"name":"a","servers":["*"],"permissions":["admin"]}`,
		"no servers":     `{"name":"a","permissions":["read"]}`,
		"server":         `{"name":"a","servers":["ma il"],"permissions":["read"]}`,
		"glob":           `{"name":"a","servers":["*"],"tools":["[a"],"permissions":["read"]}`,
		"past":           `{"name":"a","servers":["*"],"permissions":["read"],"expires":"2020-01-01T00:00:00Z"}`,
		"name":           `{"name":"a b","servers":["*"],"permissions":["read"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			h.t = t
			h.do("POST", "/api/v1/tokens", body).refused(422, "bad_input")
		})
	}
	h.t = t
	var p admin.Page[admin.Token]
	h.do("GET", "/api/v1/tokens", nil).into(200, &p)
	if len(p.Items) != 0 {
		t.Error("a refusal stored a token")
	}
}

func TestAuditIsReadVerifiedAndExported(t *testing.T) {
	h := newHome(t)
	h.add("mail", tool("send", "Sends."), tool("list", "Lists."))
	h.release("mail")
	var v admin.Verified
	h.do("GET", "/api/v1/audit/verify", nil).into(200, &v)
	if !v.OK || v.Entries == 0 || len(v.Head) != 64 {
		t.Errorf("verify: %+v", v)
	}
	a := h.do("GET", "/api/v1/audit/export", nil)
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, 1<<20)
	n, prev := int64(0), strings.Repeat("0", 64)
	for lines.Scan() {
		var e admin.AuditEntry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		n++
		if e.Seq != n || e.Prev != prev {
			t.Errorf("entry %d does not follow: seq %d", n, e.Seq)
		}
		prev = e.Hash
	}
	if n != v.Entries || prev != v.Head {
		t.Errorf("%d lines exported, %d entries verified", n, v.Entries)
	}
	h.do("GET", "/api/v1/audit/export?from=zero", nil).refused(422, "bad_input")
	h.do("GET", "/api/v1/audit/export?form=1", nil).refused(422, "bad_input")
	h.do("GET", "/api/v1/audit/entries/999999", nil).refused(404, "not_found")
	h.do("GET", "/api/v1/audit?type=nonsense", nil).refused(422, "bad_input")

	var p admin.Page[admin.AuditEntry]
	h.do("GET", "/api/v1/audit?limit=2", nil).into(200, &p)
	first, cursor := p.Items, p.NextCursor
	p = admin.Page[admin.AuditEntry]{}
	h.do("GET", "/api/v1/audit?limit=2&cursor="+cursor, nil).into(200, &p)
	if len(first) != 2 || len(p.Items) != 2 || p.Items[0].Seq != first[1].Seq-1 {
		t.Errorf("pages of the audit: %+v then %+v", first, p.Items)
	}
	if first[0].Transition != nil && first[0].Transition.New.Text != "" {
		t.Error("a list holds whole contracts")
	}
	h.do("GET", "/api/v1/audit?since="+time.Now().Add(time.Hour).UTC().Format(time.RFC3339), nil).into(200, &p)
	if len(p.Items) != 0 {
		t.Error("entries of the future")
	}
}

func TestStateOfTheDaemon(t *testing.T) {
	h := newHome(t)
	h.add("mail", tool("send", "Sends."))
	var s admin.Status
	h.do("GET", "/api/v1/status", nil).into(200, &s)
	if s.PID != 7 || s.Servers.Total != 1 || s.Servers.Quarantined != 1 || s.Tools.InReview != 1 || !s.GateOn {
		t.Errorf("status: %+v", s)
	}
	var c admin.Config
	h.do("GET", "/api/v1/config", nil).into(200, &c)
	h.do("GET", "/readyz", nil).into(200, nil)
	h.ready = errors.New("no disk")
	h.do("GET", "/readyz", nil).refused(503, "unavailable")
	h.do("GET", "/healthz", nil).into(200, nil)
	h.do("GET", "/api/v2/servers", nil).refused(404, "not_found")
	h.do("PUT", "/api/v1/servers", `{}`).refused(404, "not_found")
	if a := h.do("GET", "/openapi.json", nil); a.Code != 200 || !strings.Contains(a.Body.String(), `"3.1.0"`) {
		t.Errorf("the document: %d", a.Code)
	}
}
