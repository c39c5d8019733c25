package admin

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// The document is a promise to clients: a change of it is a change of the file,
// to be seen in a review.
func TestOpenAPIIsPinned(t *testing.T) {
	got, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/openapi.golden.json"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the OpenAPI document differs from %s; if that is meant, run: go test ./internal/admin -run OpenAPI -update", golden)
	}
}
