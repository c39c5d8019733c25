package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/intake"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// childDir tells the test binary to be the victim of the kill test.
const childDir = "HOLDFAST_E2E_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := victim(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Tests that say that they may run at once mostly wait for other programs.
	flag.Parse()
	if at := flag.Lookup("test.parallel"); at.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = at.Value.Set("12")
	}
	os.Exit(m.Run())
}

// told is what the victim says it has done, after it was told so itself: a line of
// JSON in a file, which outlives the process as every written file does.
type told struct {
	Call    string       `json:",omitempty"` // the server took this call
	Class   string       `json:",omitempty"`
	Key     approval.Key `json:",omitzero"` // this record was committed with at least this version
	Version int64        `json:",omitempty"`
}

// diary is the file of what was told.
type diary struct{ f *os.File }

func (d diary) write(t told) {
	line, err := json.Marshal(t)
	if err == nil {
		_, err = d.f.Write(append(line, '\n')) // one write: whole or not at all
	}
	if err != nil {
		panic(err)
	}
}

// flicker is a built-in server whose tools change all the time.
type flicker struct {
	diary diary

	mu       sync.Mutex
	inc      string
	offers   []approval.Offer
	held     map[string]contract.Digest
	verified time.Time
}

const flickers = 6

// change lists another version of one tool, or leaves it out this time.
func (f *flicker) change() {
	f.mu.Lock()
	defer f.mu.Unlock()
	offers := make([]approval.Offer, 0, flickers)
	other := rand.N(flickers)
	for n := range flickers {
		name := fmt.Sprint("t", n)
		at := slices.IndexFunc(f.offers, func(o approval.Offer) bool { return o.Name == name })
		switch {
		case at >= 0 && n != other:
			offers = append(offers, f.offers[at])
		case n == other && rand.N(4) == 0:
		default:
			hints := []string{`{"readOnlyHint":true}`, `{"destructiveHint":false}`, `{"destructiveHint":true}`}[n%3]
			offers = append(offers, approval.Offer{Kind: approval.Tool, Name: name, Contract: contract.Parse(fmt.Appendf(nil,
				`{"name":%q,"description":"version %d","annotations":%s,"inputSchema":{"type":"object"}}`, name, rand.N(3), hints))})
		}
	}
	f.offers, f.verified = offers, time.Time{}
}

func (f *flicker) List(context.Context, string) (approval.Listing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = map[string]contract.Digest{}
	for _, o := range f.offers {
		f.held[o.Name] = o.Contract.Digest()
	}
	f.verified = time.Now()
	return approval.Listing{Incarnation: f.inc, Offers: f.offers}, nil
}

func (f *flicker) Verified(string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.verified
}

func (f *flicker) CancelCalls(string) {}

func (f *flicker) Call(_ context.Context, p dispatch.Permit, _ dispatch.Outgoing) (dispatch.Reply, error) {
	f.mu.Lock()
	granted, refusal := p.Spend("flicker", f.inc, func(_ approval.Kind, name string) contract.Digest { return f.held[name] })
	f.mu.Unlock()
	if refusal != nil {
		return dispatch.Reply{}, refusal
	}
	f.diary.write(told{Call: granted.CallID, Class: granted.Class.String()})
	return dispatch.Reply{Result: []byte(`{"content":[]}`)}, nil
}

// victim approves, lists and calls until it is killed.
func victim(dir string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(dir, "holdfast.db"))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, "diary"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	f := &flicker{diary: diary{file}}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	i, err := intake.New(ctx, intake.Options{
		Store: s, Lister: f, Swapped: func(*dispatch.Catalogue) {},
		VerifyInterval: func() time.Duration { return time.Minute }, Now: time.Now, Log: log,
	})
	if err != nil {
		return err
	}
	desk, err := call.New(call.Options{Tools: i, Rules: call.Ungoverned{}, Upstream: f, Journal: s, MaxArguments: 1000, MaxResult: 1000, Now: time.Now, Log: log})
	if err != nil {
		return err
	}
	v := &victimOf{f: f, i: i, desk: desk}
	if err := v.begin(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	failed := make(chan error)
	for _, do := range []func(context.Context) error{v.list, v.review, v.review, v.call, v.call, v.call} {
		go func() {
			for {
				if err := do(ctx); err != nil {
					failed <- err
				}
			}
		}()
	}
	return <-failed
}

type victimOf struct {
	f    *flicker
	i    *intake.Intake
	desk *call.Desk
}

// begin finds the server stored, or adds it.
func (v *victimOf) begin(ctx context.Context) error {
	if srv, ok := v.i.Catalogue().Server("flicker"); ok {
		v.f.inc = srv.Incarnation
	} else {
		if err := v.i.SetSettings(ctx, law(nil), person); err != nil {
			return err
		}
		v.f.inc = "flicker-1"
		if err := v.apply(ctx, func(st approval.State) (approval.Change, error) {
			return approval.Add(st, approval.AddRequest{
				Name: "flicker", Way: approval.ByCLI, Actor: person, Incarnation: "flicker-1", Quarantine: approval.AskLess,
				Program: approval.Program{Type: "stdio", Command: "flicker"}, Options: approval.Options{TrustMode: "manual"},
			})
		}); err != nil {
			return err
		}
	}
	v.f.change()
	return v.i.Discover(ctx, "flicker")
}

// apply commits an act and then says so.
func (v *victimOf) apply(ctx context.Context, act func(approval.State) (approval.Change, error)) error {
	change, err := v.i.Apply(ctx, "flicker", act)
	if _, refused := errors.AsType[*approval.Refused](err); refused {
		return nil // out of date by now: that is life
	}
	if err != nil {
		return err
	}
	for _, r := range change.Records {
		v.f.diary.write(told{Key: r.Key, Version: r.Version + 1})
	}
	return nil
}

