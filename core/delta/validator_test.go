package delta

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// denied is a loader that gives nothing: no schema of a test may reach out.
type denied struct{}

func (denied) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

// compile gives a real validator for a schema; nil for one that it refuses.
func compile(t testing.TB, schema string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(denied{})
	if err := c.AddResource("https://holdfast.test/schema", doc); err != nil {
		return nil
	}
	s, err := c.Compile("https://holdfast.test/schema")
	if err != nil {
		return nil
	}
	return s
}

// decode reads an instance as the validator wants it.
func decode(t testing.TB, instance string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(instance)))
	if err != nil {
		t.Fatalf("%s: %v", instance, err)
	}
	return v
}

// tool is a contract with an input schema.
func tool(schema string) contract.Contract {
	return contract.Parse([]byte(`{"name":"t","inputSchema":` + schema + `}`))
}

// schemaSignals are those of the input schema.
func schemaSignals(signals []Signal) []Signal {
	var of []Signal
	for _, s := range signals {
		if s.Rule == SchemaShape {
			of = append(of, s)
		}
	}
	return of
}
