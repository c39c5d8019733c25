package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func TestServerIsAddedQuarantinedAndShown(t *testing.T) {
	h := newHome(t)
	s := h.add("mail", tool("send", "Sends."), tool("list", "Lists."))
	if !s.Quarantined || !s.Enabled || s.TrustMode != "scan" || s.Tools.Pending != 2 || s.Tools.Ready != 0 || s.Tools.InReview != 2 {
		t.Errorf("a new server: %+v", s)
	}
	var p admin.Page[admin.Server]
	h.do("GET", "/api/v1/servers", nil).into(200, &p)
	if len(p.Items) != 1 || p.Items[0].Name != "mail" || p.Items[0].Program.Command != "run-mail" {
		t.Errorf("the list: %+v", p)
	}
}

func TestSecretsNeverComeBack(t *testing.T) {
	h := newHome(t)
	const secret = "hunter2-correct-horse"
	add := `{"name":"mail","program":{"command":"run","args":["--token","` + secret + `"],"env":{"API_TOKEN":"` + secret + `","REF":"${env:HOME}"}}}`
	answers := []answer{h.do("POST", "/api/v1/servers", add)}
	if answers[0].Code != 201 {
		t.Fatal(answers[0].Body)
	}
	answers = append(answers,
		h.do("POST", "/api/v1/servers", add), // exists
		h.do("GET", "/api/v1/servers", nil), h.do("GET", "/api/v1/servers/mail", nil),
		h.do("POST", "/api/v1/servers", `{"name":"bad","program":{"command":"x","env":{"T":["`+secret+`"]}}}`),
		h.do("POST", "/api/v1/servers", `{"name":"bad","program":{"command":"x","env":"`+secret+`"}}`),
		h.do("POST", "/api/v1/servers", `{"name":"bad","secret":"`+secret+`"`),
		h.do("GET", "/api/v1/audit", nil), h.do("GET", "/api/v1/audit/export", nil),
	)
	for i, a := range answers {
		if strings.Contains(a.Body.String(), secret) {
			t.Errorf("answer %d holds the secret: %s", i, a.Body)
		}
	}
	if strings.Contains(h.log.String(), secret) {
		t.Error("the log holds the secret")
	}
	if !strings.Contains(answers[2].Body.String(), "${env:HOME}") {
		t.Errorf("a reference is shown, it says where a secret is: %s", answers[2].Body)
	}
}

func TestAddRefusals(t *testing.T) {
	h := newHome(t)
	h.add("mail")
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
		says   string
	}{
		"exists":        {`{"name":"mail","program":{"command":"x"}}`, 409, "server_exists", "mail"},
		"name":          {`{"name":"My_Mail","program":{"command":"x"}}`, 422, "bad_input", "name"},
		"trust mode":    {`{"name":"a","program":{"command":"x"},"options":{"trust_mode":"Auto"}}`, 422, "bad_trust_mode", "manual"},
		"on hold":       {`{"name":"a","program":{"command":"x"},"options":{"on_hold":"maybe"}}`, 422, "bad_input", "block"},
		"timeout":       {`{"name":"a","program":{"command":"x"},"options":{"timeout":"soon"}}`, 422, "bad_input", "timeout"},
		"nothing":       {`{"name":"a","program":{}}`, 422, "bad_input", "command"},
		"both":          {`{"name":"a","program":{"command":"x","url":"http://x/"}}`, 422, "bad_input", "either"},
		"url":           {`{"name":"a","program":{"url":"ftp://x/"}}`, 422, "bad_input", "http"},
		"unknown field": {`{"name":"a","program":{"command":"x"},"trusted":true}`, 422, "bad_input", "trusted"},
		"case":          {`{"Name":"a","program":{"command":"x"}}`, 422, "bad_input", "Name"},
		"duplicate":     {`{"name":"a","name":"b","program":{"command":"x"}}`, 400, "bad_input", "JSON"},
		"trailing":      {`{"name":"a","program":{"command":"x"}} {}`, 400, "bad_input", "follows"},
		"no json":       {`nonsense`, 400, "bad_input", "JSON"},
		"too large":     {`{"name":"` + strings.Repeat("a", 2<<20) + `"}`, 413, "too_large", "1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			h.t = t
			p := h.do("POST", "/api/v1/servers", c.body).refused(c.status, c.code)
			if !strings.Contains(p.Detail+p.Hint+flat(p), c.says) {
				t.Errorf("%q does not say %q", p.Detail+" "+p.Hint, c.says)
			}
		})
	}
	var all admin.Page[admin.Server]
	h.t = t
	h.do("GET", "/api/v1/servers", nil).into(200, &all)
	if len(all.Items) != 1 {
		t.Errorf("a refusal stored something: %+v", all)
	}
}

