package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/record"
)

// callEntry is an entry as a call leaves it.
func callEntry(n int) record.Entry {
	return record.Entry{
		Time: time.Unix(1780000000, int64(n)*1000).UTC(), Type: record.TypeIntent, Actor: record.Actor{Kind: record.Agent, Name: "ci"},
		Server: "github", Incarnation: "5f1c2a9e77d04b0c", Kind: "tool", Name: "create_issue", RequestID: fmt.Sprintf("req-%08d", n), SettingsID: "a1b2c3d4e5f6",
		Call: &record.Call{
			ID: fmt.Sprintf("call-%08d", n), Caller: "ci", Face: "direct", Class: "write",
			Approved: "sha256:9e2d727794c29d39cb821ab877b8d5c06648519da769b90d7ac383b3414c575a", Live: "sha256:9e2d727794c29d39cb821ab877b8d5c06648519da769b90d7ac383b3414c575a",
			ArgsSHA256: "f3bb684eeb281dbb14f322e79fcf2bbcea354d137db35762a3ca6e7ccc892c67", ArgsBytes: 412,
		},
	}
}

// benchFile is the floor: the same bytes at the end of a bare file, made durable.
func benchFile(b *testing.B, workers int) {
	f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var mu sync.Mutex
	parallel(b, workers, func(n int) error {
		body, err := record.Encode(callEntry(n))
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if _, err := f.Write(body); err != nil {
			return err
		}
		return datasync(f)
	})
}

// parallel runs f b.N times by so many workers, and reports the slowest too.
func parallel(b *testing.B, workers int, f func(n int) error) {
	b.Helper()
	next := make(chan int, b.N)
	for n := range b.N {
		next <- n
	}
	close(next)
	var wg sync.WaitGroup
	took := make([][]time.Duration, workers)
	b.ResetTimer()
	for w := range workers {
		wg.Go(func() {
			for n := range next {
				start := time.Now()
				if err := f(n); err != nil {
					b.Error(err)
					return
				}
				took[w] = append(took[w], time.Since(start))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := []time.Duration{}
	for _, t := range took {
		all = append(all, t...)
	}
	report(b, all)
}

// BenchmarkAppend compares one durable entry with the floor in the same run, in
// turns, so that both see the same disk.
func BenchmarkAppend(b *testing.B) {
	ctx := context.Background()
	for _, workers := range []int{1, 16} {
		b.Run(fmt.Sprintf("file/%d", workers), func(b *testing.B) { benchFile(b, workers) })
		b.Run(fmt.Sprintf("store/%d", workers), func(b *testing.B) {
			s, err := Open(ctx, filepath.Join(b.TempDir(), "holdfast.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			parallel(b, workers, func(n int) error { return s.Append(ctx, callEntry(n)) })
		})
	}
	b.Run("ratio/1", func(b *testing.B) { ratio(b) })
}

// ratio does one append to each in turn: its figure does not depend on how busy the
// disk is at the time.
func ratio(b *testing.B) {
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(b.TempDir(), "holdfast.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var bare, ours []time.Duration
	for n := 0; b.Loop(); n++ {
		body, err := record.Encode(callEntry(n))
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if _, err := f.Write(body); err != nil {
			b.Fatal(err)
		}
		if err := datasync(f); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if err := s.Append(ctx, callEntry(n)); err != nil {
			b.Fatal(err)
		}
		bare, ours = append(bare, middle.Sub(start)), append(ours, time.Since(middle))
	}
	slices.Sort(bare)
	slices.Sort(ours)
	middle := len(bare) / 2
	b.ReportMetric(float64(bare[middle].Nanoseconds()), "file-p50-ns")
	b.ReportMetric(float64(ours[middle].Nanoseconds()), "store-p50-ns")
	b.ReportMetric(float64(ours[middle])/float64(bare[middle]), "ratio")
}

func BenchmarkEnqueue(b *testing.B) {
	s, err := Open(context.Background(), filepath.Join(b.TempDir(), "holdfast.db"))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		s.Enqueue(callEntry(n))
		n++
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkTokenByHash(b *testing.B) {
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(b.TempDir(), "holdfast.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	token := sampleToken("t1", "ci")
	if err := s.CreateToken(ctx, token, tokenEntry("created")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.TokenByHash(ctx, token.Hash); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(b.TempDir(), "holdfast.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const entries = 20_000
	batch := make([]record.Entry, entries)
	for n := range batch {
		batch[n] = callEntry(n)
	}
	if err := s.Append(ctx, batch...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if r, err := s.Verify(ctx); err != nil || r.BadSeq != 0 {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entries, "ns/entry")
}
