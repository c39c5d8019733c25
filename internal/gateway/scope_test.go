package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// TestOutsideTheScopeIsWhatDoesNotExist: two installations, one of which has more,
// give a token that may see the common part the same bytes, whatever it asks.
func TestOutsideTheScopeIsWhatDoesNotExist(t *testing.T) {
	scope := dispatch.Scope{Servers: []string{"files"}, Tools: []string{"files__read*", "writeFile"}}
	var answers [2]string
	for i := range answers {
		r := newRig(t)
		list := files()[:2]
		if i == 1 {
			list = files()
			r.add("mail", tool("read_mail", "Reads files of mail from a path.", reads), tool("send", "Sends.", writes))
			r.add("other", tool("x", "Read read read file file path.", reads, `,"outputSchema":{"type":"object"}`))
		}
		r.add("files", list...)
		if i == 1 {
			r.list("mail", tool("read_mail", "Changed.", destroys)) // held
		}
		secret := r.token("scoped", scope, allClasses)
		var b strings.Builder
		for _, path := range []string{"/mcp", "/mcp/direct", "/mcp/search", "/mcp/server/files"} {
			a := r.connect(path, secret)
			b.WriteString(a.ask("tools/list", "{}"))
			for _, name := range []string{"files__read_file", "files__delete_tree", "delete_tree", "mail__read_mail", "mail__send", "other__x", "read_mail"} {
				b.WriteString(a.call(name, `{"path":"/a"}`))
			}
		}
		for _, name := range []string{"mail", "other", "nothing"} {
			a := &httpAgent{r: r, url: r.http.URL + "/mcp/server/" + name, secret: secret}
			_, body := a.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
			b.WriteString(body)
		}
		a := r.connect("/mcp/search", secret)
		for _, query := range []string{"read file", "mail", "delete", "path", "", "x"} {
			b.WriteString(a.call("retrieve_tools", fmt.Sprintf(`{"query":%q}`, query)))
			b.WriteString(a.call("retrieve_tools", fmt.Sprintf(`{"query":%q,"server":"mail"}`, query)))
		}
		for _, variant := range []string{"read", "write", "destructive"} {
			for _, name := range []string{"files__delete_tree", "mail__read_mail", "other__x"} {
				b.WriteString(a.call("call_tool_"+variant, fmt.Sprintf(`{"name":%q,"arguments":{}}`, name)))
			}
		}
		b.WriteString(a.call("describe_tool", `{"names":["files__read_file","files__delete_tree","mail__send","mail__read_mail","other__x"]}`))
		for _, call := range [][2]string{
			{"upstream_servers", `{"operation":"list"}`},
			{"upstream_servers", `{"operation":"inspect","name":"files"}`},
			{"upstream_servers", `{"operation":"inspect","name":"mail"}`},
			{"upstream_servers", `{"operation":"disable","name":"mail"}`},
			{"upstream_servers", `{"operation":"quarantine","name":"mail"}`},
			{"upstream_servers", `{"operation":"add","name":"mail","command":"x"}`},
			{"upstream_servers", `{"operation":"enable","name":"mail"}`},
			{"quarantine_security", `{"operation":"list"}`},
			{"quarantine_security", `{"operation":"inspect","server":"mail"}`},
			{"quarantine_security", `{"operation":"quarantine","server":"mail"}`},
		} {
			b.WriteString(a.call(call[0], call[1]))
		}
		answers[i] = strings.ReplaceAll(b.String(), "\n", "")
		if i == 1 {
			if srv, _ := r.intake.Catalogue().Server("mail"); srv.Quarantined || !srv.Enabled {
				t.Error("an agent touched a server outside its scope")
			}
		}
	}
	if answers[0] != answers[1] {
		i := 0
		for i < len(answers[0]) && i < len(answers[1]) && answers[0][i] == answers[1][i] {
			i++
		}
		from := max(0, i-200)
		t.Errorf("they differ:\n%.500s\n%.500s", answers[0][from:], answers[1][from:])
	}
	if !strings.Contains(answers[0], "called read_file") || !strings.Contains(answers[0], `"ready_tools":2`) {
		t.Error("what is inside the scope does not work")
	}
}

