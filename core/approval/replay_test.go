package approval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// gate compares really and finds every text clean: the scan is not counted here.
type gate struct{}

func (gate) Compare(a, l contract.Contract) []delta.Signal {
	return delta.Gate{Unannotated: contract.Destructive}.Compare(a, l)
}
func (gate) Scan(contract.Contract) scan.Verdict { return verdictOf("clean") }
func (gate) Bundle() string                      { return "b1" }

// listingsOf gives a package's listings in the order of its versions. The corpus
// stands outside of the repository: HOLDFAST_CORPUS names its folder.
func listingsOf(t *testing.T, dir string) [][]Offer {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		base := strings.TrimSuffix(filepath.Base(f), ".json")
		return strings.HasSuffix(base, ".init") || strings.HasSuffix(base, ".prompts") || strings.HasSuffix(base, ".resources")
	})
	slices.SortFunc(files, func(a, b string) int { return slices.Compare(version(a), version(b)) })
	var all [][]Offer
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var line struct {
			Result struct{ Tools []json.RawMessage }
		}
		if err := json.Unmarshal(raw, &line); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		var offers []Offer
		for _, tool := range line.Result.Tools {
			c := contract.Parse(tool)
			offers = append(offers, Offer{Tool, c.Name(), c})
		}
		all = append(all, offers)
	}
	return all
}

func version(file string) []int {
	var v []int
	for part := range strings.FieldsFuncSeq(strings.TrimSuffix(filepath.Base(file), ".json"), func(r rune) bool { return r == '.' || r == '-' }) {
		n, _ := strconv.Atoi(part) // a word counts as 0
		v = append(v, n)
	}
	return v
}

func corpus(t *testing.T) string {
	dir := os.Getenv("HOLDFAST_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("NO CORPUS IN %s: real upgrades are NOT tested; set HOLDFAST_CORPUS", dir)
	}
	return dir
}

// TestReplay takes published servers through their versions, each step approved
// before the next: how often does the gate hold, and how often does it block a tool
// under keep? The measure in docs/design/approval.md is about these numbers.
func TestReplay(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(corpus(t), "listings", "*"))
	changed, held, blocked := 0, 0, 0
	for _, dir := range dirs {
		b := setup(t, "scan")
		b.ok(Add(b.s, b.addRequest(ByCLI, AskLess)))
		b.s.Settings.OnHold = OnHoldKeep
		for _, offers := range listingsOf(t, dir) {
			before := b.s.Records
			b.ok(Pass(b.s, b.listing(offers...), gate{}))
			for i, r := range b.s.Records {
				if i >= len(before) || r.Absent || before[i].Live.Equal(r.Live) {
					continue
				}
				changed++
				if r.Waiting() || r.Status == Changed {
					held++
				}
				if r.Status == Changed {
					blocked++
				}
				if r.Live.Parsable() {
					b.ok(Approve(b.s, b.review(r.Key.Name)))
				}
			}
			if c := b.ok(Pass(b.s, b.listing(offers...), gate{})); len(c.Records) > 0 {
				t.Errorf("%s: the same listing again wrote %s", filepath.Base(dir), reasons(c))
			}
		}
	}
	t.Logf("%d changed tools, %d held by the gate (%.1f %%), %d blocked under keep (%.1f %%)",
		changed, held, 100*float64(held)/float64(changed), blocked, 100*float64(blocked)/float64(changed))
	if changed < 200 || held*100 > changed*65 || blocked*100 > changed*35 {
		t.Error("the gate holds, or keep blocks, more than people can be asked about")
	}
}

// TestFixturesUnderTheRealGate: the fixtures are what the scenarios take them for.
func TestFixturesUnderTheRealGate(t *testing.T) {
	for _, c := range []struct {
		from, to Offer
		want     string
	}{
		{benign("a"), edited("a"), ""},
		{benign("a"), danger("a"), ""},
		{soft("a"), softEdited("a"), ""},
		{soft("a"), softOther("a"), ""},
		{benign("a"), wide("a"), "GATE-SCHEMA-SHAPE:type:properties/to"},
		{wide("a"), benign("a"), ""},
	} {
		if got := strings.Join(delta.Compact(gate{}.Compare(c.from.Contract, c.to.Contract), 16), " "); got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.from.Contract.Raw(), c.to.Contract.Raw(), got, c.want)
		}
	}
}

// TestKeepUnderTheRealGate: which changes of a schema wait, by the gate's own signals.
func TestKeepUnderTheRealGate(t *testing.T) {
	const base = `{"type":"object","properties":{"to":{"type":"string","default":"x"},"n":{"type":"object","properties":{"dry_run":{"type":"boolean"}}}}}`
	for name, c := range map[string]struct {
		schema string
		waits  bool
	}{
		"a wider type":           {`{"type":"object","properties":{"to":{"type":["string","null"],"default":"x"},"n":{"type":"object","properties":{"dry_run":{"type":"boolean"}}}}}`, true},
		"a default gone":         {`{"type":"object","properties":{"to":{"type":"string"},"n":{"type":"object","properties":{"dry_run":{"type":"boolean"}}}}}`, true},
		"another default":        {`{"type":"object","properties":{"to":{"type":"string","default":"y"},"n":{"type":"object","properties":{"dry_run":{"type":"boolean"}}}}}`, false},
		"new, with an enum":      {`{"type":"object","properties":{"m":{"enum":["a","b"]},"to":{"type":"string","default":"x"},"n":{"type":"object","properties":{"dry_run":{"type":"boolean"}}}}}`, true},
		"new, with a const":      {`{"type":"object","properties":{"m":{"const":"a"},"to":{"type":"string","default":"x"},"n":{"type":"object","properties":{"dry_run":{"type":"boolean"}}}}}`, false},
		"new, with a default":    {`{"type":"object","properties":{"m":{"default":"a"},"to":{"type":"string","default":"x"},"n":{"type":"object","properties":{"dry_run":{"type":"boolean"}}}}}`, false},
		"a name required":        {`{"type":"object","required":["to"],"properties":{"to":{"type":"string","default":"x"},"n":{"type":"object","properties":{"dry_run":{"type":"boolean"}}}}}`, false},
		"pinned":                 {`{"type":"object","properties":{"to":{"type":"string","default":"x","enum":["x"]},"n":{"type":"object","properties":{"dry_run":{"type":"boolean"}}}}}`, false},
		"wider, dry_run dropped": {`{"type":"object","properties":{"to":{"type":["string","null"],"default":"x"},"n":{"type":"object","properties":{}}}}`, false},
		"no schema":              {`null`, false},
	} {
		offer := func(s string) Offer { return tool("a", `,"inputSchema":`+s) }
		b := trusted(t, "manual", offer(base))
		b.s.Settings.OnHold = OnHoldKeep
		b.ok(Pass(b.s, b.listing(offer(c.schema)), gate{}))
		if r := b.rec("a"); r.Waiting() != c.waits {
			t.Errorf("%s: it is %s: %v", name, state(r), r.Evidence.Signals)
		}
	}
}
