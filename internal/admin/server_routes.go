package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// body is an answer with a JSON body.
type body[T any] struct{ Body T }

// OnServer names a server.
type OnServer struct {
	Name string `path:"name" maxLength:"32" doc:"Name of the server"`
}

// OnSeenServer acts on a server that a person saw.
type OnSeenServer struct {
	OnServer
	ExpectedIncarnation string `query:"expected_incarnation" maxLength:"200" doc:"Refuse with server_replaced when the server is not this one any more"`
}

func (a *api) serverRoutes() {
	const servers, one = "/api/v1/servers", "/api/v1/servers/{name}"
	route(a, "list-servers", http.MethodGet, servers, "List the servers", a.listServers)
	route(a, "add-server", http.MethodPost, servers, "Add a server", a.addServer)
	route(a, "get-server", http.MethodGet, one, "Get a server", a.getServer)
	route(a, "patch-server", http.MethodPatch, one, "Change what is run, or the options, of a server", a.patchServer)
	route(a, "remove-server", http.MethodDelete, one, "Remove a server, its records and the tokens' grants on it", a.removeServer)
	route(a, "enable-server", http.MethodPost, one+"/enable", "Enable a server", a.enableServer)
	route(a, "disable-server", http.MethodPost, one+"/disable", "Disable a server and cancel its calls", a.switchServer(approval.Disable))
	route(a, "quarantine-server", http.MethodPost, one+"/quarantine", "Quarantine a server and cancel its calls", a.switchServer(approval.Quarantine))
	route(a, "preview-release", http.MethodGet, one+"/release", "What a release would approve and leave", a.previewRelease)
	route(a, "release-server", http.MethodPost, one+"/release", "Release a server from quarantine", a.releaseServer)
	route(a, "restart-server", http.MethodPost, one+"/restart", "Stop and start a server, without waiting for a back-off", a.restartServer)
	route(a, "discover-server", http.MethodPost, one+"/discover", "List what a server offers now", a.discoverServer)
	route(a, "server-logs", http.MethodGet, one+"/logs", "The last lines of a server's standard error", a.serverLogs)
}

// maxDecision bounds the body of a decision, in bytes: it names up to 10,000 tools
// with their digests. Other bodies are bounded by the framework, at 1 MiB.
const maxDecision = 16 << 20

// route registers one operation with the errors that every one may give.
func route[I, O any](a *api, id, method, path, summary string, h func(context.Context, *I) (*O, error)) {
	o := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{tagOf(path)},
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict},
	}
	if slices.Contains([]string{"release-server", "approve-tools", "dismiss-tools", "block-tools", "unblock-tools"}, id) {
		o.MaxBodyBytes = maxDecision
	}
	if method == http.MethodPost && (id == "add-server" || id == "create-token") {
		o.DefaultStatus = http.StatusCreated
	}
	huma.Register(a.huma, o, func(ctx context.Context, in *I) (*O, error) {
		out, err := h(ctx, in)
		if err != nil {
			return nil, a.fail(ctx, err)
		}
		return out, nil
	})
}

// expect refuses when the server is not the one that a person saw.
func expect(s approval.State, incarnation string) error {
	if incarnation != "" && s.Server.Version > 0 && s.Server.Incarnation != incarnation {
		return fault.New(fault.ServerReplaced, "the server "+s.Server.Name+" is not the one you saw: what is run has changed since",
			"look at it again and repeat with its new incarnation")
	}
	return nil
}

// stored refuses when there is no such server.
func (a *api) stored(s approval.State, name string) error {
	if s.Server.Version == 0 {
		return noServer(a.Trust.Catalogue(), name)
	}
	return nil
}

// answerServer gives a server as it stands after an act.
func (a *api) answerServer(name string) (*body[Server], error) {
	c := a.Trust.Catalogue()
	s, ok := c.Server(name)
	if !ok {
		return nil, noServer(c, name)
	}
	return &body[Server]{a.serverView(c, s)}, nil
}
