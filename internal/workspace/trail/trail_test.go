package trail

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func entry(name string) record.Entry {
	return record.Entry{
		Time: time.Unix(1_700_000_000, 0).UTC(), Type: record.TypeIntent, Actor: record.Actor{Kind: record.Agent, Name: "local"},
		Server: "workspace", Name: name, Call: &record.Call{ID: name, Caller: "local"},
	}
}

func newTrail(t *testing.T) *Trail {
	t.Helper()
	tr, err := Create(t.TempDir(), "s1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Close() })
	return tr
}

func verified(t *testing.T, tr *Trail) int64 {
	t.Helper()
	b, err := os.ReadFile(tr.Path())
	if err != nil {
		t.Fatal(err)
	}
	n, last, err := Verify(bytes.NewReader(b))
	if err != nil || n > 0 && Digest(last) == "" {
		t.Fatal(err)
	}
	return n
}

func TestTrailIsAChain(t *testing.T) {
	tr := newTrail(t)
	tr.Enqueue(entry("a"))
	if err := tr.Append(t.Context(), entry("b"), entry("c")); err != nil {
		t.Fatal(err)
	}
	tr.Enqueue(entry("d"))
	if err := tr.Healthy(); err != nil {
		t.Fatal(err)
	}
	if n := verified(t, tr); n != 4 {
		t.Errorf("%d entries", n)
	}
	b, _ := os.ReadFile(tr.Path())
	lines := strings.SplitAfter(string(b), "\n")
	for what, text := range map[string]string{
		"a changed entry": strings.Replace(string(b), `"name":"b"`, `"name":"x"`, 1),
		"a missing entry": lines[0] + lines[2] + lines[3],
		"a swapped pair":  lines[1] + lines[0] + lines[2] + lines[3],
		"half an entry":   string(b[:len(b)-20]),
		"garbage":         string(b) + "garbage\n",
	} {
		if _, _, err := Verify(strings.NewReader(text)); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tr.Append(t.Context(), entry("e")); err == nil || tr.Healthy() == nil {
		t.Error("a closed trail takes entries")
	}
}

// What can't be written is held; nothing is healthy until it is written.
func TestTrailThatCantBeWritten(t *testing.T) {
	tr := newTrail(t)
	if err := tr.Append(t.Context(), entry("a")); err != nil {
		t.Fatal(err)
	}
	good := tr.file
	bad, err := os.Open(tr.Path()) // can't be written
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	tr.file = bad
	tr.Enqueue(entry("b"))
	tr.Enqueue(entry("c"))
	if err := tr.Healthy(); fault.KindOf(err) != fault.Storage {
		t.Errorf("%v", err)
	}
	if err := tr.Append(t.Context(), entry("d")); fault.KindOf(err) != fault.Storage {
		t.Errorf("%v", err)
	}
	tr.file = good
	if err := tr.Healthy(); err != nil {
		t.Errorf("%v", err)
	}
	if n := verified(t, tr); n != 3 {
		t.Errorf("%d entries", n)
	}
	tr.lost = 1
	if tr.Healthy() == nil {
		t.Error("entries are lost, and it is healthy")
	}
}

func TestTrailOfAGoneCaller(t *testing.T) {
	tr := newTrail(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Append(ctx, entry("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := Create(tr.Path(), "s", time.Now()); err == nil {
		t.Error("a file is no folder")
	}
}
