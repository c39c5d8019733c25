package call

import (
	"context"
	"errors"
	"fmt"

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
	in = &instance{patterns: map[string]jsonschema.Regexp{}}
	in.budget.start(context.Background())

	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(in.pattern)
	// A format is an annotation (JSON Schema 2020-12 validation, section 7.2.1), and
	// one rule holds for all drafts, also those under which the library would assert it:
	// what a server makes of it is the server's. Its place is taken by the gates.
	c.AssertVocabs()
	c.RegisterVocabulary(in.vocabulary())
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

// validate applies the schema within its budget.
func (in *instance) validate(ctx context.Context, v any) (problem string) {
	defer func() {
		switch recover().(type) {
		case nil:
		case overBudget:
			problem = "the arguments take too much work to be held against the approved input schema"
			if ctx.Err() != nil {
				problem = givenUp
			}
		default: // the library met what it was not made for
			problem = "the arguments can't be held against the approved input schema"
		}
	}()
	in.budget.start(ctx)
	err := in.compiled.Validate(v)
	if err == nil {
		return ""
	}
	return explain(err)
}
