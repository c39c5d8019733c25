package ledger

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// world is files in memory, for undos.
type world struct {
	files  map[string]State
	text   map[string][]byte
	denied map[string]bool
	broken string // Put fails there
}

func (w *world) May(path string) error {
	if w.denied[path] {
		return errors.New("a rule denies it")
	}
	return nil
}

func (w *world) Now(path string) (State, []byte, error) {
	if s, ok := w.files[path]; ok {
		return s, w.text[path], nil
	}
	return State{Kind: Absent}, nil, nil
}

func (w *world) Put(path string, s State, content []byte) error {
	if path == w.broken {
		return errors.New("it breaks")
	}
	if s.Kind == Absent {
		delete(w.files, path)
		delete(w.text, path)
		return nil
	}
	w.files[path], w.text[path] = s, content
	return nil
}

func (w *world) write(path, text string) State {
	s := Describe([]byte(text), 0o644)
	w.files[path], w.text[path] = s, []byte(text)
	return s
}

type clock struct{ at time.Time }

func (c *clock) now() time.Time { c.at = c.at.Add(time.Second); return c.at }

func newLedger(t *testing.T) (*Ledger, *clock) {
	t.Helper()
	c := &clock{time.Now()}
	l, err := Open(t.TempDir(), c.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l, c
}

// changed makes an entry of a file that was changed.
func changed(t *testing.T, l *Ledger, w *world, path, from, to string) string {
	t.Helper()
	before, err := l.Keep([]byte(from), 0o644, true)
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Begin(Entry{Tool: "Write", What: path, Changes: []Change{{Path: path, Before: before, After: w.write(path, to)}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.End(func(*Entry) {}); err != nil {
		t.Fatal(err)
	}
	return d.ID()
}

func TestUndo(t *testing.T) {
	l, _ := newLedger(t)
	w := &world{files: map[string]State{}, text: map[string][]byte{}, denied: map[string]bool{}}
	id := changed(t, l, w, "/p/a", "old", "new")
	p, err := l.Plan(id, w)
	if err != nil || p.Problem() != "" || string(w.text["/p/a"]) != "new" {
		t.Fatalf("%v, %v, %q", p, err, w.text)
	}
	undo, err := l.Undo(p, w)
	if err != nil || string(w.text["/p/a"]) != "old" {
		t.Fatalf("%v, %q", err, w.text)
	}
	if _, err := l.Undo(p, w); fault.KindOf(err) != fault.Conflict {
		t.Errorf("the same plan twice: %v", err)
	}
	if p, _ := l.Plan(id, w); !strings.Contains(p.Problem(), "changed since") {
		t.Errorf("%q", p.Problem())
	}
	p, err = l.Plan(undo, w)
	if err != nil || p.Problem() != "" {
		t.Fatalf("an undo can't be undone: %v, %q", err, p.Problem())
	}
	if _, err := l.Undo(p, w); err != nil || string(w.text["/p/a"]) != "new" {
		t.Errorf("%v, %q", err, w.text)
	}
	w.denied["/p/a"] = true
	if p, _ := l.Plan(id, w); !strings.Contains(p.Problem(), "a rule denies it") {
		t.Errorf("%q", p.Problem())
	}
}

// An undo is carried out whole or not at all: one path that can't be put back keeps all.
func TestUndoIsWhole(t *testing.T) {
	l, _ := newLedger(t)
	w := &world{files: map[string]State{"/p/new": {Kind: Folder}}, text: map[string][]byte{}, denied: map[string]bool{}}
	kept, _ := l.Keep([]byte("old"), 0o600, true)
	secret, _ := l.Keep([]byte("SECRET"), 0o600, false)
	if secret.Kept || secret.SHA256 == "" || secret.Why == "" {
		t.Errorf("%+v", secret)
	}
	d, err := l.Begin(Entry{Tool: "Bash", What: "make"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Plan(d.ID(), w); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a change that has not ended: %v", err)
	}
	changes := []Change{
		{Path: "/p/a", Before: kept, After: w.write("/p/a", "x")},
		{Path: "/p/new", Before: State{Kind: Absent}, After: State{Kind: Folder}},
		{Path: "/p/new/f", Before: State{Kind: Absent}, After: w.write("/p/new/f", "f")},
		{Path: "/p/s", Before: secret, After: State{Kind: Absent}},
	}
	if err := d.End(func(e *Entry) { e.Changes = changes }); err != nil {
		t.Fatal(err)
	}
	p, err := l.Plan(d.ID(), w)
	if err != nil || !strings.Contains(p.Problem(), "may not be read") {
		t.Fatalf("%v, %q", err, p.Problem())
	}
	if p.Steps[0].Path != "/p/new/f" || p.Steps[1].Path != "/p/new" {
		t.Errorf("the order is %v", p.Steps)
	}
	if _, err := l.Undo(p, w); fault.KindOf(err) != fault.Conflict || string(w.text["/p/a"]) != "x" {
		t.Errorf("%v, %q", err, w.text)
	}
	// Without that one it can; and what breaks in the middle is told.
	d, _ = l.Begin(Entry{Tool: "Bash"})
	_ = d.End(func(e *Entry) { e.Changes = changes[:3] })
	p, _ = l.Plan(d.ID(), w)
	w.broken = "/p/a"
	if _, err := l.Undo(p, w); err == nil || !strings.Contains(err.Error(), "2 of 3") {
		t.Errorf("%v", err)
	}
}

// Every byte of a name is kept, also where JSON can't hold it.
func TestNamesAreKept(t *testing.T) {
	l, _ := newLedger(t)
	for _, name := range []string{"/p/a", "/p/ü\n\"", "/p/\xff", "/p/\uFFFD", "/p/\x80\xc3/\u202e", ""} {
		d, err := l.Begin(Entry{})
		if err != nil {
			t.Fatal(err)
		}
		want := Change{Path: name, Before: State{Kind: Link, Target: name}, After: State{Kind: Absent}}
		_ = d.End(func(e *Entry) { e.Changes = []Change{want} })
		if e, err := l.Entry(d.ID()); err != nil || e.Changes[0] != want {
			t.Errorf("%q: %+v, %v", name, e.Changes, err)
		}
	}
}

func TestEntries(t *testing.T) {
	l, _ := newLedger(t)
	w := &world{files: map[string]State{}, text: map[string][]byte{}}
	first, second := changed(t, l, w, "/a", "1", "2"), changed(t, l, w, "/b", "1", "2")
	all, broken, err := l.Entries(10)
	if err != nil || broken != 0 || len(all) != 2 || all[0].ID != second {
		t.Fatalf("%v, %d, %v", all, broken, err)
	}
	if e, err := l.Entry(first[len(first)-4:]); err != nil || e.ID != first {
		t.Errorf("%v, %v", e, err)
	}
	for _, id := range []string{"", "nothing", "20"} {
		if _, err := l.Entry(id); err == nil {
			t.Errorf("%q is an entry", id)
		}
	}
	d, _ := l.Begin(Entry{Tool: "Bash"})
	d.Drop()
	if _, err := l.Entry(d.ID()); err == nil {
		t.Error("an entry that was taken back is there")
	}
}

func TestContentIsChecked(t *testing.T) {
	l, _ := newLedger(t)
	s, _ := l.Keep([]byte("text"), 0o644, true)
	f, err := l.contents.OpenFile(s.SHA256, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString("other")
	f.Close()
	if _, err := l.Content(s); fault.KindOf(err) != fault.Corrupt {
		t.Errorf("%v", err)
	}
	if s, err := l.Keep(make([]byte, MaxFile+1), 0, true); err != nil || s.Kept || s.Why == "" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestPrune(t *testing.T) {
	l, c := newLedger(t)
	w := &world{files: map[string]State{}, text: map[string][]byte{}}
	l.most = 250
	old := changed(t, l, w, "/old", strings.Repeat("a", 100), "x")
	c.at = c.at.Add(MaxAge + time.Hour)
	id := changed(t, l, w, "/a", strings.Repeat("b", 100), "x")
	if err := l.Prune(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Entry(old); err == nil {
		t.Error("an old entry is there")
	}
	e, err := l.Entry(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Content(e.Changes[0].Before); err != nil {
		t.Error(err)
	}
	c.at = c.at.Add(2 * young)
	changed(t, l, w, "/b", strings.Repeat("c", 100), "x")
	c.at = c.at.Add(2 * young)
	last := changed(t, l, w, "/c", strings.Repeat("d", 100), "x") // makes room
	if e, _ = l.Entry(last); !e.Changes[0].Before.Kept {
		t.Errorf("there was no room: %+v", e)
	}
	if e, _ = l.Entry(id); e.ID != "" {
		if _, err := l.Content(e.Changes[0].Before); err == nil {
			t.Error("the oldest content is there")
		}
	}
	if s, err := l.Keep(bytes.Repeat([]byte("e"), 300), 0, true); err != nil || s.Kept {
		t.Errorf("more than all is kept: %+v, %v", s, err)
	}
}

// Where nothing can be written, nothing begins.
func TestUnwritable(t *testing.T) {
	l, _ := newLedger(t)
	l.Close()
	if _, err := l.Begin(Entry{}); fault.KindOf(err) != fault.Storage {
		t.Errorf("%v", err)
	}
	if _, err := l.Keep([]byte("x"), 0, true); err == nil {
		t.Error("a content was kept")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "changes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, time.Now); fault.KindOf(err) != fault.Storage {
		t.Errorf("%v", err)
	}
	if _, err := Open("relative", time.Now); err == nil {
		t.Error("a relative folder was taken")
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	l, _ := newLedger(t)
	s, _ := l.Keep([]byte("x"), 0o755, true)
	for name, r := range map[string]*os.Root{s.SHA256: l.contents} {
		if info, err := r.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
}
