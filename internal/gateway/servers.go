package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// serverView is a server as an agent may see it: no command, address, environment
// or header, for these hold secrets.
type serverView struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	State       string   `json:"state"` // serving, quarantined, disabled, proposed or not_configured
	TrustMode   string   `json:"trust_mode"`
	Quarantined bool     `json:"quarantined"`
	Enabled     bool     `json:"enabled"`
	Ready       int      `json:"ready_tools"`
	Held        int      `json:"held"` // waiting for a person's review
	Tools       []string `json:"tools,omitempty"`
}

// upstreamServers answers upstream_servers: agents look, propose and tighten.
func (g *Gateway) upstreamServers(ctx context.Context, s *session, x wire.Exchange) ([]byte, *wire.RPCError) {
	a := readArguments(x.Message.Params)
	operation, name := a.text("operation", required), a.text("name")
	add := readAddition(a)
	if problem := a.problem(); problem != "" {
		return g.badArguments(s, x, problem), nil
	}
	switch operation {
	case "list":
		return g.listServers(s), nil
	case "inspect", "get", "add", "disable", "quarantine":
		if name == "" {
			return g.badArguments(s, x, "the argument name is missing"), nil
		}
	default:
		return g.notForAgents(s, x, operation, name), nil
	}
	switch operation {
	case "add":
		return g.propose(ctx, s, x, name, add), nil
	case "disable":
		return g.tighten(ctx, s, x, name, "disabled", approval.Disable), nil
	case "quarantine":
		return g.tighten(ctx, s, x, name, "quarantined", approval.Quarantine), nil
	}
	return g.inspectServer(s, x, name), nil
}

// deeds are what agents ask for most of what is not for them, and the command that
// a person would type.
var deeds = map[string]string{
	"approve": "tool list --status review", "unblock": "tool unblock", "block": "tool block", "dismiss": "tool list --status review",
	"release": "server release", "unquarantine": "server release", "security_approve": "server release",
	"enable": "server enable", "remove": "server remove", "delete": "server remove", "restart": "server restart",
	"update": "server", "edit": "server", "patch": "server",
}

// notForAgents refuses every other operation.
func (g *Gateway) notForAgents(s *session, x wire.Exchange, operation, server string) []byte {
	operation = oneLine(operation, 40)
	command, known := deeds[operation]
	if !known {
		return g.badArguments(s, x, "there is no operation "+strconv.QuoteToASCII(operation))
	}
	switch {
	case !g.mayKnow(s, server):
		server = ""
	case strings.HasPrefix(command, "server "):
		command += " " + server
	}
	return g.ownRefusal(s, x, server, dispatch.Reason(approval.CodeNotForAgents),
		"the operation "+operation+" is not for agents; nothing was changed",
		"A person can do it with: holdfast "+command)
}

// mayKnow reports whether a server is stored and stands in the agent's scope.
func (g *Gateway) mayKnow(s *session, server string) bool {
	_, ok := g.o.Tools.Catalogue().Server(server)
	return ok && scopeHas(s.agent.now(), server)
}

// noServer answers for a server that is not there, or outside the scope: the same.
func (g *Gateway) noServer(s *session, x wire.Exchange, name string) []byte {
	return g.ownRefusal(s, x, "", dispatch.Reason(approval.CodeNotFound),
		"there is no server "+strconv.QuoteToASCII(cut(name, 64))+" here", "List the servers that there are.")
}

func (g *Gateway) listServers(s *session) []byte {
	c, caller := g.o.Tools.Catalogue(), s.agent.now()
	views := []serverView{}
	text := ""
	for _, srv := range c.Servers() {
		if scopeHas(caller, srv.Name) {
			v := viewServer(c, caller, srv)
			v.Tools = nil
			views = append(views, v)
			text += "\n- " + v.line()
		}
	}
	return answered(fmt.Sprintf("Servers: %d.%s", len(views), text), marshal(map[string]any{"servers": views}))
}

func (g *Gateway) inspectServer(s *session, x wire.Exchange, name string) []byte {
	if !g.mayKnow(s, name) {
		return g.noServer(s, x, name)
	}
	c := g.o.Tools.Catalogue()
	srv, _ := c.Server(name)
	v := viewServer(c, s.agent.now(), srv)
	text := v.line()
	if len(v.Tools) > 0 {
		text += "\nReady tools: " + strings.Join(v.Tools, ", ")
	}
	if v.Held > 0 {
		text += "\nquarantine_security tells what is held, and why."
	}
	return answered(text, marshal(v))
}

func viewServer(c *dispatch.Catalogue, caller dispatch.Caller, srv approval.Server) serverView {
	mode, _ := c.Settings().ModeOf(srv)
	v := serverView{
		Name: srv.Name, Type: srv.Program.Type, State: "serving", TrustMode: mode.String(),
		Quarantined: srv.Quarantined, Enabled: srv.Enabled,
	}
	switch {
	case !srv.Named:
		v.State = "not_configured"
	case srv.Proposal:
		v.State = "proposed"
	case !srv.Enabled:
		v.State = "disabled"
	case srv.Quarantined:
		v.State = "quarantined"
	}
	for _, e := range c.Entries(srv.Name) {
		ready, held := e.Reason == dispatch.Ready && e.Record.Key.Kind == approval.Tool, e.Record.InReview()
		if !ready && !held || !inScope(c, caller, e) {
			continue
		}
		if ready {
			v.Ready++
			v.Tools = append(v.Tools, e.Direct)
		}
		if held {
			v.Held++
		}
	}
	return v
}

