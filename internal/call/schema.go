package call

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Limits of applying a schema. A schema is a program that a server wrote, and
// arguments are data that an agent wrote: neither may hold Holdfast up.
const (
	maxSchemas   = 2048   // compiled at once; beyond, the least used go
	maxPlaces    = 3_000  // objects and booleans in one schema
	maxRefs      = 1_000  // references in one schema: the library describes a circle of them in square time
	maxPatterns  = 1_000  // regular expressions in one schema
	maxPattern   = 10_000 // bytes of one of them
	maxInstances = 16     // copies of one compiled schema
)

// schemas holds the compiled input schemas of approved contracts, by digest. The
// zero value is ready. Two generations: what was not used while the newer one
// filled up is dropped.
type schemas struct {
	mu         sync.Mutex
	newer, old map[contract.Digest]*slot
}

// slot is the place of one schema, which is prepared once, whoever else asks meanwhile.
type slot struct {
	once sync.Once
	*schema
}

// check holds arguments against the input schema of an approved contract. The
// problem is a sentence part that names place and rule and echoes no value.
// When ctx ends so does the check, and the problem says that.
func (s *schemas) check(ctx context.Context, c contract.Contract, raw []byte) (problem string) {
	sch := s.of(c)
	switch {
	case sch.broken != "":
		return sch.broken
	case sch.open:
		return ""
	case sch.emptyFits && string(raw) == "{}":
		return ""
	}
	return sch.check(ctx, raw)
}

// of finds or prepares the schema of a contract.
func (s *schemas) of(c contract.Contract) *schema {
	key := c.Digest()
	s.mu.Lock()
	x := s.newer[key]
	if x == nil {
		if x = s.old[key]; x == nil {
			x = &slot{}
		}
		s.keep(key, x)
	}
	s.mu.Unlock()
	x.once.Do(func() { x.schema = prepare(c) }) // outside the lock: it may take a while
	return x.schema
}

// keep puts a schema into the newer generation. The caller holds mu.
func (s *schemas) keep(key contract.Digest, x *slot) {
	if s.newer == nil || len(s.newer) >= maxSchemas/2 {
		s.old, s.newer = s.newer, make(map[contract.Digest]*slot)
	}
	s.newer[key] = x
}

// schema is the input schema of one approved contract.
type schema struct {
	broken    string // why it can't be applied: then no call under it is admitted
	open      bool   // it admits every object
	emptyFits bool   // it admits {}
	document  any

	turns chan struct{} // holds one for each copy in use
	mu    sync.Mutex
	idle  []*instance
}

// instance is one compiled copy, used by one validation at a time, so that its
// regular expressions and its places can share that validation's budget.
type instance struct {
	compiled *jsonschema.Schema
	budget   budget
	patterns map[string]jsonschema.Regexp
	programs int  // instructions of those that run in Go's engine
	unproved bool // the schema uses unevaluatedItems or unevaluatedProperties
}

// givenUp is the problem of arguments whose caller left.
const givenUp = "the call was given up before they were held against it"

// prepare reads and compiles the input schema of a contract. One that can't be
// compiled fails closed: nobody can say which arguments were approved.
func prepare(c contract.Contract) *schema {
	input, ok := c.Root().Get("inputSchema")
	if !ok { // nothing was said about the arguments, so nothing more than "an object" was approved
		return &schema{open: true}
	}
	size := survey(input)
	switch {
	case size.places > maxPlaces:
		return &schema{broken: fmt.Sprintf("the approved input schema has over %d places, so that it can't be applied", maxPlaces)}
	case size.refs > maxRefs:
		return &schema{broken: fmt.Sprintf("the approved input schema has over %d references, so that it can't be applied", maxRefs)}
	case size.patterns > maxPatterns || size.pattern > maxPattern:
		return &schema{broken: fmt.Sprintf("the approved input schema has over %d regular expressions, or one of over %d bytes, so that it can't be applied", maxPatterns, maxPattern)}
	}
	if admitsEveryObject(input) {
		return &schema{open: true}
	}
	document, err := decode(input.AppendCanonical(nil))
	if err != nil {
		return &schema{broken: "the approved input schema can't be applied: it has a number or a nesting out of all bounds"}
	}
	s := &schema{document: document, turns: make(chan struct{}, min(maxInstances, 2*runtime.GOMAXPROCS(0)))}
	first, err := compile(document)
	if err != nil {
		return &schema{broken: "the approved input schema can't be applied: " + err.Error()}
	}
	s.emptyFits = first.validate(context.Background(), map[string]any{}) == ""
	s.idle = append(s.idle, first)
	return s
}

// check decodes the arguments once and validates them.
func (s *schema) check(ctx context.Context, raw []byte) string {
	v, err := decode(raw)
	if err != nil {
		return err.Error()
	}
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return givenUp
	}
	in, err := s.take()
	if err != nil {
		return "the approved input schema can't be applied: " + err.Error()
	}
	problem := in.validate(ctx, v)
	s.giveBack(in)
	return problem
}

// take gives a copy that nobody uses. The caller has a turn, so there are not many.
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
	in.budget.ctx = nil // of a call that is over
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, in)
}

// extent is how much there is to compile in a schema.
type extent struct {
	places   int
	refs     int
	patterns int
	pattern  int // bytes of the longest
}

// survey measures a schema. It counts too much rather than too little: every object or
// boolean may be a place.
func survey(v contract.Value) (x extent) {
	add := func(y extent) {
		x.places, x.patterns, x.pattern = x.places+y.places, x.patterns+y.patterns, max(x.pattern, y.pattern)
		x.refs += y.refs
	}
	switch v.Kind() {
	case contract.Null, contract.Number, contract.String:
	case contract.Bool:
		x.places = 1
	case contract.Array:
		for _, item := range v.Items() {
			add(survey(item))
		}
	case contract.Object:
		x.places = 1
		for _, m := range v.Members() {
			switch {
			case strings.HasSuffix(strings.ToLower(m.Name), "ref"): // $ref, $dynamicRef, $recursiveRef
				add(extent{refs: 1})
			case m.Name == "pattern" && m.Value.Kind() == contract.String:
				add(extent{patterns: 1, pattern: len(m.Value.Text())})
			case m.Name == "patternProperties" && m.Value.Kind() == contract.Object:
				for _, p := range m.Value.Members() {
					add(extent{patterns: 1, pattern: len(p.Name)})
				}
			}
			add(survey(m.Value))
		}
	}
	return x
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
