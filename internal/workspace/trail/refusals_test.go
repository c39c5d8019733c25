package trail

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/record"
)

// session writes the file of a session: refusals by their seconds, each after an intent.
func wrote(t *testing.T, folder, name string, seconds ...int64) string {
	t.Helper()
	tr, err := Create(folder, name, time.Unix(seconds[0], 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range seconds {
		e := entry(fmt.Sprint(name, s))
		e.Time, e.Type = time.Unix(s, 0).UTC(), record.TypeRefusal
		e.Call = &record.Call{ID: e.Name, Refused: "refused_by_rules", Reasons: []string{"refused_by_rules", "by_ask"}}
		tr.Enqueue(entry("x"))
		tr.Enqueue(e)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	last := time.Unix(seconds[len(seconds)-1], 0)
	if err := os.Chtimes(tr.Path(), last, last); err != nil {
		t.Fatal(err)
	}
	return tr.Path()
}

func names(t *testing.T, folder string, most int) (string, []Damage) {
	t.Helper()
	found, damaged, err := Refusals(folder, most)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range found {
		all = append(all, r.Session+":"+r.Name)
	}
	return strings.Join(all, " "), damaged
}

// The newest of all sessions come first, also where sessions ran at the same time.
func TestRefusals(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "audit")
	if got, damaged := names(t, folder, 9); got != "" || damaged != nil {
		t.Errorf("where nothing was written: %q, %v", got, damaged)
	}
	wrote(t, folder, "a", 10, 20, 50)
	wrote(t, folder, "b", 30, 40)
	old := wrote(t, folder, "c", 1, 2)
	if err := os.WriteFile(filepath.Join(folder, "notes.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]string{
		0: "", 1: "a:a50", 2: "a:a50 b:b40", 3: "a:a50 b:b40 b:b30", 9: "a:a50 b:b40 b:b30 a:a20 a:a10 c:c2 c:c1",
	} {
		if got, damaged := names(t, folder, most); got != want || damaged != nil {
			t.Errorf("%d: %q, %v, want %q", most, got, damaged, want)
		}
	}
	if err := os.WriteFile(old, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Unix(2, 0), time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	if _, damaged := names(t, folder, 2); damaged != nil {
		t.Errorf("an old file was read for newer refusals: %v", damaged)
	}
	if known, err := Sessions(folder); err != nil || len(known) != 3 || !known["b"] {
		t.Errorf("%v, %v", known, err)
	}
}

// What can still be read of a damaged file is given, and that it is damaged, with where.
func TestRefusalsOfADamagedFile(t *testing.T) {
	folder := t.TempDir()
	path := wrote(t, folder, "a", 10, 20, 30)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	for name, c := range map[string]struct {
		text      []byte
		want, why string
	}{
		"a line of no JSON": {join(lines[0], []byte("{\n"), lines[2], lines[3], lines[4], lines[5]), "a:a30 a:a20", "line 2: it can't be read"},
		"a changed line":    {bytes.Replace(whole, []byte("by_ask"), []byte("by_usk"), 1), "a:a30 a:a20 a:a10", "line 2: it was changed"},
		"a line is gone":    {join(lines[0], lines[2], lines[3], lines[4], lines[5]), "a:a30 a:a20", "line 2: it does not follow"},
		"the end is torn":   {whole[:len(whole)-20], "a:a20 a:a10", "line 6: it can't be read"},
		"a line too long":   {join(lines[0], lines[1], bytes.Repeat([]byte("x"), maxEntry+1)), "a:a10", "line 3: it can't be read"},
		"a whole one":       {whole, "a:a30 a:a20 a:a10", ""},
	} {
		if err := os.WriteFile(path, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, damaged := names(t, folder, 9)
		said := ""
		if len(damaged) > 0 {
			said = damaged[0].Err.Error()
		}
		if got != c.want || !strings.Contains(said, c.why) || (c.why == "") != (said == "") {
			t.Errorf("%s: %q, %q", name, got, said)
		}
	}
}
