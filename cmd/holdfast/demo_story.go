package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// story is what the demonstration tells, step by step.
func (x *demo) story(ctx context.Context) error {
	x.printf("%s\n\n", x.style(bold, "Holdfast: a gate between AI agents and their tools"))
	x.fields("data", x.dir, "agents", x.daemon.mcp)

	x.begin("Two servers are added. Nobody vouched for them, so both are quarantined.")
	if err := x.addServers(ctx); err != nil {
		return err
	}
	x.begin("An agent connects with a fresh token and asks which tools there are.")
	if err := x.createToken(ctx); err != nil {
		return err
	}
	agent, err := x.connect(ctx)
	if err != nil {
		return err
	}
	defer agent.Close()
	if err := x.showTools(ctx, agent); err != nil {
		return err
	}
	x.begin("A reviewer looks at what waits and releases the servers.")
	if err := x.releaseAll(ctx); err != nil {
		return err
	}
	x.begin("The agent asks again, and calls.")
	if err := x.showTools(ctx, agent); err != nil {
		return err
	}
	if err := x.calls(ctx, agent); err != nil {
		return err
	}
	x.begin("The mail server rewords send_mail. It asks for nothing more, and the scan of its texts finds nothing: it passes by itself.")
	if err := x.rewordTool(ctx); err != nil {
		return err
	}
	x.begin("The mail server changes send_mail: it wants one more address, to which every mail is copied.")
	if err := x.changeTool(ctx); err != nil {
		return err
	}
	x.begin("The agent, which knows nothing of it, sends a mail.")
	if err := x.call(ctx, agent, "mail__send_mail", toAna); err != nil {
		return err
	}
	if err := x.showTools(ctx, agent); err != nil {
		return err
	}
	return x.yourTurn(ctx)
}

// toAna is the mail that the agent sends.
var toAna = map[string]any{"to": "ana@garden.example", "subject": "Sunday", "text": "I will come by at three."}

func (x *demo) begin(sentence string) {
	x.step++
	x.printf("\n%s\n", x.style(bold, hang(fmt.Sprintf(" %d  ", x.step), sentence)))
}

// say prints a line under a step: who or what, and what about it.
func (x *demo) say(who, format string, args ...any) {
	text := fmt.Sprintf("    %-10s", who)
	x.printf("%s\n", hang(text, visible(fmt.Sprintf(format, args...))))
}

// width is what a terminal has at least.
const width = 80

// hang wraps text behind a first column.
func hang(first, text string) string {
	indent := utf8.RuneCountInString(first)
	var b strings.Builder
	b.WriteString(first)
	column := indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if i > 0 && column+1+n > width {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		} else if i > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// connect is an agent like any other: the official SDK over HTTP with a token.
func (x *demo) connect(ctx context.Context) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "demo-agent", Version: version}, nil)
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: x.daemon.mcp, HTTPClient: &http.Client{Transport: bearer(x.secret)},
	}, nil)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the agent of the demonstration could not connect", "the log is "+filepath.Join(x.dir, "holdfast.log"))
	}
	return s, nil
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// showTools tells what the agent sees: the mail server's tools by name, how many
// there are of others, and whether the one that changed is among them.
func (x *demo) showTools(ctx context.Context, agent *mcp.ClientSession) error {
	var names []string
	others, sending := 0, false
	for t, err := range agent.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		sending = sending || t.Name == "mail__send_mail"
		if strings.HasPrefix(t.Name, "mail__") {
			names = append(names, t.Name)
		} else {
			others++
		}
	}
	switch {
	case len(names)+others == 0:
		x.say("agent", "sees no tool: what is quarantined is not shown")
		return nil
	case others > 0:
		names = append(names, fmt.Sprintf("%d of memory", others))
	}
	text := fmt.Sprintf("sees %s: %s", plural(len(names)+others-min(others, 1), "tool"), strings.Join(names, ", "))
	if !sending {
		text += "; no mail__send_mail"
	}
	x.say("agent", "%s", text)
	return nil
}

