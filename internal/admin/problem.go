package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Problem is an error document (RFC 9457). Code is stable and one of fault's kinds.
type Problem struct {
	Type      string        `json:"type" doc:"A URN made of the code"`
	Title     string        `json:"title" doc:"The HTTP status in words"`
	Status    int           `json:"status"`
	Code      string        `json:"code" doc:"Stable; the list only grows" example:"review_out_of_date"`
	Detail    string        `json:"detail" doc:"One sentence: what was refused or failed, and why"`
	Hint      string        `json:"hint,omitempty" doc:"One sentence: what to do next"`
	RequestID string        `json:"request_id,omitempty" doc:"Also in the X-Request-Id header and in the audit"`
	Errors    []FieldFaults `json:"errors,omitempty" doc:"What is wrong in the request, place by place; values are not echoed"`
}

// FieldFaults is one thing that is wrong with a request.
type FieldFaults struct {
	Location string `json:"location,omitempty" example:"body.env"`
	Message  string `json:"message"`
}

// Error gives the sentence.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType makes the answer a problem document.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// statusOf gives the HTTP status of each kind.
var statusOf = map[fault.Kind]int{
	fault.Internal: http.StatusInternalServerError, fault.BadInput: http.StatusUnprocessableEntity,
	fault.TooLarge: http.StatusRequestEntityTooLarge, fault.NotFound: http.StatusNotFound,
	fault.Unauthorized: http.StatusUnauthorized, fault.Forbidden: http.StatusForbidden,
	fault.Conflict: http.StatusConflict, fault.Exists: http.StatusConflict,
	fault.Unavailable: http.StatusServiceUnavailable, fault.Timeout: http.StatusGatewayTimeout,
	fault.Cancelled: http.StatusServiceUnavailable, fault.Storage: http.StatusInternalServerError,
	fault.Corrupt: http.StatusInternalServerError, fault.Protocol: http.StatusBadGateway,
	fault.Upstream: http.StatusBadGateway, fault.Unverified: http.StatusBadGateway,
	fault.ServerExists: http.StatusConflict, fault.ServerReplaced: http.StatusConflict,
	fault.ReviewOutOfDate: http.StatusConflict, fault.QuarantinedByFile: http.StatusConflict,
	fault.NotQuarantined: http.StatusConflict, fault.NothingWaits: http.StatusConflict,
	fault.NoScanReport: http.StatusConflict, fault.HardFindings: http.StatusConflict,
	fault.BadTrustMode: http.StatusUnprocessableEntity, fault.Unparsable: http.StatusConflict,
	fault.NotForAgents: http.StatusForbidden,
}

// problem renders a fault or the law's refusal. An error that is neither says only
// that something went wrong: its text was not written for people.
func problem(ctx context.Context, err error) *Problem {
	kind, what, hint := fault.Internal, "something went wrong inside Holdfast", "look for the request id in the log"
	if f, ok := errors.AsType[*fault.Error](err); ok {
		kind, what, hint = f.Kind, f.What, f.Hint
	}
	if f, ok := errors.AsType[*approval.Refused](err); ok {
		kind, what, hint = fault.Kind(f.Code), f.What, f.Hint
	}
	status, ok := statusOf[kind]
	if !ok {
		status = http.StatusConflict // a refusal of the law that has no row
	}
	p := newProblem(status, kind, what, hint)
	p.RequestID = requestID(ctx)
	return p
}

func newProblem(status int, kind fault.Kind, what, hint string) *Problem {
	return &Problem{
		Type: "urn:holdfast:problem:" + string(kind), Title: http.StatusText(status), Status: status,
		Code: string(kind), Detail: what, Hint: hint,
	}
}

// fail is how handlers return an error.
func (a *api) fail(ctx context.Context, err error) error {
	p := problem(ctx, err)
	if p.Status == http.StatusInternalServerError {
		a.Log.Error("a request failed", "request", p.RequestID, "code", p.Code, "err", err)
	}
	return p
}

func writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := problem(r.Context(), err)
	b, _ := indent(p)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(b)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, r, fault.New(fault.NotFound, "there is nothing at this address", "GET /openapi.json lists every address and method"))
}

// The framework makes its own errors (a body that does not fit the schema, an
// unknown parameter) by these two variables, which is its only way to give them
// another form. What it found is kept, the values that it would echo are not. Names
// in a body count only as they are written, since "Name" beside "name" would be two
// requests in one.
func init() {
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return frameworkProblem(context.Background(), status, msg, errs)
	}
	huma.NewErrorWithContext = func(c huma.Context, status int, msg string, errs ...error) huma.StatusError {
		ctx := context.Background()
		if c != nil {
			ctx = c.Context()
		}
		return frameworkProblem(ctx, status, msg, errs)
	}
}

func frameworkProblem(ctx context.Context, status int, msg string, errs []error) *Problem {
	kind := fault.BadInput
	switch {
	case status == http.StatusRequestEntityTooLarge:
		kind = fault.TooLarge
	case status == http.StatusNotFound:
		kind = fault.NotFound
	case status == http.StatusRequestTimeout:
		kind = fault.Timeout
	case status >= 500:
		kind = fault.Internal
	}
	p := newProblem(status, kind, msg, "")
	if kind == fault.TooLarge {
		p.Detail = "the request is too large: a decision about tools has at most 16 MiB, any other request 1 MiB"
		p.Hint = "name fewer tools at once, or give less text"
	}
	p.RequestID = requestID(ctx)
	for _, err := range errs {
		if err == nil {
			continue
		}
		f := FieldFaults{Message: err.Error()}
		if d, ok := err.(huma.ErrorDetailer); ok {
			f.Message, f.Location = d.ErrorDetail().Message, d.ErrorDetail().Location
		}
		p.Errors = append(p.Errors, f)
	}
	if len(p.Errors) > 0 {
		first := p.Errors[0]
		p.Detail = strings.TrimPrefix(first.Location+": ", ": ") + first.Message
		p.Hint = "GET /openapi.json describes what is expected"
	}
	return p
}
