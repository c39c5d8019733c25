package call

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Limits of applying a schema. A schema is a program that a server wrote, and
// arguments are data that an agent wrote: neither may hold Holdfast up.
const (
	maxSchemas   = 2048                   // compiled at once; beyond, the least used go
	maxPlaces    = 20_000                 // objects and booleans in one schema
	maxSteps     = 1_000_000              // schema places visited by one validation
	maxTime      = 250 * time.Millisecond // of one validation
	maxUniques   = 4096                   // items of an array, where uniqueItems is used
	maxInstances = 16                     // idle copies of one compiled schema
)

// schemas holds the compiled input schemas of approved contracts, by digest. The
// zero value is ready. Two generations: what was not used while the newer one
// filled up is dropped.
type schemas struct {
	mu         sync.Mutex
	newer, old map[contract.Digest]*schema
}

// check holds arguments against the input schema of an approved contract. The
// problem is a sentence part that names place and rule and echoes no value.
func (s *schemas) check(c contract.Contract, raw []byte) (problem string) {
	sch := s.of(c)
	switch {
	case sch.broken != "":
		return sch.broken
	case sch.open:
		return ""
	case sch.emptyFits && string(raw) == "{}":
		return ""
	}
	return sch.check(raw)
}

// of finds or prepares the schema of a contract.
func (s *schemas) of(c contract.Contract) *schema {
	key := c.Digest()
	s.mu.Lock()
	sch := s.newer[key]
	if sch == nil {
		if sch = s.old[key]; sch != nil {
			s.keep(key, sch)
		}
	}
	s.mu.Unlock()
	if sch != nil {
		return sch
	}
	sch = prepare(c) // outside the lock: it may take a while, and twice does no harm
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.newer[key]; first != nil {
		return first
	}
	s.keep(key, sch)
	return sch
}

// keep puts a schema into the newer generation. The caller holds mu.
func (s *schemas) keep(key contract.Digest, sch *schema) {
	if s.newer == nil || len(s.newer) >= maxSchemas/2 {
		s.old, s.newer = s.newer, make(map[contract.Digest]*schema)
	}
	s.newer[key] = sch
}

// schema is the input schema of one approved contract.
type schema struct {
	broken    string // why it can't be applied: then no call under it is admitted
	open      bool   // it admits every object
	emptyFits bool   // it admits {}
	uniques   bool   // it uses uniqueItems
	document  any

	mu   sync.Mutex
	idle []*instance
}

// instance is one compiled copy, used by one validation at a time, so that its
// regular expressions and its places can share that validation's budget.
type instance struct {
	compiled *jsonschema.Schema
	budget   budget
}

// prepare reads and compiles the input schema of a contract. One that can't be
// compiled fails closed: nobody can say which arguments were approved.
func prepare(c contract.Contract) *schema {
	input, ok := c.Root().Get("inputSchema")
	if !ok { // nothing was said about the arguments, so nothing more than "an object" was approved
		return &schema{open: true}
	}
	places, uniques := survey(input)
	if places > maxPlaces {
		return &schema{broken: fmt.Sprintf("the approved input schema has over %d places, so that it can't be applied", maxPlaces)}
	}
	if admitsEveryObject(input) {
		return &schema{open: true}
	}
	document, err := decode(input.AppendCanonical(nil))
	if err != nil {
		return &schema{broken: "the approved input schema can't be applied: it has a number or a nesting out of all bounds"}
	}
	s := &schema{document: document, uniques: uniques}
	first, err := compile(document)
	if err != nil {
		return &schema{broken: "the approved input schema can't be applied: " + err.Error()}
	}
	s.emptyFits = first.validate(map[string]any{}) == ""
	s.idle = append(s.idle, first)
	return s
}

// check decodes the arguments once and validates them.
func (s *schema) check(raw []byte) string {
	v, err := decode(raw)
	if err != nil {
		return err.Error()
	}
	if s.uniques && longest(v) > maxUniques {
		return fmt.Sprintf("the arguments have a list of over %d items, which is too long where the approved schema wants unique ones (uniqueItems)", maxUniques)
	}
	in, err := s.take()
	if err != nil {
		return "the approved input schema can't be applied: " + err.Error()
	}
	problem := in.validate(v)
	s.giveBack(in)
	return problem
}

func (s *schema) take() (*instance, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		in := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return in, nil
	}
	s.mu.Unlock()
	return compile(s.document)
}

func (s *schema) giveBack(in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) < min(maxInstances, 2*runtime.GOMAXPROCS(0)) {
		s.idle = append(s.idle, in)
	}
}

// survey counts the places of a schema and looks for uniqueItems. It counts too
// much rather than too little: every object or boolean may be a place.
func survey(v contract.Value) (places int, uniques bool) {
	switch v.Kind() {
	case contract.Null, contract.Number, contract.String:
	case contract.Bool:
		return 1, false
	case contract.Array:
		for _, item := range v.Items() {
			n, u := survey(item)
			places, uniques = places+n, uniques || u
		}
	case contract.Object:
		places = 1
		for _, m := range v.Members() {
			n, u := survey(m.Value)
			places, uniques = places+n, uniques || u || m.Name == "uniqueItems"
		}
	}
	return places, uniques
}

// admitsEveryObject knows the few schemas that constrain nothing, as tools without
// arguments have them; for all others it says no.
func admitsEveryObject(v contract.Value) bool {
	if v.Kind() == contract.Bool {
		return v.Bool()
	}
	if v.Kind() != contract.Object {
		return false
	}
	for _, m := range v.Members() {
		switch m.Name {
		case "title", "description", "$comment":
			if m.Value.Kind() != contract.String {
				return false
			}
		case "$schema": // of no other dialect is it known what the words mean
			if d := m.Value.Text(); m.Value.Kind() != contract.String ||
				!strings.HasPrefix(d, "http://json-schema.org/") && !strings.HasPrefix(d, "https://json-schema.org/") {
				return false
			}
		case "type":
			if m.Value.Kind() != contract.String || m.Value.Text() != "object" {
				return false
			}
		case "properties":
			if m.Value.Kind() != contract.Object || len(m.Value.Members()) > 0 {
				return false
			}
		case "required":
			if m.Value.Kind() != contract.Array || len(m.Value.Items()) > 0 {
				return false
			}
		case "additionalProperties":
			if m.Value.Kind() != contract.Bool || !m.Value.Bool() {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// longest is the length of the longest list anywhere in v.
func longest(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		n = len(v)
		for _, item := range v {
			n = max(n, longest(item))
		}
	case map[string]any:
		for _, item := range v {
			n = max(n, longest(item))
		}
	}
	return n
}
