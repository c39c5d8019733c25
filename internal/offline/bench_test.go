package offline

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// step is a tool in two versions that follow each other.
type step struct{ approved, live contract.Contract }

// realSteps are all pairs of the corpus, changed and unchanged.
func realSteps(b testing.TB) (all, changed []step) {
	var r replayer
	folders, err := r.folders(filepath.Join(corpus(b), "listings"))
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range folders {
		before := map[string]contract.Contract{}
		for _, v := range f.files {
			listing, err := offers(filepath.Join(f.path, v.text+".json"))
			if err != nil {
				b.Fatal(err)
			}
			for _, o := range listing.Offers {
				if was, known := before[o.Name]; known {
					all = append(all, step{was, o.Contract})
					if !was.Equal(o.Contract) {
						changed = append(changed, step{was, o.Contract})
					}
				}
				before[o.Name] = o.Contract
			}
		}
	}
	return all, changed
}

// ratio runs both in turns within one run, and reports what the second costs of the
// first.
func ratio(b *testing.B, name string, floor, measured func()) {
	b.Helper()
	var of, is time.Duration
	for b.Loop() {
		start := time.Now()
		floor()
		middle := time.Now()
		measured()
		of += middle.Sub(start)
		is += time.Since(middle)
	}
	b.ReportMetric(float64(is)/float64(of), name)
}

// BenchmarkCompare: two parsed contracts are compared at no more than the cost of
// strictly parsing them.
func BenchmarkCompare(b *testing.B) {
	all, changed := realSteps(b)
	for name, steps := range map[string][]step{"changed": changed, "all": all} {
		b.Run(name, func(b *testing.B) {
			ratio(b, "x-parse", func() {
				for _, s := range steps {
					contract.Parse(s.approved.Raw())
					contract.Parse(s.live.Raw())
				}
			}, func() {
				for _, s := range steps {
					delta.Compare(s.approved, s.live)
				}
			})
		})
	}
}

// BenchmarkScan: one parsed contract is scanned at no more than five times the cost
// of parsing it.
func BenchmarkScan(b *testing.B) {
	all, _ := realSteps(b)
	scanner := scan.New(scan.Embedded(), nil)
	ratio(b, "x-parse", func() {
		for _, s := range all {
			contract.Parse(s.live.Raw())
		}
	}, func() {
		for _, s := range all {
			scanner.Scan(s.live)
		}
	})
}

// real is the judge of one pass of a daemon.
type real struct {
	gate   *delta.Comparer
	reader *scan.Reader
	bundle string
}

func (r real) Compare(approved, live contract.Contract) []delta.Signal {
	return r.gate.Compare(approved, live)
}
func (r real) Scan(c contract.Contract) scan.Verdict { return r.reader.Scan(c) }
func (r real) Bundle() string                        { return r.bundle }

// server is a server in a store on the disk.
type server struct {
	b     *testing.B
	store *store.Store
}

const benchServer = "bench"

