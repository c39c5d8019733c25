package ledger

import (
	"crypto/rand"
	"encoding/json"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// beat is how often a Hold says that its process lives.
const beat = 5 * time.Second

// Held is what was there before the commands of a session began, of what they may not
// make, by real path.
type Held struct {
	Session string
	Roots   []string
	Since   int64 // when the first command of the session began, in nanoseconds
	Paths   map[string]Mark
	Dark    []string // folders that could not be looked through: what is in them is not known
	// Paths of which it is not known whose they are: they are no command's for certain, and
	// not the owner's either.
	Suspects []string
}

// Mark tells what is at a path from whatever is put there later. A zero Device and Born
// are not known.
type Mark struct {
	Kind   fs.FileMode // type bits
	Device uint64
	Inode  uint64
	Born   int64  // nanoseconds
	Target string // of a link
}

// Is reports whether two marks are of one thing. Device and time of birth count only
// where both are known.
func (m Mark) Is(o Mark) bool {
	return m.Kind == o.Kind && m.Inode == o.Inode && m.Target == o.Target &&
		(m.Device == o.Device || m.Device == 0 || o.Device == 0) && (m.Born == o.Born || m.Born == 0 || o.Born == 0)
}

// form is the number of the form of what is written down. Of another form nothing is
// taken, for nobody's file may be held for a command's.
const form = 2

// written is a Held in its file. Names are bytes, and need not be text.
type written struct {
	Form     int           `json:"form"`
	Session  string        `json:"session"`
	Roots    [][]byte      `json:"roots"`
	Since    int64         `json:"since"`
	Dark     [][]byte      `json:"dark,omitempty"`
	Suspects [][]byte      `json:"suspects,omitempty"`
	Marks    []writtenMark `json:"marks"`
}

type writtenMark struct {
	Path   []byte      `json:"path"`
	Kind   fs.FileMode `json:"kind"`
	Device uint64      `json:"device,omitempty"`
	Inode  uint64      `json:"inode"`
	Born   int64       `json:"born,omitempty"`
	Target []byte      `json:"target,omitempty"`
}

func (h Held) encode() []byte {
	w := written{Form: form, Session: h.Session, Roots: bytesOf(h.Roots), Since: h.Since, Dark: bytesOf(h.Dark), Suspects: bytesOf(h.Suspects), Marks: []writtenMark{}}
	for p, m := range h.Paths {
		w.Marks = append(w.Marks, writtenMark{[]byte(p), m.Kind, m.Device, m.Inode, m.Born, []byte(m.Target)})
	}
	b, _ := json.Marshal(w) // strings, bytes and numbers
	return b
}

func decodeHeld(b []byte) (h Held, ok bool) {
	var w written
	if json.Unmarshal(b, &w) != nil || w.Form != form {
		return h, false
	}
	h = Held{Session: w.Session, Roots: stringsOf(w.Roots), Since: w.Since, Dark: stringsOf(w.Dark), Suspects: stringsOf(w.Suspects), Paths: make(map[string]Mark, len(w.Marks))}
	for _, m := range w.Marks {
		h.Paths[string(m.Path)] = Mark{m.Kind, m.Device, m.Inode, m.Born, string(m.Target)}
	}
	return h, true
}

func bytesOf(names []string) (all [][]byte) {
	for _, n := range names {
		all = append(all, []byte(n))
	}
	return all
}

func stringsOf(names [][]byte) (all []string) {
	for _, n := range names {
		all = append(all, string(n))
	}
	return all
}

// Hold is a Held that is written down for as long as commands run. When this process
// dies meanwhile it stays.
type Hold struct {
	l    *Ledger
	f    *os.File
	name string
	once sync.Once
	done chan struct{}
}

// Hold writes down what is there before commands begin. A failure is a fault.Storage,
// and then none may begin.
func (l *Ledger) Hold(h Held) (*Hold, error) {
	name := h.Session + "-" + rand.Text()[:6] + ".json"
	f, err := l.running.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unwritable(err)
	}
	if err = lock(f); err == nil { // it is this process's before it says anything
		_, err = f.Write(h.encode())
	}
	if err != nil {
		_ = f.Close()
		_ = l.running.Remove(name)
		return nil, unwritable(err)
	}
	hold := &Hold{l: l, f: f, name: name, done: make(chan struct{})}
	go hold.live()
	return hold, nil
}

// live keeps the time of the file at the present.
func (h *Hold) live() {
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	for {
		select {
		case <-h.done:
			return
		case now := <-ticks.C:
			_ = h.l.running.Chtimes(h.name, now, now)
		}
	}
}

// Release takes it back: no command runs any more.
func (h *Hold) Release() {
	h.once.Do(func() {
		close(h.done)
		_ = h.l.running.Remove(h.name)
		_ = h.f.Close()
	})
}

// Leave ends it as the end of this process would: it is found as a Left.
func (h *Hold) Leave() {
	h.once.Do(func() {
		close(h.done)
		_ = h.f.Close()
	})
}

// Left is a Hold that is written down: of a session whose commands run, or of one that
// died with its commands.
type Left struct {
	Held
	Alive bool
	Last  time.Time // when its process lived for certain; it died at most a few seconds later
	Name  string    // of its file
}

// Left gives what is held. What can't be read is of a process that died before any
// command began, or of another version of this program.
func (l *Ledger) Left() ([]Left, error) {
	list, err := fs.ReadDir(l.running.FS(), ".")
	if err != nil {
		return nil, fault.Wrap(err, fault.Storage, "the change ledger can't be read: "+plain(err), "")
	}
	var all []Left
	for _, d := range list {
		if x, ok := l.left(d.Name()); ok {
			all = append(all, x)
		}
	}
	return all, nil
}

func (l *Ledger) left(name string) (Left, bool) {
	b, err := l.running.ReadFile(name)
	if err != nil {
		return Left{}, false
	}
	f, err := l.running.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return Left{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Left{}, false
	}
	held, ok := decodeHeld(b)
	return Left{Held: held, Alive: lock(f) != nil, Last: info.ModTime(), Name: name}, ok
}

// Forget drops a Left: what its session left behind is dealt with.
func (l *Ledger) Forget(x Left) { _ = l.running.Remove(x.Name) }