func flat(p admin.Problem) string {
	var b strings.Builder
	for _, e := range p.Errors {
		b.WriteString(" " + e.Location + " " + e.Message)
	}
	return b.String()
}

func TestUnknownServerNamesTheNearest(t *testing.T) {
	h := newHome(t)
	h.add("memory")
	p := h.do("GET", "/api/v1/servers/memmory", nil).refused(404, "not_found")
	if !strings.Contains(p.Hint, `"memory"`) {
		t.Errorf("hint %q", p.Hint)
	}
	for _, act := range []string{"enable", "disable", "quarantine", "restart", "discover"} {
		h.do("POST", "/api/v1/servers/nobody/"+act, nil).refused(404, "not_found")
	}
	h.do("DELETE", "/api/v1/servers/nobody", nil).refused(404, "not_found")
	h.do("GET", "/api/v1/servers/nobody/logs", nil).refused(404, "not_found")
	h.do("GET", "/api/v1/servers/nobody/release", nil).refused(404, "not_found")
}

func TestSwitches(t *testing.T) {
	h := newHome(t)
	s := h.add("mail", tool("send", "Sends."))
	h.release("mail")
	if x := h.tool("mail", "send"); !x.Ready {
		t.Fatalf("after the release: %+v", x)
	}
	h.do("POST", "/api/v1/servers/mail/quarantine?expected_incarnation=another", nil).refused(409, "server_replaced")
	h.do("POST", "/api/v1/servers/mail/quarantine?expected_incarnation="+s.Incarnation, nil).into(200, &s)
	if !s.Quarantined || h.tool("mail", "send").Ready {
		t.Error("quarantine does not hide")
	}
	h.release("mail")
	h.do("POST", "/api/v1/servers/mail/disable", nil).into(200, &s)
	if s.Enabled || s.Summary != "disabled" || h.tool("mail", "send").Reasons[0] != "server_disabled" {
		t.Errorf("disabled: %+v", s)
	}
	h.do("POST", "/api/v1/servers/mail/discover", nil).refused(503, "unavailable")
	h.do("POST", "/api/v1/servers/mail/restart", nil).refused(503, "unavailable")
	h.do("POST", "/api/v1/servers/mail/enable", nil).into(200, &s)
	h.do("POST", "/api/v1/servers/mail/restart", nil).into(200, &s)
	h.do("DELETE", "/api/v1/servers/mail", nil).into(204, nil)
	h.do("GET", "/api/v1/servers/mail", nil).refused(404, "not_found")
	var acts admin.Page[admin.AuditEntry]
	h.do("GET", "/api/v1/audit?type=server&server=mail", nil).into(200, &acts)
	var seen []string
	for _, e := range acts.Items {
		seen = append(seen, e.Act.What)
		if e.Actor.Kind == "holdfast" {
			continue
		}
		if e.Actor.Kind != "person" || e.Actor.Name != "maria" || e.RequestID == "" {
			t.Errorf("who and by which request: %+v", e)
		}
	}
	for _, what := range []string{"added", "quarantined", "released", "disabled", "enabled", "restarted", "removed"} {
		if !strings.Contains(strings.Join(seen, " "), what) {
			t.Errorf("%s is not in the audit: %v", what, seen)
		}
	}
}

func TestReleaseNamesWhatWasSeen(t *testing.T) {
	h := newHome(t)
	h.add("mail", tool("send", "Sends."))
	var p admin.ReleasePreview
	h.do("GET", "/api/v1/servers/mail/release", nil).into(200, &p)
	r := admin.Release{ExpectedIncarnation: p.Incarnation, Tools: []admin.SeenTool{{Name: "send", Digest: p.Approves[0].Digest}}}

	h.offers.offer("mail", tool("send", "Sends, and tells others."))
	h.do("POST", "/api/v1/servers/mail/discover", nil).into(200, nil)
	h.do("POST", "/api/v1/servers/mail/release", r).refused(409, "review_out_of_date")

	h.do("GET", "/api/v1/servers/mail/release", nil).into(200, &p)
	r.Tools[0].Digest = p.Approves[0].Digest
	wrong := r
	wrong.ExpectedIncarnation = "another"
	h.do("POST", "/api/v1/servers/mail/release", wrong).refused(409, "server_replaced")
	h.do("POST", "/api/v1/servers/mail/release", admin.Release{ExpectedIncarnation: p.Incarnation, Tools: []admin.SeenTool{}}).refused(409, "review_out_of_date")
	h.do("POST", "/api/v1/servers/mail/release", map[string]any{"expected_incarnation": p.Incarnation}).refused(422, "bad_input")
	if h.tool("mail", "send").Ready {
		t.Fatal("a refused release released")
	}
	h.do("POST", "/api/v1/servers/mail/release", r).into(200, nil)
	h.do("POST", "/api/v1/servers/mail/release", r).refused(409, "not_quarantined")
}

