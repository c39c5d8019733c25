package offline

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

var update = flag.Bool("update", false, "write the golden files anew")

// corpus is the folder with the real listings, which stands outside of the repository.
func corpus(t testing.TB) string {
	dir := os.Getenv("HOLDFAST_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("NO CORPUS IN %s: real upgrades are NOT replayed; set HOLDFAST_CORPUS", dir)
	}
	return dir
}

// TestReplayOfTheCorpus pins what the gate does to real upgrades, rule by rule, so that
// a change of the gate shows in review what it costs people. Numbers alone are kept.
func TestReplayOfTheCorpus(t *testing.T) {
	r, err := Replay(filepath.Join(corpus(t), "listings"), contract.Destructive)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "replay.json")
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(got) {
		t.Errorf("the gate does something else to real upgrades; if that is meant: go test ./internal/offline -run Corpus -update\n%s", got)
	}
	if all := r.Total; all.Changed != 384 || all.Blocked*1000 > 278*all.Changed || all.Held*100 > 60*all.Changed {
		t.Errorf("of %d changed tools %d are held and %d blocked: more than people can be asked about", all.Changed, all.Held, all.Blocked)
	}
}

// released writes listings, by file name, and gives their folder.
func released(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, raw := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	saidTool  = `{"name":"a","description":"new","inputSchema":{"type":"object"}}`
	tightTool = `{"name":"a","description":"new","inputSchema":{"type":"object","additionalProperties":false}}`
	moreTool  = `{"name":"a","description":"new","inputSchema":{"type":"object","required":["x"]},"annotations":{"openWorldHint":false}}`
)

func TestReplay(t *testing.T) {
	dir := released(t, map[string]string{
		"s/1.0.0-rc.1.json":      "[" + aTool + "," + bTool + "]",
		"s/1.0.0.json":           "[" + saidTool + "," + bTool + "]",    // a text
		"s/1.9.0.json":           "[" + tightTool + "," + bTool + "]",   // narrower
		"s/1.10.0.json":          "[" + moreTool + "]",                  // held and blocked; b is gone
		"s/2.0.0.json":           "[" + moreTool + "," + bTool + ",{}]", // b is back as it was
		"s/2.0.0.init.json":      "{",
		"s/2.0.0-x.init.json":    "{",
		"s/README.md":            "x",
		"t/1.0.0.json":           aTool,
		"t/v1.0.1.json":          `{"name":"a","inputSchema":{"type":"object"},"x":1}`, // held, and may wait
		"u/notes.txt":            "no server",
		"package.json":           "{}",
		"t/1.0.0.prompts.json":   "{}",
		"t/inside/1.0.0.json":    "{}",
		"t/1.0.0.resources.json": "{}",
	})
	r, err := Replay(dir, contract.Destructive)
	if err != nil {
		t.Fatal(err)
	}
	want := Replayed{
		Servers: []ServerReplay{
			{"s", Counts{Steps: 4, Pairs: 7, Changed: 3, Texts: 1, Quiet: 1, Held: 1, Blocked: 1}},
			{"t", Counts{Steps: 1, Pairs: 1, Changed: 1, Held: 1}},
		},
		Rules: []RuleReplay{
			{"GATE-FIELD:x", 1, 1},
			{"GATE-HINT-CHANGE:openWorldHint", 1, 0},
			{"GATE-SCHEMA-SHAPE:additional-properties", 1, 0},
			{"GATE-SCHEMA-SHAPE:new-required", 1, 0},
		},
		Total:   Counts{Steps: 5, Pairs: 8, Changed: 4, Texts: 1, Quiet: 1, Held: 2, Blocked: 1},
		Skipped: 8,
	}
	got, _ := json.Marshal(r)
	if expected, _ := json.Marshal(want); string(got) != string(expected) {
		t.Errorf("%s\nwant %s", got, expected)
	}
	if one, err := Replay(released(t, map[string]string{"1.0.0.json": aTool, "1.0.1.json": saidTool}), contract.Destructive); err != nil || one.Total.Texts != 1 {
		t.Errorf("the listings of one server: %+v %v", one, err)
	}
}

func TestReplayRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		kind  fault.Kind
		says  string
	}{
		"nothing":    {map[string]string{"x.txt": "x"}, fault.BadInput, "no listings to replay"},
		"no JSON":    {map[string]string{"s/1.0.0.json": "["}, fault.Protocol, "1.0.0.json"},
		"twice":      {map[string]string{"s/1.0.0.json": "[" + aTool + "," + aTool + "]"}, fault.Protocol, "1.0.0.json"},
		"no listing": {map[string]string{"s/1.0.0.json": `{"mcpServers":{}}`}, fault.BadInput, "1.0.0.json"},
	} {
		_, err := Replay(released(t, c.files), contract.Destructive)
		if err == nil || fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Replay(filepath.Join(t.TempDir(), "none"), contract.Destructive); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

// TestUnreadableToolsAreReplayed: they are held and never approved, and the next
// readable one is compared with what was approved before.
func TestUnreadableToolsAreReplayed(t *testing.T) {
	const bad = `{"name":"a","x":1,"x":2}`
	r, err := Replay(released(t, map[string]string{
		"s/1.0.0.json": "[" + aTool + "," + bTool + "]", "s/1.0.1.json": "[" + bad + "," + bTool + "]",
		"s/1.0.2.json": "[" + bad + "," + bTool + "]", "s/1.0.3.json": "[" + saidTool + "," + bTool + "]",
	}), contract.Destructive)
	if err != nil {
		t.Fatal(err)
	}
	if all := r.Total; all.Changed != 2 || all.Held != 1 || all.Blocked != 1 || all.Texts != 1 || r.Rules[0] != (RuleReplay{"GATE-SCHEMA-SHAPE:unparsable", 1, 1}) {
		t.Errorf("%+v %+v", all, r.Rules)
	}
}

func TestVersions(t *testing.T) {
	order := []string{
		"0.0.9.json", "0.0.25.json", "1.0.0-alpha.json", "1.0.0-alpha.1.json", "1.0.0-alpha.beta.json", "1.0.0-beta.json", "1.0.0-beta.2.json",
		"1.0.0-beta.11.json", "1.0.0-rc.1.json", "1.0.0.json", "1.0.0+a.json", "1.0.0+b.json", "v1.2.3.json", "2025.01.9.json", "2025.1.14.json",
		"2025.11.25.json", "99999999999999999999.0.0.json", "100000000000000000000.0.0.json",
	}
	var all []version
	for _, f := range order {
		v, ok := versionOf(f)
		if !ok {
			t.Fatalf("%s is no version", f)
		}
		all = append(all, v)
	}
	for i := range all {
		for j := range all {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := compareVersions(all[i], all[j]); got != want {
				t.Errorf("%s to %s: %d, want %d", all[i].text, all[j].text, got, want)
			}
		}
	}
	none := []string{"1.0.json", "1.0.0", "1.0.0.txt", "a.json", "1.0.0-.json", "1.0.0.init.json", "1.0.0-rc.1.prompts.json", "1.0.0-rc.resources.json", "1.0.0.0.json", ".json"}
	if i := slices.IndexFunc(none, func(f string) bool { _, ok := versionOf(f); return ok }); i >= 0 {
		t.Errorf("%s is taken for a version", none[i])
	}
}