func (v *victimOf) list(ctx context.Context) error {
	v.f.change()
	if err := v.i.Discover(ctx, "flicker"); err != nil {
		return err
	}
	for _, e := range v.i.Catalogue().Entries("flicker") {
		v.f.diary.write(told{Key: e.Record.Key, Version: e.Record.Version})
	}
	time.Sleep(time.Duration(rand.N(10)) * time.Millisecond) // a server does not change without end
	return nil
}

func (v *victimOf) review(ctx context.Context) error {
	entries := v.i.Catalogue().Entries("flicker")
	r := entries[rand.N(len(entries))].Record
	acts := []func(approval.State, approval.ReviewRequest) (approval.Change, error){approval.Approve, approval.Approve, approval.Approve, approval.Block, approval.Unblock}
	act := acts[rand.N(len(acts))]
	return v.apply(ctx, func(st approval.State) (approval.Change, error) {
		if st.Server.Quarantined {
			return approval.Release(st, approval.ReleaseRequest{Actor: person, Incarnation: st.Server.Incarnation, Tools: seen(approval.PreviewRelease(st, nil).Approves)})
		}
		if rand.N(40) == 0 {
			return approval.Quarantine(st, person)
		}
		return act(st, approval.ReviewRequest{Actor: person, Incarnation: st.Server.Incarnation, Tools: seen([]approval.Record{r})})
	})
}

func seen(records []approval.Record) (list []approval.Seen) {
	for _, r := range records {
		list = append(list, approval.Seen{Kind: r.Key.Kind, Name: r.Key.Name, Digest: r.Live.Digest()})
	}
	return list
}

func (v *victimOf) call(ctx context.Context) error {
	_, _, err := v.desk.Do(ctx, call.Request{
		Caller: dispatch.Local(), Face: dispatch.Face{Direct: true},
		Name: fmt.Sprint("flicker__t", rand.N(flickers)), Params: []byte(`{"arguments":{"x":1}}`),
	})
	return err
}

// The process is killed at random moments between approvals, listings and calls.
// Whatever it had said to have done is there afterwards, nothing stands without its
// audit entry, and no call with an effect was made that was not written down first.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills for some seconds")
	}
	dir := t.TempDir()
	w := &witness{t: t, dir: dir, intents: map[string]bool{}, last: map[approval.Key]string{}, versions: map[approval.Key]int64{}}
	rounds := 0
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && !t.Failed(); rounds++ {
		kill(t, dir)
		w.check()
	}
	t.Logf("killed %d times; %d calls were made, %d intents and %d transitions written", rounds, w.calls, len(w.intents), w.transitions)
	if rounds < 3 || w.calls == 0 || w.transitions == 0 {
		t.Error("too little happened for this to prove anything")
	}
}

// kill starts a victim and kills it at a random moment.
func kill(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || ready != "ready\n" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the victim did not begin: %q, %v\n%s", ready, err, &stderr)
	}
	time.Sleep(time.Duration(rand.N(500)) * time.Millisecond)
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); err == nil || stderr.Len() > 0 {
		t.Fatalf("the victim ended by itself: %v\n%s", err, &stderr)
	}
}

// witness looks at what a killed victim left behind, and remembers it.
type witness struct {
	t   *testing.T
	dir string

	seq         int64
	hash        [32]byte
	intents     map[string]bool
	last        map[approval.Key]string // the status by the last transition
	versions    map[approval.Key]int64  // as told
	transitions int
	calls       int
	read        int64 // bytes of the diary
}

func (w *witness) check() {
	t, ctx := w.t, context.Background()
	s, err := store.Open(ctx, filepath.Join(w.dir, "holdfast.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if report, err := s.Verify(ctx); err != nil || report.BadSeq != 0 {
		t.Fatalf("the audit does not verify: %+v, %v", report, err)
	}
	if w.seq > 0 {
		if e, err := s.Entry(ctx, w.seq); err != nil || e.Hash != w.hash {
			t.Fatalf("what was the end of the audit is not there any more: %v", err)
		}
	}
	err = s.Walk(ctx, w.seq+1, func(e record.Entry) error {
		w.seq, w.hash = e.Seq, e.Hash
		if e.Type == record.TypeIntent {
			w.intents[e.Call.ID] = true
		}
		if e.Type == record.TypeTransition {
			w.transitions++
			w.last[approval.Key{Server: e.Server, Kind: approval.Kind(e.Kind), Name: e.Name}] = e.Transition.To
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.readDiary()
	_, _, records, err := s.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[approval.Key]int64{}
	for _, r := range records {
		stored[r.Key] = r.Version
		if w.last[r.Key] != r.Status.String() {
			t.Errorf("%v is %s, and the last entry about it says %q", r.Key, r.Status, w.last[r.Key])
		}
	}
	for key, version := range w.versions {
		if stored[key] < version {
			t.Errorf("%v was committed with version %d and is stored with %d", key, version, stored[key])
		}
	}
}

// readDiary takes what the victim said since the last time.
func (w *witness) readDiary() {
	f, err := os.Open(filepath.Join(w.dir, "diary"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(w.read, io.SeekStart); err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		w.read += int64(len(lines.Bytes())) + 1
		var x told
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			w.t.Fatalf("a torn line: %q", lines.Text())
		}
		if x.Call != "" {
			w.calls++
			if x.Class != "read" && !w.intents[x.Call] {
				w.t.Errorf("a %s call was made and nobody wrote down that it would be", x.Class)
			}
			continue
		}
		w.versions[x.Key] = max(w.versions[x.Key], x.Version)
	}
}