func (x *demo) releaseAll(ctx context.Context) error {
	for _, name := range x.names {
		p, err := x.release(ctx, name)
		if err != nil {
			return err
		}
		tools, err := all[admin.Tool](ctx, x.client, "/api/v1/tools", url.Values{"server": {name}})
		if err != nil {
			return err
		}
		var names []string
		for _, t := range tools {
			names = append(names, t.Name)
		}
		text := fmt.Sprintf("%s pinned: %s", plural(len(names), "contract"), strings.Join(names, ", "))
		if len(p.Approves) == 0 {
			text += "; the scan had found each of them clean"
		}
		x.say(name, "%s", text)
	}
	return nil
}

func (x *demo) calls(ctx context.Context, agent *mcp.ClientSession) error {
	if err := x.call(ctx, agent, "mail__list_inbox", map[string]any{}); err != nil {
		return err
	}
	if err := x.call(ctx, agent, "mail__send_mail", toAna); err != nil {
		return err
	}
	if len(x.names) < 2 {
		return nil
	}
	return x.call(ctx, agent, "memory__create_entities", map[string]any{"entities": []map[string]any{
		{"name": "Ana", "entityType": "person", "observations": []string{"grows tomatoes"}},
	}})
}

// call calls a tool and shows the answer or the refusal.
func (x *demo) call(ctx context.Context, agent *mcp.ClientSession, tool string, args map[string]any) error {
	r, err := agent.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err
	}
	var text []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text = append(text, strings.Join(strings.Fields(t.Text), " "))
		}
	}
	said := cut(strings.Join(text, " "), 500)
	x.say("agent", "calls %s", tool)
	if !r.IsError {
		x.say("", "%s", "→ "+cut(said, 130))
		return nil
	}
	x.say("", "%s", "✗ "+said)
	var refusal struct {
		Reasons []string `json:"reasons"`
	}
	if b, err := json.Marshal(r.StructuredContent); err == nil && json.Unmarshal(b, &refusal) == nil && len(refusal.Reasons) > 0 {
		x.say("", "reasons: %s", strings.Join(refusal.Reasons, ", "))
	}
	return nil
}

// rewordTool makes the mail server change a text and waits until Holdfast, which the
// server told, has let it pass.
func (x *demo) rewordTool(ctx context.Context) error {
	var was admin.Tool
	if err := x.client.do(ctx, http.MethodGet, toolPath(mailTool), nil, &was); err != nil {
		return err
	}
	t, err := x.becomes(ctx, "1.4.1", func(t admin.Tool) bool { return t.Ready && t.Approved != was.Approved })
	if err != nil {
		return err
	}
	var p admin.Page[admin.AuditEntry]
	q := url.Values{"server": {t.Server}, "name": {t.Name}, "type": {"transition"}, "limit": {"1"}}
	if err := x.client.do(ctx, http.MethodGet, "/api/v1/audit?"+q.Encode(), nil, &p); err != nil {
		return err
	}
	if len(p.Items) == 0 {
		return fault.New(fault.Internal, "the audit has no entry of the approval", "")
	}
	var e admin.AuditEntry
	if err := x.client.do(ctx, http.MethodGet, fmt.Sprintf("/api/v1/audit/entries/%d", p.Items[0].Seq), nil, &e); err != nil {
		return err
	}
	if e.Transition == nil || e.Transition.Old == nil || e.Transition.New == nil {
		return fault.New(fault.Internal, "the audit does not have both definitions", "")
	}
	x.say("holdfast", "approves it by itself: no structural change, the scan is %s", e.Transition.Verdict)
	x.say("audit", "entry %d keeps the definition before and after:", e.Seq)
	for _, l := range e.Transition.Lines {
		x.printf("%s\n", exactly("              ", visible(l.Path)+": "+marked(l.Runs)))
	}
	return nil
}

