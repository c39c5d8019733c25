package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf16"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// printJSON prints an answer in its stable shape.
func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(a.out, plainJSON(b.String()))
	return err
}

// plainJSON escapes in a JSON text what can't be seen: the same value, but a
// terminal obeys none of it. Such characters stand in strings alone.
func plainJSON(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r != '\n' && hidden(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// notef tells on standard error what is not the answer.
func (a *app) notef(format string, args ...any) { fmt.Fprintf(a.err, format, args...) }

// table prints rows under a heading; cells must be visible text.
func (a *app) table(heading []string, rows [][]string) {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(heading, "\t"))
	for _, r := range rows {
		fmt.Fprintln(w, strings.TrimRight(strings.Join(r, "\t"), "\t"))
	}
	_ = w.Flush()
}

// fields prints names and values below each other; empty values are left out.
func (a *app) fields(pairs ...string) { writeFields(a.out, pairs...) }

func writeFields(out io.Writer, pairs ...string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", pairs[i], pairs[i+1])
		}
	}
	_ = w.Flush()
}

// Styles of the terminal; nothing when the output is none, or NO_COLOR is set.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (a *app) style(code, s string) string {
	if s == "" || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" || !isTerminal(a.out) {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func maybeClock(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return clock(*t)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// plural gives "1 tool" or "3 tools".
func plural(n int, one string) string { return fault.Plural(n, one) }

// styleErr is style for standard error.
func (a *app) styleErr(code, s string) string {
	if a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" || !isTerminal(a.err) {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
