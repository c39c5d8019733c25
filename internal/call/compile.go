package call

import (
	"errors"
	"fmt"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// location is where the one schema of a compiler stands. It is opaque, so that no
// relative reference can leave it.
const location = "urn:holdfast:approved-input-schema"

// compile gives a copy of a schema that can be applied. The dialect is the one that
// $schema names, and 2020-12 without it (MCP 2025-11-25, "JSON Schema usage").
// References that leave the schema are not followed, whatever they point at.
func compile(document any) (in *instance, err error) {
	defer func() {
		if p := recover(); p != nil { // the library is not made for hostile schemas
			in, err = nil, errors.New("it can't be compiled")
		}
	}()
	in = &instance{}
	in.budget.start()

	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) { return newPattern(pattern, &in.budget) })
	for _, name := range formats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: anything})
	}
	c.AssertVocabs()
	c.RegisterVocabulary(in.budget.vocabulary())
	if err := c.AddResource(location, document); err != nil {
		return nil, errors.New("it is not read as a schema")
	}
	if in.compiled, err = c.Compile(location); err != nil {
		return nil, compileProblem(err)
	}
	return in, nil
}

// compileProblem says in a sentence part why a schema can't be compiled, without
// the library's addresses of places.
func compileProblem(err error) error {
	if e, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return fmt.Errorf("it refers to %.200q, and nothing outside the contract is loaded", e.URL)
	}
	if e, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		return fmt.Errorf("its regular expression %.200q is not valid", e.Regex)
	}
	if _, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		return errors.New("it is not valid JSON Schema")
	}
	if _, ok := errors.AsType[*jsonschema.UnsupportedVocabularyError](err); ok {
		return errors.New("it needs a vocabulary that is not known")
	}
	return errors.New("a reference in it can't be resolved, or its dialect is not known")
}

// noLoader loads nothing: by itself the library would open files.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("nothing is loaded from outside")
}

// formats are those that the library would assert under draft-07 and older. A
// format is an annotation (JSON Schema 2020-12 validation, section 7.2.1), and one
// rule holds for all drafts: what a server makes of it is the server's.
var formats = []string{
	"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname", "email",
	"date", "time", "date-time", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "semver",
}

func anything(any) error { return nil }

// budget is what one validation may use. One instance owns it; a validation that
// is over it ends with a panic of overBudget, for the library can't be stopped
// otherwise.
type budget struct {
	steps int
	until time.Time
}

type overBudget struct{}

func (b *budget) start() { b.steps, b.until = 0, time.Now().Add(maxTime) }

// spend counts one step.
func (b *budget) spend() {
	if b.steps++; b.steps > maxSteps || b.steps&63 == 0 && time.Now().After(b.until) {
		panic(overBudget{})
	}
}

// left is the time that is left; it does not return when there is none.
func (b *budget) left() time.Duration {
	left := time.Until(b.until)
	if left <= 0 {
		panic(overBudget{})
	}
	return left
}

// vocabulary counts the places that a validation visits: it is attached to every
// place and constrains nothing.
func (b *budget) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "urn:holdfast:budget",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			return step{b}, nil
		},
	}
}

type step struct{ b *budget }

func (s step) Validate(*jsonschema.ValidatorContext, any) { s.b.spend() }

// validate applies the schema within its budget.
func (in *instance) validate(v any) (problem string) {
	defer func() {
		switch recover().(type) {
		case nil:
		case overBudget:
			problem = "the arguments take too long to be held against the approved input schema"
		default: // the library met what it was not made for
			problem = "the arguments can't be held against the approved input schema"
		}
	}()
	in.budget.start()
	err := in.compiled.Validate(v)
	if err == nil {
		return ""
	}
	return explain(err)
}