func TestPatchChangesOnlyWhatItNames(t *testing.T) {
	h := newHome(t)
	var s admin.Server
	h.do("POST", "/api/v1/servers", `{"name":"mail","program":{"command":"run","env":{"A":"1","B":"2"}},"options":{"timeout":"30s"}}`).into(201, &s)
	first := s.Incarnation
	h.do("PATCH", "/api/v1/servers/mail", `{"options":{}}`).refused(422, "bad_input")
	h.do("PATCH", "/api/v1/servers/mail", `{"expected_incarnation":"x","options":{}}`).refused(409, "server_replaced")
	h.do("PATCH", "/api/v1/servers/mail", `{"expected_incarnation":"`+first+`","options":{"trust_mode":"manual"}}`).into(200, &s)
	if s.Incarnation != first || s.TrustMode != "manual" || s.Options.Timeout != "30s" {
		t.Errorf("options: %+v", s)
	}
	s = admin.Server{}
	h.do("PATCH", "/api/v1/servers/mail", `{"expected_incarnation":"`+first+`","program":{"env":{"A":null,"C":"3"}}}`).into(200, &s)
	_, hasA := s.Program.Env["A"]
	_, hasB := s.Program.Env["B"]
	_, hasC := s.Program.Env["C"]
	if s.Incarnation == first || hasA || !hasB || !hasC || s.Program.Command != "run" {
		t.Errorf("program: %+v", s)
	}
}

func TestStateSentences(t *testing.T) {
	h := newHome(t)
	h.add("mail", tool("send", "Sends."))
	h.offers.states["mail"] = admin.ServerState{Phase: "backing_off", Error: "the command was not found", NextTry: time.Now().Add(12 * time.Second)}
	var s admin.Server
	h.do("GET", "/api/v1/servers/mail", nil).into(200, &s)
	for _, part := range []string{"backing off", "the command was not found", "next try in 1", "quarantined", "1 to review"} {
		if !strings.Contains(s.Summary, part) {
			t.Errorf("%q does not say %q", s.Summary, part)
		}
	}
	h.offers.logs = []string{"one", "two"}
	var l admin.Logs
	h.do("GET", "/api/v1/servers/mail/logs?lines=2", nil).into(200, &l)
	if len(l.Lines) != 2 {
		t.Errorf("logs: %+v", l)
	}
	h.do("GET", "/api/v1/servers/mail/logs?lines=0", nil).refused(422, "bad_input")
	h.do("GET", "/api/v1/servers/mail/logs?line=5", nil).refused(422, "bad_input")
}

func TestOnlyAPersonGetsAnywhere(t *testing.T) {
	h := newHome(t)
	h.add("mail", tool("send", "Sends."))
	paths := []string{
		"/api/v1/servers/mail", "/api/v1/servers/nobody", "/api/v1/servers/mail/tools/send", "/api/v1/tokens",
		"/api/v1/audit/export", "/openapi.json", "/nowhere",
	}
	for who, code := range map[record.ActorKind]string{record.Agent: "not_for_agents", record.Nobody: "unauthorized", record.Operator: "unauthorized"} {
		h.who = record.Actor{Kind: who, Name: "x"}
		var first string
		for _, path := range paths {
			status := 401
			if who == record.Agent {
				status = 403
			}
			a := h.do("GET", path, nil)
			p := a.refused(status, code)
			body := strings.ReplaceAll(a.Body.String(), p.RequestID, "ID")
			if first == "" {
				first = body
			}
			if body != first {
				t.Errorf("%s: %s tells something", who, path)
			}
		}
		h.do("POST", "/api/v1/servers/mail/release", `{}`).refused(map[bool]int{true: 403, false: 401}[who == record.Agent], code)
		h.do("GET", "/healthz", nil).into(200, nil)
	}
}

