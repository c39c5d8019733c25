package admin_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/admin"
)

// The vocabulary is a promise too: names stay, and every change of a word is seen.
func TestVocabularyIsPinned(t *testing.T) {
	h := newHome(t)
	var v admin.Vocabulary
	h.do("GET", "/api/v1/vocabulary", nil).into(200, &v)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/vocabulary.golden.json"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("the vocabulary differs from %s; if that is meant, run: go test ./internal/admin -run Vocabulary -update", golden)
	}
	for _, group := range [][]admin.Term{v.HoldSignal, v.HeldReason, v.Reason, v.Refusal, v.Class} {
		if len(group) == 0 {
			t.Error("a group is empty")
		}
	}
}
