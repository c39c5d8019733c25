package settings

import (
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Problem is why a workspace does not start: a *fault.Error, and where the cause
// stands. At is the zero Place where it is in no file.
type Problem struct {
	At    policy.Place
	fault *fault.Error
}

func (p *Problem) Error() string { return p.fault.Error() }

// Unwrap gives the *fault.Error.
func (p *Problem) Unwrap() error { return p.fault }

// problem makes one; the sentence says the file itself.
func problem(at policy.Place, kind fault.Kind, hint, format string, args ...any) *Problem {
	return &Problem{At: at, fault: fault.New(kind, fmt.Sprintf(format, args...), hint)}
}

// PlaceOf is where the cause of an error stands; the zero Place when it is not known.
func PlaceOf(err error) policy.Place {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p.At
	}
	return policy.Place{}
}

// reason is the cause of a file error without the path, which the caller names.
func reason(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
