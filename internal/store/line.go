package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
)

// line is an audit entry made ready outside the writer.
type line struct {
	body  []byte
	time  int64 // microseconds since 1970
	about about
	blobs []blob
}

// about is what entries are found by.
type about struct{ typ, server, kind, name string }

// blob is the raw text of a contract.
type blob struct {
	hash [32]byte
	data []byte
}

// blobs are the raw texts that one request has to store, each once, and those that
// are stored already left out.
type blobs struct {
	known  *parsed
	hashes map[*byte][32]byte // of the texts, by where they are: nobody changes one
	list   []blob
}

// hash gives the hash of the bytes of c, which has some, and takes them in.
func (k *blobs) hash(c contract.Contract) [32]byte {
	raw := c.Raw()
	if hash, ok := k.hashes[&raw[0]]; ok {
		return hash
	}
	if k.hashes == nil {
		k.hashes = map[*byte][32]byte{}
	}
	hash := sha256.Sum256(raw)
	k.hashes[&raw[0]] = hash
	if h := k.known.find(hash); !h.stored {
		k.known.keep(hash, c, false)
		k.list = append(k.list, blob{hash, raw})
	}
	return hash
}

// reference is the reference to a contract of an entry, whose bytes are taken in.
func (k *blobs) reference(s record.Snapshot) record.Snapshot {
	c := s.Contract
	if len(c.Raw()) == 0 {
		return s
	}
	return record.Snapshot{Ref: record.Ref{Digest: c.Digest(), Problem: c.Problem(), Raw: k.hash(c), Bytes: len(c.Raw())}}
}

func (k *blobs) line(e record.Entry) (line, error) {
	if e.Transition != nil {
		t := *e.Transition // the caller's is not touched
		t.Old, t.New = k.reference(t.Old), k.reference(t.New)
		e.Transition = &t
	}
	body, err := record.Encode(e)
	if err != nil {
		return line{}, internal("%v", err)
	}
	return line{body: body, time: e.Time.UnixMicro(), about: aboutOf(e)}, nil
}

func aboutOf(e record.Entry) about {
	return about{typ: string(e.Type), server: e.Server, kind: e.Kind, name: e.Name}
}

func (k *blobs) lines(entries []record.Entry) ([]line, error) {
	lines := make([]line, len(entries))
	for i, e := range entries {
		l, err := k.line(e)
		if err != nil {
			return nil, err
		}
		lines[i] = l
	}
	return lines, nil
}

// linesOf makes the lines of entries that are written alone, with their blobs.
func linesOf(entries ...record.Entry) ([]line, error) {
	var k blobs
	lines, err := k.lines(entries)
	if err == nil && len(lines) > 0 {
		lines[0].blobs = k.list
	}
	return lines, err
}

// Append writes audit entries, all or none of them; they are durable when it
// returns. Concurrent callers share a commit. When ctx ends before the writer took
// them nothing is written.
func (s *Store) Append(ctx context.Context, entries ...record.Entry) error {
	lines, err := linesOf(entries...)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil || len(lines) == 0 {
		return faultOf(err, "write to the audit")
	}
	return s.w.submit(ctx, lines, nil)
}

// Enqueue writes an audit entry within about 50 ms, in order with Append; Close
// waits for it. It waits while too many entries do. When the store failed for good
// the entry is dropped, and the next Append says so. For an entry that can't be
// written at all (see record.Encode) one that says so is written.
func (s *Store) Enqueue(e record.Entry) {
	lines, err := linesOf(e)
	if err != nil {
		lines, err = linesOf(record.Entry{
			Time: time.Now().UTC(), Type: record.TypePass, Actor: record.Actor{Kind: record.Holdfast},
			Act: &record.Act{What: "entry_not_written", Detail: map[string]string{"why": err.Error()}},
		})
	}
	if err != nil {
		panic(fmt.Sprintf("an entry of constants can't be encoded: %v", err))
	}
	s.w.enqueue(lines[0])
}
