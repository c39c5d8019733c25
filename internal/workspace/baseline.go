package workspace

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

// Limits of what the ledger compares.
const (
	maxCopies    = 1 << 30  // bytes of all copies of one session
	maxFollowed  = 300_000  // paths of one survey
	maxNames     = 64 << 20 // bytes of their names
	maxChanges   = 10_000   // of one entry
	maxChanged   = 4 << 20  // bytes of their paths
	maxIgnored   = 200      // names of ignored paths, of one entry
	maxDigesting = 1 << 30  // bytes of large files that are read for one entry
)

// baseline is what the files of the roots held when they were last looked at, for what
// a command changes is known only afterwards. The copies lie in a file without a name:
// they are gone when this process is.
type baseline struct {
	s    *Server
	mu   sync.Mutex
	pack *os.File // nil: not made yet
	size int64
	most int64               // bytes of all copies
	now  map[string]*subject // by real path
}

// copied is the content that a file had.
type copied struct {
	pack     *os.File
	at, size int64
	sum      mark
	why      string // there is none; why
}

func newBaseline(s *Server) *baseline {
	return &baseline{s: s, most: maxCopies, now: map[string]*subject{}}
}

func (b *baseline) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pack != nil {
		_ = b.pack.Close()
		_ = os.Remove(b.pack.Name()) // where an open file keeps its name
	}
}

// take adds a path to a survey, with a copy of its content if asked. What was known of
// it is taken over when nothing changed. mu is held.
func (b *baseline) take(v *survey, e *entry, known *subject, reach policy.Reach, whole, contents bool) {
	now, ok := e.stat()
	if !ok {
		return
	}
	v.names += int64(len(e.real))
	if known == nil && (len(v.files) >= maxFollowed || v.names > maxNames) {
		v.more++
		return
	}
	contents = contents && reach == policy.Writable && now.mode.IsRegular()
	x := known
	if x == nil || x.stat != now || x.under != e.above || contents && !x.settled {
		x = &subject{stat: now, reach: reach, whole: whole, under: e.above, ignored: e.isIgnored()}
		same := known != nil && known.stat == now
		switch {
		case now.mode&fs.ModeSymlink != 0:
			x.target, _ = e.Readlink(e.name)
		case contents && !(same && known.settled):
			x.copy = b.copy(e, now, known)
			x.settled = v.settles(now)
		case same:
			x.copy, x.settled = known.copy, known.settled
		}
	}
	v.files[e.real] = x
}

// settles reports whether a file that is read now has, as long as its times stay, what
// is read. A program that runs may write to it through memory that it mapped before,
// and a clock that is coarse gives two changes one time.
func (v *survey) settles(now stat) bool {
	return v.quiet && v.begun-now.changed > int64(time.Second)
}

// copy keeps what a file holds, once where it is what was known.
func (b *baseline) copy(e *entry, s stat, known *subject) *copied {
	switch {
	case s.size > ledger.MaxFile:
		return &copied{why: "it has more bytes than are kept of a file"}
	case b.size+s.size > b.most:
		return &copied{why: "the workspace has more bytes than are kept of a session"}
	case !b.s.o.Policy.Readable(e.real, e.real):
		return &copied{why: "it may not be read"}
	}
	f, _, err := e.openRegular()
	if err != nil {
		return &copied{why: "it could not be copied: " + plain(err)}
	}
	defer f.Close()
	raw, err := readAll(f, s.size, ledger.MaxFile)
	sum := markOf(raw)
	if known != nil && known.copy.holds(sum, len(raw)) {
		return known.copy
	}
	c := &copied{sum: sum}
	if err == nil {
		err = b.append(c, raw)
	}
	if err != nil {
		c.why = "it could not be copied: " + plain(err)
	}
	return c
}

// holds reports whether a copy is of this content.
func (c *copied) holds(sum mark, size int) bool {
	return c != nil && c.why == "" && c.sum == sum && c.size == int64(size)
}

func (b *baseline) append(c *copied, raw []byte) error {
	if b.pack == nil {
		f, err := os.OpenFile(filepath.Join(b.s.o.Folder, "before-"+rand.Text()), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		_ = os.Remove(f.Name()) // not everywhere can this be done while it is open
		b.pack, b.size = f, 0
	}
	if _, err := b.pack.WriteAt(raw, b.size); err != nil {
		return err
	}
	c.pack, c.at, c.size = b.pack, b.size, int64(len(raw))
	b.size += c.size
	return nil
}

// repack writes the copies that are still of use into a new file, when most of the old
// one is not. The old one goes with the last survey that needs it. mu is held.
func (b *baseline) repack() {
	if b.size < b.most/4*3 {
		return
	}
	var used int64
	for _, x := range b.now {
		if x.copy != nil && x.copy.why == "" {
			used += x.copy.size
		}
	}
	if used > b.most/2 {
		return
	}
	old := b.pack
	b.pack = nil
	for p, x := range b.now {
		raw, err := x.copy.content()
		if err != nil {
			continue
		}
		c := &copied{sum: x.copy.sum}
		if err := b.append(c, raw); err != nil {
			c.why = "it could not be copied: " + plain(err)
		}
		anew := *x
		anew.copy = c
		b.now[p] = &anew
	}
	_ = os.Remove(old.Name()) // where an open file keeps its name
}

// content gives what was copied.
func (c *copied) content() ([]byte, error) {
	switch {
	case c == nil:
		return nil, errors.New("it could not be changed")
	case c.why != "":
		return nil, errors.New(c.why)
	case c.size == 0:
		return nil, nil
	}
	raw := make([]byte, c.size)
	_, err := c.pack.ReadAt(raw, c.at)
	return raw, err
}
