package gateway

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// arguments reads the arguments of one of our own tools, which came in a message
// that was read strictly. The first thing that is wrong stays its problem: models
// make small mistakes, and learn more from a sentence than from a guess.
type arguments struct {
	raw   []byte
	known []string
	wrong string
}

const required = true

// maxOwn is how many bytes the arguments of one of our own tools have at most, but for
// what call_tool passes on: nothing that they say needs more, and parts of it are
// stored or repeated in answers.
const maxOwn = 64 << 10

func readArguments(params []byte) *arguments {
	a := readCall(params)
	if len(a.raw) > maxOwn {
		a.raw = nil
		a.bad(fmt.Sprintf("the arguments have more than %d bytes", maxOwn))
	}
	return a
}

// readCall is readArguments for call_tool, whose arguments hold those of a call; the
// desk bounds them.
func readCall(params []byte) *arguments {
	a := &arguments{}
	span, ok := wire.Find(params, "arguments")
	if !ok {
		return a
	}
	if a.raw = params[span.Start:span.End]; a.raw[0] != '{' {
		a.raw = nil
		a.bad("arguments must be an object")
	}
	return a
}

func (a *arguments) bad(what string) {
	if a.wrong == "" {
		a.wrong = what
	}
}

// get finds an argument; null counts as absent.
func (a *arguments) get(name string) []byte {
	a.known = append(a.known, name)
	span, ok := wire.Find(a.raw, name)
	if !ok || a.raw[span.Start] == 'n' {
		return nil
	}
	return a.raw[span.Start:span.End]
}

func (a *arguments) text(name string, needed ...bool) string {
	v := a.get(name)
	if v == nil {
		if len(needed) > 0 {
			a.bad(fmt.Sprintf("the argument %s is missing", name))
		}
		return ""
	}
	s, ok := wire.Text(v)
	if !ok {
		a.bad(fmt.Sprintf("the argument %s must be a string", name))
	}
	return s
}

// flag reads a boolean; set says whether it was there.
func (a *arguments) flag(name string) (on, set bool) {
	switch v := a.get(name); string(v) {
	case "":
		return false, false
	case "true":
		return true, true
	case "false":
		return false, true
	default:
		a.bad(fmt.Sprintf("the argument %s must be true or false", name))
		return false, false
	}
}

func (a *arguments) number(name string, least, most, usual int) int {
	v := a.get(name)
	if v == nil {
		return usual
	}
	n, err := strconv.ParseFloat(string(v), 64) // 8.0 is whole too
	if err != nil || n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		a.bad(fmt.Sprintf("the argument %s must be a whole number from %d to %d", name, least, most))
		return usual
	}
	return int(n)
}

// object gives an object's bytes as they came.
func (a *arguments) object(name string) []byte {
	v := a.get(name)
	if v != nil && v[0] != '{' {
		a.bad(fmt.Sprintf("the argument %s must be an object, not text or anything else", name))
		return nil
	}
	return v
}

func (a *arguments) texts(name string, most int, needed ...bool) []string {
	v := a.get(name)
	if v == nil {
		if len(needed) > 0 {
			a.bad(fmt.Sprintf("the argument %s is missing", name))
		}
		return nil
	}
	var list []string
	ok := v[0] == '['
	wire.Elements(v, func(e wire.Span) bool {
		s, isText := wire.Text(v[e.Start:e.End])
		list = append(list, s)
		ok = ok && isText
		return ok && len(list) <= most
	})
	if !ok || len(list) > most || len(needed) > 0 && len(list) == 0 {
		a.bad(fmt.Sprintf("the argument %s must be a list of at most %d strings", name, most))
		return nil
	}
	return list
}

// pairs reads an object of strings.
func (a *arguments) pairs(name string) map[string]string {
	v := a.object(name)
	if v == nil {
		return nil
	}
	pairs := map[string]string{}
	wire.Members(v, func(key string, value wire.Span) bool {
		s, ok := wire.Text(v[value.Start:value.End])
		if !ok {
			a.bad(fmt.Sprintf("the argument %s must be an object of strings", name))
		}
		pairs[key] = s
		return ok
	})
	return pairs
}

// problem says what is wrong, in a sentence part, once everything was read;
// an argument that nobody asked for is a mistake too.
func (a *arguments) problem() string {
	if a.wrong == "" {
		wire.Members(a.raw, func(name string, _ wire.Span) bool {
			for _, k := range a.known {
				if k == name {
					return true
				}
			}
			a.bad("there is no argument " + strconv.QuoteToASCII(cut(name, 64)) + "; there are " + strings.Join(a.known, ", "))
			return false
		})
	}
	return a.wrong
}