func (v serverView) line() string {
	return fmt.Sprintf("%s: %s (%s, trust mode %s); ready tools: %d; held: %d", v.Name, strings.ReplaceAll(v.State, "_", " "), v.Type, v.TrustMode, v.Ready, v.Held)
}

// addition is what an agent proposes.
type addition struct {
	program approval.Program
	options approval.Options
	ask     approval.Ask
}

func readAddition(a *arguments) addition {
	var add addition
	add.program = approval.Program{
		Type: a.text("type"), Command: a.text("command"), Args: a.texts("args", 1000), Cwd: a.text("cwd"),
		Env: a.pairs("env"), URL: a.text("url"), Headers: a.pairs("headers"), Isolation: a.text("isolation"),
	}
	add.options = approval.Options{TrustMode: a.text("trust_mode"), OnHold: a.text("on_hold")}
	if more, set := a.flag("quarantined"); set {
		add.ask = approval.AskLess
		if more {
			add.ask = approval.AskMore
		}
	}
	return add
}

// propose stores a server that a person may enable. What loosens is refused by the law.
func (g *Gateway) propose(ctx context.Context, s *session, x wire.Exchange, name string, add addition) []byte {
	if !s.agent.now().Permissions.Write {
		return g.mayNotWrite(s, x)
	}
	if !scopeHas(s.agent.now(), name) {
		return g.ownRefusal(s, x, "", dispatch.PermissionMissing, "this token may not propose a server of that name, which is outside its scope",
			"A person can add the server with: holdfast server add")
	}
	incarnation := rand.Text()
	g.proposing.Lock() // one at a time, so that the count below is right
	defer g.proposing.Unlock()
	_, err := g.o.Tools.Apply(ctx, name, func(state approval.State) (approval.Change, error) {
		return approval.Add(state, approval.AddRequest{
			Name: name, Way: approval.ByMCP, Actor: s.actor(), Program: add.program, Options: add.options,
			Quarantine: add.ask, Incarnation: incarnation, Proposals: g.proposals(),
		})
	})
	if err != nil {
		return g.actRefused(s, x, name, err)
	}
	return answered("Proposed: the server "+name+" is stored and does not run. A person looks at it and decides, with: holdfast server enable "+name,
		marshal(map[string]any{"name": name, "state": "proposed", "enabled": false}))
}

// proposals counts the servers that agents proposed and nobody decided on.
func (g *Gateway) proposals() (n int) {
	for _, s := range g.o.Tools.Catalogue().Servers() {
		if s.Proposal {
			n++
		}
	}
	return n
}

// tighten runs an act that agents may ask for.
func (g *Gateway) tighten(ctx context.Context, s *session, x wire.Exchange, name, done string, act func(approval.State, record.Actor) (approval.Change, error)) []byte {
	if !s.agent.now().Permissions.Write {
		return g.mayNotWrite(s, x)
	}
	if !g.mayKnow(s, name) {
		return g.noServer(s, x, name)
	}
	change, err := g.o.Tools.Apply(ctx, name, func(state approval.State) (approval.Change, error) { return act(state, s.actor()) })
	if err != nil {
		return g.actRefused(s, x, name, err)
	}
	text := "Done: the server " + name + " is " + done + "; only a person can undo this."
	if change.Empty() {
		text = "Nothing to do: the server " + name + " was " + done + " before."
	}
	return answered(text, marshal(map[string]any{"name": name, "state": done, "changed": !change.Empty()}))
}

// actor is the agent as the law and the audit know it, whoever runs it.
func (s *session) actor() record.Actor {
	return record.Actor{Kind: record.Agent, Name: s.agent.now().Name}
}

func (g *Gateway) mayNotWrite(s *session, x wire.Exchange) []byte {
	return g.ownRefusal(s, x, "", dispatch.PermissionMissing, "this token is not permitted to "+contract.Write.String()+", which this operation needs",
		"A person can create a token with the permission write: holdfast token create")
}

// actRefused renders why an act was not done.
func (g *Gateway) actRefused(s *session, x wire.Exchange, name string, err error) []byte {
	kind, what, hint := fault.KindOf(err), bounded(err.Error(), maxReason), bounded(fault.HintOf(err), maxReason)
	if kind == fault.Internal || kind == fault.Storage || kind == fault.Corrupt {
		g.o.Log.Error("an agent's act failed", "server", bounded(name, maxKept), "err", bounded(err.Error(), maxReason))
		what, hint = "Holdfast could not store it, and nothing was changed", "A person can find out why with: holdfast doctor"
	}
	return g.ownRefusal(s, x, name, dispatch.Reason(kind), what, hint)
}
