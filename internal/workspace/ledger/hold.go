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
// make: the inodes by real path.
type Held struct {
	Session string            `json:"session"`
	Roots   []string          `json:"roots"`
	Paths   map[string]uint64 `json:"paths"`
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
	b, _ := json.Marshal(h) // strings and numbers
	err = lock(f)           // it is this process's before it says anything
	if err == nil {
		_, err = f.Write(b)
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
	name  string
}

// Left gives what is held. What can't be read is of a process that died before any
// command began.
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
	x := Left{Alive: lock(f) != nil, Last: info.ModTime(), name: name}
	return x, json.Unmarshal(b, &x.Held) == nil
}

// Forget drops a Left: what its session left behind is dealt with.
func (l *Ledger) Forget(x Left) { _ = l.running.Remove(x.name) }
