package delta

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// change is one line of the corpus of changes.
type change struct {
	ID              string          `json:"id"`
	Label           string          `json:"label"`
	Kind            json.RawMessage `json:"kind"`
	Approved        json.RawMessage `json:"approved"`
	Live            json.RawMessage `json:"live"`
	LiveRaw         *string         `json:"live_raw"`
	Expects         string          `json:"expects"`
	AnyOf           []string        `json:"expect_reasons_any"`
	Witness         json.RawMessage `json:"witness"`
	WitnessDeclared bool            `json:"witness_declared_only"`
	approved, live  contract.Contract
}

// corpusChanges reads the changes between real releases and the made ones. The
// corpus stands outside of the repository: HOLDFAST_CORPUS names its folder.
func corpusChanges(t testing.TB) []change {
	t.Helper()
	dir := os.Getenv("HOLDFAST_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	text, err := os.ReadFile(filepath.Join(dir, "changes.jsonl"))
	if err != nil {
		t.Skipf("NO CORPUS IN %s: real changes are NOT tested; set HOLDFAST_CORPUS", dir)
	}
	var all []change
	for line := range strings.Lines(string(text)) {
		var c change
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		live := []byte(c.Live)
		if c.LiveRaw != nil {
			live = []byte(*c.LiveRaw)
		}
		c.approved, c.live = contract.Parse(c.Approved), contract.Parse(live)
		all = append(all, c)
	}
	return all
}

// Comparing two parsed contracts costs no more than parsing both of them strictly.
func BenchmarkRealChanges(b *testing.B) {
	changes := corpusChanges(b)
	size := 0
	for _, c := range changes {
		size += len(c.approved.Raw()) + len(c.live.Raw())
	}
	b.Run("parse-both", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, c := range changes {
				contract.Parse(c.approved.Raw())
				contract.Parse(c.live.Raw())
			}
		}
	})
	b.Run("compare", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, c := range changes {
				Compare(c.approved, c.live)
			}
		}
	})
	b.Run("review", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, c := range changes {
				Review(c.approved, c.live)
			}
		}
	})
}

// largeTool is a tool with n properties of about 60 bytes.
func largeTool(n int, what string) contract.Contract {
	var b strings.Builder
	b.WriteString(`{"name":"t","inputSchema":{"type":"object","properties":{`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"p%06d":{"type":"string","description":"%s","maxLength":%d}`, i, what, 10+i%7)
	}
	b.WriteString(`}}}`)
	return contract.Parse([]byte(b.String()))
}

// The time grows with the size and no faster.
func BenchmarkLargeSchemas(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000, 8000, 14000} {
		approved, live := largeTool(n, "one"), largeTool(n, "two")
		if !live.Parsable() {
			b.Fatal(live.Problem())
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(approved.Raw()) + len(live.Raw())))
			for b.Loop() {
				if signals := Compare(approved, live); len(signals) > 0 {
					b.Fatal(signals)
				}
			}
		})
	}
}
