package upstream

import (
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// words is what a program, a server or the transport said of a failure. It stands
// behind a fault as its cause: the sentence of a fault reaches agents, and nobody
// but Holdfast speaks in it. Persons read both, in the state and the log.
type words struct {
	err  error
	text string // the end of a sentence, scrubbed, on one line
}

func (w *words) Error() string { return w.text }
func (w *words) Unwrap() error { return w.err }

// saying puts words behind a cause; joint stands between the sentence and them.
func (s *scrubber) saying(err error, joint, text string) error {
	if text = s.oneLine(text, maxWords); text == "" {
		return err
	}
	return &words{err, joint + text}
}

// cause gives the reason of a failure as the end of a sentence, where it is in words
// of ours, else behind the cause: the system's and the transport's errors may quote
// what a server sent.
func (s *scrubber) cause(err error) (reason string, cause error) {
	_, syntax := errors.AsType[*wire.SyntaxError](err)
	_, long := errors.AsType[*wire.TooLongError](err)
	_, status := errors.AsType[*wire.HTTPError](err)
	if syntax || long || status || errors.Is(err, wire.ErrSessionGone) {
		return ": " + err.Error(), err
	}
	return "", s.saying(err, ": ", err.Error())
}

// told is an error for persons: the sentence and what was said.
func told(err error) string {
	if w, ok := errors.AsType[*words](err); ok {
		return err.Error() + w.text
	}
	return err.Error()
}
