package store

import (
	"context"
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

// blobOf gives the bytes of c; ok is false when it has none.
func blobOf(c contract.Contract) (b blob, ok bool) {
	ref := record.Snapshot{Contract: c}.Reference()
	return blob{hash: ref.Raw, data: c.Raw()}, ref.Bytes > 0
}

func lineOf(e record.Entry) (line, error) {
	body, err := record.Encode(e)
	if err != nil {
		return line{}, internal("%v", err)
	}
	l := line{body: body, time: e.Time.UnixMicro(), about: aboutOf(e)}
	if t := e.Transition; t != nil {
		for _, s := range []record.Snapshot{t.Old, t.New} {
			if b, ok := blobOf(s.Contract); ok {
				l.blobs = append(l.blobs, b)
			}
		}
	}
	return l, nil
}

func aboutOf(e record.Entry) about {
	return about{typ: string(e.Type), server: e.Server, kind: e.Kind, name: e.Name}
}

func linesOf(entries []record.Entry) ([]line, error) {
	lines := make([]line, len(entries))
	for i, e := range entries {
		l, err := lineOf(e)
		if err != nil {
			return nil, err
		}
		lines[i] = l
	}
	return lines, nil
}

// Append writes audit entries, all or none of them; they are durable when it
// returns. Concurrent callers share a commit. When ctx ends before the writer took
// them nothing is written.
func (s *Store) Append(ctx context.Context, entries ...record.Entry) error {
	lines, err := linesOf(entries)
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
	l, err := lineOf(e)
	if err != nil {
		l, err = lineOf(record.Entry{
			Time: time.Now().UTC(), Type: record.TypePass, Actor: record.Actor{Kind: record.Holdfast},
			Act: &record.Act{What: "entry_not_written", Detail: map[string]string{"why": err.Error()}},
		})
	}
	if err != nil {
		panic(fmt.Sprintf("an entry of constants can't be encoded: %v", err))
	}
	s.w.enqueue(l)
}
