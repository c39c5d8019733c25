package scan

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

var update = flag.Bool("update", false, "write the measured tables anew")

// corpus is the folder of real and poisoned definitions, which stands outside of
// the repository: HOLDFAST_CORPUS names it.
func corpus(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("HOLDFAST_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "attacks.jsonl")); err != nil {
		tb.Skipf("NO CORPUS IN %s: recall and false findings are NOT measured; set HOLDFAST_CORPUS", dir)
	}
	return dir
}

// row is one definition of attacks.jsonl or benign.jsonl, with its neighbours.
type row struct {
	ID, Family, Check, Expects string
	Core                       bool
	Tools                      []struct {
		Server string
		Tool   json.RawMessage
	}
}

func (x row) scan(b *Bundle) Verdict {
	var neighbours []Neighbour
	for _, n := range x.Tools[1:] {
		c := contract.Parse(n.Tool)
		neighbours = append(neighbours, Neighbour{n.Server, c.Name(), c})
	}
	return New(b, neighbours).Scan(contract.Parse(x.Tools[0].Tool))
}

func rows(tb testing.TB, file string) []row {
	tb.Helper()
	f, err := os.Open(filepath.Join(corpus(tb), file))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []row
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var x row
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			tb.Fatal(err)
		}
		all = append(all, x)
	}
	return all
}

// listings gives the newest tools of each published server.
func listings(tb testing.TB) map[string][]contract.Contract {
	tb.Helper()
	dirs, _ := filepath.Glob(filepath.Join(corpus(tb), "listings", "*"))
	all := map[string][]contract.Contract{}
	for _, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		files = slices.DeleteFunc(files, func(f string) bool { return len(strings.Split(filepath.Base(f), ".")) > 4 })
		if len(files) == 0 {
			continue
		}
		newest := slices.MaxFunc(files, func(a, b string) int { return slices.Compare(version(a), version(b)) })
		for _, raw := range toolsOf(tb, newest) {
			all[filepath.Base(dir)] = append(all[filepath.Base(dir)], contract.Parse(raw))
		}
	}
	return all
}

func version(file string) (v []int) {
	for part := range strings.FieldsFuncSeq(filepath.Base(file), func(c rune) bool { return c < '0' || c > '9' }) {
		n, _ := strconv.Atoi(part)
		v = append(v, n)
	}
	return v
}

func toolsOf(tb testing.TB, file string) []json.RawMessage {
	tb.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var l struct {
		Result struct{ Tools []json.RawMessage }
	}
	if json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l.Result.Tools
}

// count is what was found of one kind.
type count struct{ all, notClean, dangerous int }

func (c *count) add(v Verdict) {
	c.all++
	if v.Outcome != Clean {
		c.notClean++
	}
	if v.Outcome == Dangerous {
		c.dangerous++
	}
}

// TestMeasured prints recall by family and by check, and false findings, and holds
// them against the golden table: a change for the worse shows in review.
func TestMeasured(t *testing.T) {
	b := Embedded()
	attacks, checks, benign := map[string]*count{}, map[string]int{}, map[string]*count{}
	var all, real, hard, soft count
	into := func(m map[string]*count, key string, v Verdict) {
		if m[key] == nil {
			m[key] = &count{}
		}
		m[key].add(v)
	}
	for _, x := range rows(t, "attacks.jsonl") {
		v := x.scan(b)
		key := x.Family + ", " + x.Expects
		if !x.Core {
			key = "not core: " + key
		}
		into(attacks, key, v)
		if x.Core && x.Expects == "text-scan" {
			all.add(v)
			found := map[string]bool{}
			for _, f := range v.Findings {
				found[f.Check] = true
			}
			for c := range found {
				checks[c]++
			}
		}
	}
	for _, x := range rows(t, "benign.jsonl") {
		v := x.scan(b)
		into(benign, x.Family+", "+x.Expects, v)
		switch {
		case x.Expects == "clean-or-soft":
			soft.add(v)
		case x.Family == "real":
			real.add(v)
		case strings.HasPrefix(x.Family, "h"):
			hard.add(v)
		}
	}
	side := sideBySide(b, listings(t))
	var out strings.Builder
	table(&out, "attacks", attacks)
	fmt.Fprintf(&out, "\ncheck                            attacks in which it speaks\n")
	for _, c := range slices.Sorted(maps.Keys(checks)) {
		fmt.Fprintf(&out, "%-50s %6d\n", c, checks[c])
	}
	out.WriteString("\n")
	table(&out, "honest", benign)
	fmt.Fprintf(&out, "\n%-50s %6s %9s %9s\n", "in all", "", "not clean", "dangerous")
	for _, s := range []struct {
		name string
		c    count
	}{{"core attacks for a text scan", all}, {"real listings", real}, {"hard negatives, clean", hard}, {"hard negatives, clean or soft", soft}, {"newest listings side by side", side}} {
		fmt.Fprintf(&out, "%-50s %6d %9d %9d\n", s.name, s.c.all, s.c.notClean, s.c.dangerous)
	}
	t.Logf("\n%s", out.String())
	golden(t, "measured.txt", out.String())
	if 100*all.notClean < 92*all.all {
		t.Errorf("%d of %d core attacks are not clean, 92 %% are meant", all.notClean, all.all)
	}
	if real.dangerous+hard.dangerous+soft.dangerous+side.dangerous > 0 {
		t.Error("an honest definition is dangerous")
	}
	if 100*real.notClean > real.all || 100*hard.notClean > 5*hard.all {
		t.Error("too many honest definitions are not clean")
	}
}

// sideBySide scans every tool with the tools of all other servers as neighbours.
func sideBySide(b *Bundle, servers map[string][]contract.Contract) (c count) {
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		var neighbours []Neighbour
		for other, tools := range servers {
			for _, n := range tools {
				if other != server {
					neighbours = append(neighbours, Neighbour{other, n.Name(), n})
				}
			}
		}
		s := New(b, neighbours)
		for _, tool := range servers[server] {
			c.add(s.Scan(tool))
		}
	}
	return c
}

func table(out *strings.Builder, title string, m map[string]*count) {
	fmt.Fprintf(out, "%-50s %6s %9s %9s\n", title, "all", "not clean", "dangerous")
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(out, "%-50s %6d %9d %9d\n", k, m[k].all, m[k].notClean, m[k].dangerous)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("testdata/%s says otherwise (-update writes it anew, and review decides):\n%s", name, want)
	}
}

// TestRealDefinitionsAreComplete scans every version of every published server.
func TestRealDefinitionsAreComplete(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpus(t), "listings", "*", "*.json"))
	s := New(Embedded(), nil)
	for _, file := range files {
		for _, raw := range toolsOf(t, file) {
			if v := s.Scan(contract.Parse(raw)); !v.Complete || v.Outcome == Dangerous {
				t.Errorf("%s: %+v", file, v)
			}
		}
	}
}
