package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

type requestKey struct{}

// request is what every handler knows of the request it answers.
type request struct {
	id    string
	actor record.Actor
}

func requestOf(ctx context.Context) request {
	r, _ := ctx.Value(requestKey{}).(request)
	return r
}

func requestID(ctx context.Context) string { return requestOf(ctx).id }

// actorOf is who asks; the zero Actor, who may do nothing, outside a request.
func actorOf(ctx context.Context) record.Actor { return requestOf(ctx).actor }

// RequestIDHeader carries the id that the audit carries too.
const RequestIDHeader = "X-Request-Id"

// identify gives every request an id, which is never taken from the client because
// it goes into the audit, finds out who asks, and lets only a person further. The
// answer to others is given before anything is looked up, so that it is the same
// whether the thing they ask about exists or not.
func (a *api) identify(whoOf func(*http.Request) record.Actor, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := request{id: "req-" + rand.Text()[:20], actor: whoOf(r)}
		w.Header().Set(RequestIDHeader, q.id)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, q))
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			a.Log.Error("a request failed unexpectedly", "request", q.id, "method", r.Method, "path", r.URL.Path,
				"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			writeProblem(w, r, fault.New(fault.Internal, "something went wrong inside Holdfast", "look for the request id in the log"))
		}()
		if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			switch q.actor.Kind {
			case record.Person:
			case record.Agent:
				writeProblem(w, r, fault.New(fault.NotForAgents, "agents can't use the administration API", "a person does this over the unix socket of the data directory"))
				return
			default:
				writeProblem(w, r, fault.New(fault.Unauthorized, "nobody may use the administration API without being known", "connect over the unix socket of the data directory as its owner"))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