func TestPermissions(t *testing.T) {
	r := newRig(t)
	r.add("files", files()...)
	secret := r.token("reader", everything, dispatch.Permissions{Read: true})
	a := r.connect("/mcp/search", secret)
	if got := a.call("retrieve_tools", `{"query":"delete"}`); !strings.Contains(got, `"permitted":false`) || !strings.Contains(got, "may not call") {
		t.Errorf("it is not said that the token lacks the permission: %s", got)
	}
	for _, call := range [][2]string{
		{"call_tool_destructive", `{"name":"files__delete_tree","arguments":{"path":"/"}}`},
		{"upstream_servers", `{"operation":"add","name":"new","command":"x"}`},
		{"upstream_servers", `{"operation":"disable","name":"files"}`},
		{"upstream_servers", `{"operation":"quarantine","name":"files"}`},
		{"quarantine_security", `{"operation":"quarantine","server":"files"}`},
	} {
		if got := a.call(call[0], call[1]); !strings.Contains(got, `"class":"permission_missing"`) || !strings.Contains(got, `"isError":true`) {
			t.Errorf("%v: %s", call, got)
		}
	}
	if got := a.call("describe_tool", `{"names":["files__delete_tree"]}`); !strings.Contains(got, "Deletes a directory") {
		t.Errorf("to read is not to call: %s", got)
	}
	if len(r.up.sent()) != 0 {
		t.Error("something was sent")
	}
}