func newServer(b *testing.B, settings approval.Settings) *server {
	ctx := context.Background()
	db, err := store.Open(ctx, filepath.Join(b.TempDir(), "holdfast.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	if err := db.PutSettings(ctx, settings, approval.SettingsChanged(approval.Settings{}, settings, person, time.Now())); err != nil {
		b.Fatal(err)
	}
	s := &server{b, db}
	s.commit(approval.Add(s.state(), approval.AddRequest{
		Name: benchServer, Way: approval.ByCLI, Actor: person, Program: approval.Program{Command: "x"},
		Quarantine: approval.AskLess, Incarnation: "i",
	}))
	return s
}

func (s *server) state() approval.State {
	state, err := s.store.State(context.Background(), benchServer)
	if err != nil {
		s.b.Fatal(err)
	}
	state.Now = time.Now()
	return state
}

func (s *server) commit(c approval.Change, err error) {
	if err == nil {
		err = s.store.Commit(context.Background(), c)
	}
	if err != nil {
		s.b.Fatal(err)
	}
}

// phases are what the parts of passes took.
type phases struct{ load, parse, judge, store time.Duration }

func (p phases) whole() time.Duration { return p.load + p.parse + p.judge + p.store }

// pass is what a daemon does with a listing: load, parse, judge, store.
func (s *server) pass(raws [][]byte, judge approval.Judge, took *phases) {
	start := time.Now()
	state := s.state()
	loaded := time.Now()
	listing := approval.Listing{Incarnation: state.Server.Incarnation}
	for i, raw := range raws {
		listing.Offers = append(listing.Offers, approval.Offer{Kind: approval.Tool, Name: fmt.Sprint("tool", i), Contract: contract.Parse(raw)})
	}
	parsed := time.Now()
	change, err := approval.Pass(state, listing, judge)
	judged := time.Now()
	s.commit(change, err)
	took.load += loaded.Sub(start)
	took.parse += parsed.Sub(loaded)
	took.judge += judged.Sub(parsed)
	took.store += time.Since(judged)
}

// BenchmarkPass: a pass over 1,000 real changes, each parsed, compared with what is
// approved and with another anchor, scanned and stored, against the pass over 1,000
// new tools with the gate off, which are parsed and stored. x-plain is the whole
// ratio; x-plain-loaded leaves out what it takes to load the stored records, of which
// the new ones have none. The phases are in milliseconds a pass.
func BenchmarkPass(b *testing.B) {
	_, changed := realSteps(b)
	const tools = 1000
	var first, second, third [][]byte
	for i := range tools {
		s := changed[i%len(changed)]
		first = append(first, s.approved.Raw())
		second = append(second, edited(s.approved.Raw()))
		third = append(third, s.live.Raw())
	}
	bundle := scan.Embedded()
	scanner := scan.New(bundle, nil)
	judge := func() approval.Judge { return real{delta.Gate{}.Comparer(), scanner.Reader(), bundle.Version()} }
	on := approval.Settings{ID: "on", DefaultMode: approval.Scan.String(), OnHold: approval.OnHoldBlock, Unannotated: contract.Destructive}
	off := on
	off.ID, off.GateOff = "off", true
	var of, is, ignored phases
	held := 0
	for b.Loop() {
		b.StopTimer()
		plain, whole := newServer(b, off), newServer(b, on)
		whole.pass(first, judge(), &ignored)
		whole.pass(second, judge(), &ignored) // approved by the scan: the anchor stays behind
		runtime.GC()
		b.StartTimer()
		plain.pass(third, nil, &of)
		b.StopTimer()
		runtime.GC()
		b.StartTimer()
		whole.pass(third, judge(), &is)
		b.StopTimer()
		held = 0
		for _, r := range whole.state().Records {
			if r.Status == approval.Changed {
				held++
			}
		}
		b.StartTimer()
	}
	if held < tools/4 || held == tools {
		b.Fatalf("%d of %d tools are held: this is not the pass that is meant", held, tools)
	}
	b.ReportMetric(float64(is.whole())/float64(of.whole()), "x-plain")
	b.ReportMetric(float64(is.whole()-is.load)/float64(of.whole()-of.load), "x-plain-loaded")
	b.ReportMetric(float64(held), "held")
	for name, p := range map[string]phases{"plain": of, "whole": is} {
		for part, d := range map[string]time.Duration{"load": p.load, "parse": p.parse, "judge": p.judge, "store": p.store} {
			b.ReportMetric(float64(d.Milliseconds())/float64(b.N), name+"-"+part+"-ms")
		}
	}
}

// edited is a definition with one more text that passes.
func edited(raw []byte) []byte {
	return append(append(bytes.Clone(raw[:len(raw)-1]), `,"title":"Edited"`...), '}')
}

// BenchmarkReplay walks all published servers of the corpus.
func BenchmarkReplay(b *testing.B) {
	dir := filepath.Join(corpus(b), "listings")
	for b.Loop() {
		r, err := Replay(dir, contract.Destructive)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Total.Held), "held")
		b.ReportMetric(float64(r.Total.Blocked), "blocked")
		b.ReportMetric(float64(r.Total.Changed), "changed")
	}
}

// BenchmarkDiff: a long listing, by the byte.
func BenchmarkDiff(b *testing.B) {
	for _, tools := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(tools), func(b *testing.B) {
			var old, now bytes.Buffer
			if _, err := old.ReadFrom(listingOf(tools, "one")); err != nil {
				b.Fatal(err)
			}
			if _, err := now.ReadFrom(listingOf(tools, "two")); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(old.Len() + now.Len()))
			for b.Loop() {
				a, err := Read("old", old.Bytes())
				if err != nil {
					b.Fatal(err)
				}
				l, err := Read("new", now.Bytes())
				if err != nil {
					b.Fatal(err)
				}
				if err := Diff(delta.Gate{}, a, l, func(Compared) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
