package delta

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// gateCase is one pair of the fixture. Approved and live are raw bytes.
type gateCase struct {
	Name        string          `json:"name"`
	Family      string          `json:"family"`
	Approved    json.RawMessage `json:"approved"`
	Live        json.RawMessage `json:"live"`
	LiveB64     *string         `json:"live_b64"`
	Unannotated string          `json:"unannotated"`
	Signals     []string        `json:"signals"`
}

func (c gateCase) contracts(t testing.TB) (approved, live contract.Contract) {
	t.Helper()
	raw := []byte(c.Live)
	if c.LiveB64 != nil {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(*c.LiveB64); err != nil {
			t.Fatal(err)
		}
	}
	if string(c.Approved) != "null" {
		approved = contract.Parse(c.Approved)
	}
	return approved, contract.Parse(raw)
}

func (c gateCase) gate() Gate {
	class, _ := contract.ParseClass(c.Unannotated)
	return Gate{Unannotated: class}
}

func gateCases(t testing.TB) []gateCase {
	t.Helper()
	var all []gateCase
	for _, name := range []string{"gate_cases.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var cases []gateCase
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatal(err)
		}
		all = append(all, cases...)
	}
	return all
}

func printed(signals []Signal) []string {
	lines := []string{}
	for _, s := range signals {
		lines = append(lines, s.String())
	}
	return lines
}

func TestEveryCaseHasExactlyItsSignals(t *testing.T) {
	cases := gateCases(t)
	if len(cases) < 358 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			approved, live := c.contracts(t)
			if got := printed(c.gate().Compare(approved, live)); !slices.Equal(got, c.Signals) {
				t.Errorf("approved %s\nlive     %s\ngives %v\nnot   %v", approved.Raw(), live.Raw(), got, c.Signals)
			}
		})
	}
}