func TestTokens(t *testing.T) {
	r := newRig(t)
	r.add("files", files()...)
	clock := time.Now()
	r.now = func() time.Time { return clock }
	good := r.token("good", everything, allClasses)
	other := r.token("other", everything, allClasses)
	brief := r.token("brief", everything, allClasses, func(t *dispatch.Token) { t.Expires = clock.Add(time.Minute) })
	unknown := tokenPrefix + strings.Repeat("A", tokenLength)

	refusals := map[string]bool{} // to whom has no token that counts
	initialize := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	for name, header := range map[string][]string{
		"none": nil, "empty": {""}, "unknown": {"Bearer " + unknown}, "another scheme": {"Basic " + good}, "no scheme": {good},
		"cut": {"Bearer " + good[:len(good)-1]}, "longer": {"Bearer " + good + "A"}, "two": {"Bearer " + good, "Bearer " + good},
		"bad characters": {"Bearer " + tokenPrefix + strings.Repeat("*", tokenLength)}, "another prefix": {"Bearer admin_" + good[len(tokenPrefix):]},
		"in the query": {},
	} {
		req, _ := http.NewRequest("POST", r.http.URL+"/mcp?token="+good, strings.NewReader(initialize))
		req.Header["Authorization"] = header
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		r.must(err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		r.must(err)
		refusals[string(body)] = true
		if resp.StatusCode != 401 || resp.Header.Get("Www-Authenticate") != "Bearer" {
			t.Errorf("%s: %d, %q", name, resp.StatusCode, resp.Header.Get("Www-Authenticate"))
		}
	}

	a, b := r.connect("/mcp/direct", good), r.connect("/mcp/direct", brief)
	a.ask("tools/list", "{}")
	b.ask("tools/list", "{}")

	// A session is its token's and its face's alone.
	for name, thief := range map[string]*httpAgent{
		"another token":    {r: r, url: a.url, secret: other, session: a.session},
		"another face":     {r: r, url: r.http.URL + "/mcp/search", secret: good, session: a.session},
		"a server's face":  {r: r, url: r.http.URL + "/mcp/server/files", secret: good, session: a.session},
		"an unknown token": {r: r, url: a.url, secret: unknown, session: a.session},
	} {
		want := 404
		if name == "an unknown token" {
			want = 401
		}
		if status, body := thief.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != want {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}

	// Expiry and revocation count from the next request on.
	clock = clock.Add(time.Minute)
	status, body := b.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if refusals[body] = true; status != 401 {
		t.Errorf("an expired token: %d", status)
	}
	r.must(r.store.RevokeToken(t.Context(), "good", clock, record.Entry{Time: clock, Type: record.TypeToken, Actor: person, Act: &record.Act{What: "token_revoked"}}))
	for _, body := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, initialize} {
		status, answer := a.post(body)
		if refusals[answer] = true; status != 401 {
			t.Errorf("a revoked token: %d for %s", status, body)
		}
	}
	if len(refusals) != 1 { // what is wrong with a token is for its owner alone
		t.Errorf("the refusals differ: %v", refusals)
	}

	// The audit has each refused token once a minute, and no secret.
	r.settle()
	entries, err := r.store.Audit(t.Context(), auditOf(record.TypeRefusal))
	r.must(err)
	var who []string
	for _, e := range entries {
		who = append(who, e.Call.Caller+"/"+e.Call.Refused)
	}
	if got := strings.Join(who, " "); got != "good/token_invalid brief/token_invalid /token_invalid" {
		t.Errorf("audited: %q", got)
	}
	if strings.Contains(r.log.String(), good) || strings.Contains(r.log.String(), tokenPrefix) {
		t.Error("a token stands in the log")
	}
}

func TestTokenIsTouchedOnceAMinute(t *testing.T) {
	touched := &touching{}
	r := newRig(t, func(o *Options) {
		touched.Tokens = o.Tokens
		o.Tokens = touched
	})
	r.add("files", files()...)
	clock := time.Now()
	r.now = func() time.Time { return clock }
	a := r.connect("/mcp", r.token("good", everything, allClasses))
	for range 20 {
		a.ask("ping", "{}")
	}
	clock = clock.Add(61 * time.Second)
	a.ask("ping", "{}")
	a.ask("ping", "{}")
	if touched.n != 2 {
		t.Errorf("touched %d times", touched.n)
	}
}

type touching struct {
	Tokens
	n int
}

func (t *touching) TouchToken(id string, at time.Time) {
	t.n++
	t.Tokens.TouchToken(id, at)
}

func TestLocalAndAuthOff(t *testing.T) {
	r := newRig(t, func(o *Options) { o.AuthOff = true })
	r.add("files", files()...)
	a := r.connect("/mcp/direct", "")
	if got := a.call("files__delete_tree", `{"path":"/a"}`); !strings.Contains(got, "called delete_tree") {
		t.Error(got)
	}
	r = newRig(t)
	r.add("files", files()...)
	if status, _ := (&httpAgent{r: r, url: r.http.URL + "/mcp"}).post(`{}`); status != 401 {
		t.Errorf("without a token: %d", status)
	}
}

// settle waits until what was enqueued is in the audit: entries keep their order.
func (r *rig) settle() {
	r.t.Helper()
	r.must(r.store.Append(r.t.Context(), record.Entry{Time: r.now(), Type: record.TypeToken, Actor: person, Act: &record.Act{What: "settle"}}))
}

func auditOf(types ...record.Type) store.AuditFilter { return store.AuditFilter{Types: types} }

func TestNewRefusesWhatIsMissing(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a gateway without rooms")
	}
	r := newRig(t)
	o := r.g.o
	o.Face = "sideways"
	if _, err := New(o); err == nil {
		t.Error("a face that is none")
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]string{
		"/mcp": "", "/mcp/direct": "direct", "/mcp/search": "search", "/mcp/server/a-b": "server",
		"/mcp/": "-", "/mcp/server/": "-", "/mcp/server/A": "-", "/mcp/server/a/b": "-", "/mcp/other": "-", "/": "-", "/mcp/server/" + strings.Repeat("a", 33): "-",
	} {
		at, ok := placeOf(path)
		if got := at.kind; ok != (want != "-") || ok && got != want {
			t.Errorf("%s: %q %v", path, got, ok)
		}
	}
	r := newRig(t)
	resp, err := http.Get(r.http.URL + "/mcp/nothing")
	r.must(err)
	resp.Body.Close()
	if resp.StatusCode != 404 {
		t.Errorf("an unknown path: %d", resp.StatusCode)
	}
}

