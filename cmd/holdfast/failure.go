package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Exit codes; they stand in --help and in docs/operating.md.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitNoDaemon = 3
)

const exitHelp = `Exit codes:
  0  done
  1  refused or failed: the sentence on standard error says why
  2  the command was not understood
  3  no Holdfast is running on this data directory`

// failure is an error with an exit code.
type failure struct {
	exit int
	admin.Problem
}

func fail(exit int, kind fault.Kind, what, hint string) *failure {
	return &failure{exit, admin.Problem{Code: string(kind), Detail: what, Hint: hint}}
}

func usage(what, hint string) *failure { return fail(exitUsage, fault.BadInput, what, hint) }

func (f *failure) Error() string { return f.Detail }

// errFound ends a command that did its work and found something. The answer says
// what, so nothing more is printed.
var errFound = &failure{exit: exitFailed}

// errNoStart ends `workspace check` where a server would not start; the answer says why.
var errNoStart = &failure{exit: exitUsage}

// failureOf gives any error the form in which it is reported.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return fail(exitFailed, f.Kind, f.What, f.Hint)
	}
	if f, ok := errors.AsType[*approval.Refused](err); ok {
		return fail(exitFailed, fault.Kind(f.Code), f.What, f.Hint)
	}
	if errors.Is(err, context.Canceled) {
		return fail(exitFailed, fault.Cancelled, "interrupted", "")
	}
	return fail(exitFailed, fault.Internal, err.Error(), "")
}

// report prints an error as one sentence and a hint, or as a problem document
// with --json, and gives the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	f := failureOf(err)
	if f == errFound || f == errNoStart {
		return f.exit
	}
	if a.json {
		b, _ := json.MarshalIndent(struct {
			Code      string              `json:"code"`
			Detail    string              `json:"detail"`
			Hint      string              `json:"hint,omitempty"`
			RequestID string              `json:"request_id,omitempty"`
			Errors    []admin.FieldFaults `json:"errors,omitempty"`
		}{f.Code, f.Detail, f.Hint, f.RequestID, f.Errors}, "", "  ")
		fmt.Fprintf(a.err, "%s\n", plainJSON(string(b)))
		return f.exit
	}
	fmt.Fprintf(a.err, "holdfast: %s\n", paragraph(f.Detail))
	for _, e := range f.Errors[min(1, len(f.Errors)):] {
		fmt.Fprintf(a.err, "  also: %s\n", paragraph(strings.TrimPrefix(e.Location+": "+e.Message, ": ")))
	}
	if f.Hint != "" {
		fmt.Fprintf(a.err, "hint: %s\n", paragraph(f.Hint))
	}
	if f.Code == string(fault.Internal) && f.RequestID != "" {
		fmt.Fprintf(a.err, "request: %s\n", f.RequestID)
	}
	return f.exit
}

// plain is the reason of a failed operation on a file, without its path and verb.
func plain(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
