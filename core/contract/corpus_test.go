package contract

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpusTools gives the raw tool definitions of the real listings. The corpus
// stands outside of the repository: HOLDFAST_CORPUS names its folder.
func corpusTools(t testing.TB) [][]byte {
	t.Helper()
	dir := os.Getenv("HOLDFAST_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(dir, "listings", "*", "*.json"))
	scoped, _ := filepath.Glob(filepath.Join(dir, "listings", "*", "*", "*.json"))
	files = append(files, scoped...)
	if err != nil || len(files) == 0 {
		t.Skipf("NO CORPUS IN %s: real listings are NOT tested; set HOLDFAST_CORPUS", dir)
	}
	var tools [][]byte
	for _, file := range files {
		if strings.Count(filepath.Base(file), ".") > 3 { // .init.json, .prompts.json, .resources.json
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var listing struct {
			Result struct {
				Tools []json.RawMessage `json:"tools"`
			} `json:"result"`
		}
		if json.Unmarshal(text, &listing) != nil {
			continue
		}
		for _, tool := range listing.Result.Tools {
			tools = append(tools, tool)
		}
	}
	return tools
}

func TestRealDefinitions(t *testing.T) {
	tools := corpusTools(t)
	if len(tools) < 1000 {
		t.Fatalf("only %d tools in the corpus", len(tools))
	}
	for _, raw := range tools {
		c := Parse(raw)
		if !c.Parsable() {
			t.Errorf("%.80s: %s", raw, c.Problem())
			continue
		}
		checkAgainstOracle(t, c, c)
	}
}

func BenchmarkParse(b *testing.B) {
	tools := corpusTools(b)
	size := 0
	for _, raw := range tools {
		size += len(raw)
	}
	b.Run("contract", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, raw := range tools {
				Parse(raw)
			}
		}
	})
	b.Run("encoding-json-any", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, raw := range tools {
				var v any
				if err := json.Unmarshal(raw, &v); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// The cost of a number is linear in its digits, of its exponent too.
func BenchmarkLargestNumber(b *testing.B) {
	for name, number := range map[string]string{
		"digits":   strings.Repeat("7", MaxBytes-10),
		"zeros":    "0." + strings.Repeat("0", MaxBytes-12) + "1",
		"exponent": "10e" + strings.Repeat("9", MaxBytes-13),
	} {
		raw := []byte(`{"a":` + number + `}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if c := Parse(raw); !c.Parsable() {
					b.Fatal(c.Problem())
				}
			}
		})
	}
}