// TestActsAreAudited: what an agent does and is refused stands in the audit under
// its token's name.
func TestActsAreAudited(t *testing.T) {
	r := newRig(t)
	r.add("files", files()...)
	a := r.connect("/mcp/search", r.token("claude", everything, allClasses))
	a.call("upstream_servers", `{"operation":"add","name":"new","command":"npx","env":{"TOKEN":"s3cret-value"}}`)
	a.call("upstream_servers", `{"operation":"add","name":"loose","command":"npx","quarantined":false}`)
	a.call("quarantine_security", `{"operation":"release","server":"files"}`)
	a.call("quarantine_security", `{"operation":"quarantine","server":"files"}`)
	r.settle()
	entries, err := r.store.Audit(t.Context(), auditOf(record.TypeRefusal, record.TypeServer))
	r.must(err)
	var got []string
	for _, e := range entries {
		if e.Actor != (record.Actor{Kind: record.Agent, Name: "claude"}) {
			continue
		}
		if e.Act != nil {
			got = append(got, e.Act.What+" "+e.Server)
		} else {
			got = append(got, e.Call.Refused+" "+e.Name+" "+e.Server+" at "+e.Call.Face)
		}
		// What an agent proposed to run is written down as it is: nothing in it is
		// the operator's, and a person must be able to see all of it.
		if proposed := e.Act != nil && e.Act.What == "proposed"; strings.Contains(fmt.Sprint(e.Act), "s3cret-value") != proposed {
			t.Errorf("the audit says %v", e.Act)
		}
	}
	want := "quarantined files, not_for_agents quarantine_security files at search, not_for_agents upstream_servers  at search, proposed new" // "loose" is no server, but an agent's text
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if srv, ok := r.intake.Catalogue().Server("new"); !ok || srv.Enabled || !srv.Proposal || !srv.Quarantined {
		t.Errorf("the proposal is %+v", srv)
	}
	if _, ok := r.intake.Catalogue().Server("loose"); ok {
		t.Error("what was refused is stored")
	}
}

// TestProposalsAreBounded: a token that may write can't fill the store, nor hand a
// person what nobody can read.
func TestProposalsAreBounded(t *testing.T) {
	r := newRig(t)
	a := r.connect("/mcp/search", r.token("claude", everything, allClasses))
	large := `{"operation":"add","name":"large","command":"x","args":["` + strings.Repeat("a", approval.MaxProgram) + `"]}`
	if text := a.call("upstream_servers", large); !strings.Contains(text, "65536 bytes") {
		t.Errorf("a large one: %s", text)
	}
	if text := a.call("upstream_servers", `{"operation":"add","name":"thief","command":"sh","args":["-c","echo ${env:API_KEY}"]}`); !strings.Contains(text, "${...}") {
		t.Errorf("one with a reference: %s", text)
	}
	for i := range approval.MaxProposals + 5 {
		text := a.call("upstream_servers", fmt.Sprintf(`{"operation":"add","name":"p%d","command":"x"}`, i))
		if stored := strings.Contains(text, "Proposed"); stored != (i < approval.MaxProposals) {
			t.Errorf("proposal %d: %s", i, text)
		}
	}
	if n := len(r.intake.Catalogue().Servers()); n != approval.MaxProposals {
		t.Errorf("%d servers are stored", n)
	}
}