// TestProposalIsShownAndNamed: what an agent proposed is shown as it is, masks
// could hide what it does, and it is enabled only by who names all of it.
func TestProposalIsShownAndNamed(t *testing.T) {
	h := newHome(t)
	program := approval.Program{
		Type: "stdio", Command: "bash", Args: []string{"-c", "echo token ;{touch,/tmp/pwned};echo password=x"},
		Env: map[string]string{"BASH_ENV": "/tmp/evil.sh"},
	}
	agent := record.Actor{Kind: record.Agent, Name: "claude"}
	if _, err := h.intake.Apply(t.Context(), "notes", func(s approval.State) (approval.Change, error) {
		return approval.Add(s, approval.AddRequest{Name: "notes", Way: approval.ByMCP, Actor: agent, Program: program, Incarnation: "i1"})
	}); err != nil {
		t.Fatal(err)
	}
	var s admin.Server
	h.do("GET", "/api/v1/servers/notes", nil).into(200, &s)
	if s.Program.Args[1] != program.Args[1] || s.Program.Env["BASH_ENV"] != "/tmp/evil.sh" || s.Digest != string(program.Digest()) {
		t.Errorf("shown: %+v", s)
	}
	const enable = "/api/v1/servers/notes/enable?expected_incarnation=i1"
	h.do("POST", enable, nil).refused(422, "bad_input")
	h.do("POST", enable+"&expected_program=sha256:00", nil).refused(409, "review_out_of_date")
	h.do("PATCH", "/api/v1/servers/notes", `{"expected_incarnation":"i1","program":{"env":{"MINE":"secret"}}}`).refused(403, "forbidden")
	h.do("POST", enable+"&expected_program="+s.Digest, nil).into(200, &s)
	if s.Proposal || !s.Enabled || s.Program.Env["BASH_ENV"] != "***" {
		t.Errorf("enabled: %+v", s)
	}
	if audit := h.do("GET", "/api/v1/audit", nil).Body.String(); strings.Count(audit, `/tmp/evil.sh`) != 2 || strings.Count(audit, s.Digest) != 2 {
		t.Errorf("proposed and enabled are to say what runs: %s", audit)
	}
}

// TestUnlistedServerSaysSo: connected is not the whole truth about a server of
// which nothing can be seen.
func TestUnlistedServerSaysSo(t *testing.T) {
	h := newHome(t)
	h.add("mail", tool("send", "Sends."))
	h.offers.states["mail"] = admin.ServerState{Phase: "connected", ListingError: "it names the tool \"send\" twice"}
	var s admin.Server
	h.do("GET", "/api/v1/servers/mail", nil).into(200, &s)
	if !strings.Contains(s.Summary, "could not be listed: it names") || !strings.Contains(s.State.ListingError, "twice") {
		t.Errorf("%+v", s)
	}
	var st admin.Status
	h.do("GET", "/api/v1/status", nil).into(200, &st)
	if len(st.Warnings) != 1 || !strings.Contains(st.Warnings[0], "mail") || !strings.Contains(st.Warnings[0], "twice") {
		t.Errorf("%q", st.Warnings)
	}
}

// TestBrokenStoreIsTold: without the audit nothing is done, and people are told.
func TestBrokenStoreIsTold(t *testing.T) {
	h := newHome(t)
	h.do("GET", "/readyz", nil).into(200, nil)
	h.broken = fault.New(fault.Storage, "the disk is full", "")
	if p := h.do("GET", "/readyz", nil).refused(503, "unavailable"); !strings.Contains(p.Detail, "audit") {
		t.Errorf("%q", p.Detail)
	}
	h.do("GET", "/healthz", nil).into(200, nil)
	var st admin.Status
	h.do("GET", "/api/v1/status", nil).into(200, &st)
	if len(st.Warnings) != 1 || !strings.Contains(st.Warnings[0], "the disk is full") {
		t.Errorf("%q", st.Warnings)
	}
}

// TestServerOfThousandsIsReleased: the largest listing that there may be fits into
// one decision.
// TestServerOfThousandsIsReleased: a decision about very many tools is one request.
func TestServerOfThousandsIsReleased(t *testing.T) {
	h := newHome(t)
	const many = 2000 // with names so long that the request has over 1 MiB
	var tools []string
	for i := range many {
		tools = append(tools, tool(fmt.Sprintf("%s_%d", strings.Repeat("a_long_name", 45), i), "Does."))
	}
	h.add("big", tools...)
	h.release("big")
	var s admin.Server
	h.do("GET", "/api/v1/servers/big", nil).into(200, &s)
	if s.Quarantined || s.Tools.Ready != many {
		t.Errorf("%q %+v", s.Summary, s.Tools)
	}
	p := h.do("POST", "/api/v1/servers/big/tools/approve", `{"expected_incarnation":"`+strings.Repeat("a", 17<<20)+`"}`).refused(413, "too_large")
	if !strings.Contains(p.Detail, "16 MiB") || p.Hint == "" {
		t.Errorf("%q %q", p.Detail, p.Hint)
	}
}