// changeTool makes the mail server change its tool and waits until Holdfast holds it.
func (x *demo) changeTool(ctx context.Context) error {
	t, err := x.becomes(ctx, "1.5.0", func(t admin.Tool) bool { return t.Status == "changed" })
	if err != nil {
		return err
	}
	return x.showChange(ctx, t)
}

// becomes gives the mail server another release of its tool and waits until it
// stands as expected.
func (x *demo) becomes(ctx context.Context, release string, stands func(admin.Tool) bool) (t admin.Tool, err error) {
	if err := os.WriteFile(x.change, []byte(release), 0o600); err != nil {
		return t, err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := x.client.do(ctx, http.MethodGet, toolPath(mailTool), nil, &t); err != nil {
			return t, err
		}
		if stands(t) {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return t, fault.New(fault.Timeout, "the change of the mail server was not judged as expected; it stands as: "+t.Summary, "the log is "+filepath.Join(x.dir, "holdfast.log"))
		case <-tick.C:
		}
	}
}

var mailTool = toolName{server: "mail", kind: "tool", name: "send_mail"}

// showChange shows why the change is held, and what changed.
func (x *demo) showChange(ctx context.Context, t admin.Tool) error {
	r, err := review(ctx, x.client, mailTool)
	if err != nil || r.Approved == nil {
		return err
	}
	if t.Held != nil {
		x.say("holdfast", "holds it: %s", strings.ToLower(t.Held.Explanation[:1])+strings.TrimSuffix(t.Held.Explanation[1:], "."))
	}
	x.printf("\n")
	x.printReviewLines("    ", r.Lines)
	return nil
}

// yourTurn says what a person does now, with the very commands.
func (x *demo) yourTurn(ctx context.Context) error {
	r, err := review(ctx, x.client, mailTool)
	if err != nil {
		return err
	}
	waiting, err := all[admin.Tool](ctx, x.client, "/api/v1/review", url.Values{})
	if err != nil {
		return err
	}
	x.printf("\n%s\n\n", x.style(bold, hang("", plural(len(waiting), "contract")+" to review. Look at what changed, and decide:")))
	x.printf("  %s\n\n", x.command("tool", "show", "mail/send_mail"))
	x.printf("  %s\n", strings.Replace(x.approveLine(r), " --digest", " \\\n      --digest", 1))
	x.printf("  %s\n", x.command("tool", "block", "mail/send_mail"))
	return nil
}

// invite says how to connect a client of one's own.
func (x *demo) invite() {
	x.printf("\n%s\n\n", x.style(bold, "Connect a client of your own (the token is "+x.token+"):"))
	for line := range strings.Lines(x.clientConfig()) {
		x.printf("  %s", line)
	}
	x.printf("\n\n%s\n\n", hang("", "Everything that happened is in the audit; Ctrl-C ends the demonstration."))
	x.printf("  %s\n", x.command("audit", "list"))
	x.printf("  %s\n", x.command("status"))
}

// command is a command line for this data directory, as the user can type it.
func (a *app) command(words ...string) string {
	line := []string{a.self()}
	if a.dataDir != "" {
		line = append(line, "--data-dir", shellWord(a.dataDir))
	}
	for _, w := range words {
		line = append(line, shellWord(w))
	}
	return strings.Join(line, " ")
}

// self is how the user started this program.
func (a *app) self() string {
	name := os.Args[0]
	switch {
	case strings.Contains(name, "go-build"):
		return "go run ./cmd/holdfast"
	case strings.ContainsRune(name, filepath.Separator):
		return shellWord(name)
	}
	return "holdfast"
}

// selfPath is this program, to be started again. How it was called is asked first:
// the system may only know what a link points to.
func selfPath() string {
	if p, err := exec.LookPath(os.Args[0]); err == nil {
		if p, err = filepath.Abs(p); err == nil {
			return p
		}
	}
	if p, err := os.Executable(); err == nil {
		return p
	}
	return os.Args[0]
}
