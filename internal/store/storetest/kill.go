package storetest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// The child of a kill test says on its standard output, a line each, what it is
// going to write and, once the store said that it is durable, that it was written:
//
//	try ID N   N entries with the request id ID are about to be written
//	soon ID    an entry with that id is about to be enqueued
//	done ID    what was tried under ID is durable, and with it all that was enqueued
//	           before by the same worker
//
// The first part of an id is the worker's name.
const childDir = "HOLDFAST_STORETEST_DIR"

// Child makes the process the child of a kill test if it was started as one, and
// then never returns. A test binary that calls RunKilled calls it in TestMain.
func Child(open Open) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	// In every second child commits take longer: whoever was told too early that a
	// thing is durable is then found out.
	slow := rand.IntN(2) * int(2*time.Millisecond)
	s, err := open(dir, func() Failure {
		time.Sleep(time.Duration(rand.IntN(slow + 1)))
		return Never
	})
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
	c := &child{Store: s, run: fmt.Sprintf("%08x", rand.Uint32())}
	go c.work("calls1", c.calls)
	go c.work("calls2", c.calls)
	go c.work("trust1", c.trust)
	c.work("trust2", c.trust)
}

type child struct {
	Store
	run string
	out sync.Mutex
}

// say writes a line at once: what was said survives the process.
func (c *child) say(format string, args ...any) {
	c.out.Lock()
	defer c.out.Unlock()
	_, _ = os.Stdout.Write(fmt.Appendf(nil, format+"\n", args...)) // a parent that is gone kills us anyway
}

// work does one thing after the other until the process dies.
func (c *child) work(worker string, step func(id string) error) {
	for n := 0; ; n++ {
		if err := step(fmt.Sprintf("%s-%s-%d", worker, c.run, n)); err != nil {
			c.say("failed %v", err)
			os.Exit(1)
		}
	}
}

// calls leaves what a call leaves: the intent before it, the outcome soon after.
func (c *child) calls(id string) error {
	c.say("try %s 1", id)
	intent := calling(record.TypeIntent, id)
	intent.RequestID = id
	if err := c.Append(context.Background(), intent); err != nil {
		return err
	}
	c.say("done %s", id)
	outcome := calling(record.TypeOutcome, id+"-outcome")
	outcome.RequestID = id + "-outcome"
	c.say("soon %s", outcome.RequestID)
	c.Enqueue(outcome)
	return nil
}

// trust takes one act on one of two servers through the law. Rivals may be first:
// then the act is decided anew.
func (c *child) trust(id string) error {
	ctx, server := context.Background(), []string{"mail", "github"}[rand.IntN(2)]
	s, err := c.State(ctx, server)
	if err != nil {
		return err
	}
	s.Now = noon
	change, err := act(s, server, id)
	if err != nil || change.Empty() {
		return nil //nolint:nilerr // the law refuses some acts, as it should
	}
	for i := range change.Entries {
		change.Entries[i].RequestID = id
	}
	c.say("try %s %d", id, len(change.Entries))
	if err := c.Commit(ctx, change); err != nil {
		if fault.KindOf(err) == fault.Conflict {
			return nil
		}
		return err
	}
	c.say("done %s", id)
	return nil
}

// act decides one act by chance, mostly passes and approvals.
func act(s approval.State, server, id string) (approval.Change, error) {
	if s.Server.Version == 0 {
		return approval.Add(s, approval.AddRequest{
			Name: server, Way: approval.ByCLI, Actor: person, Incarnation: id,
			Program: approval.Program{Type: "stdio", Command: "npx", Args: []string{"pkg"}},
			Options: approval.Options{TrustMode: []string{"manual", "scan", "auto"}[rand.IntN(3)]},
		})
	}
	review := approval.ReviewRequest{Actor: person, Incarnation: s.Server.Incarnation}
	for _, r := range s.Records {
		if rand.IntN(3) == 0 && r.Live.Parsable() {
			review.Tools = append(review.Tools, approval.Seen{Kind: r.Key.Kind, Name: r.Key.Name, Digest: r.Live.Digest()})
		}
	}
	switch n := rand.IntN(40); {
	case n < 18:
		l := approval.Listing{Incarnation: s.Server.Incarnation}
		for i := range 12 {
			if name := fmt.Sprint("tool", i); rand.IntN(8) > 0 {
				l.Offers = append(l.Offers, approval.Offer{Kind: approval.Tool, Name: name, Contract: tool(name, rand.IntN(3))})
			}
		}
		return approval.Pass(s, l, nil)
	case n < 30:
		return approval.Approve(s, review)
	case n < 33:
		return approval.Block(s, review)
	case n < 36:
		return approval.Unblock(s, review)
	case n < 37:
		return approval.Quarantine(s, person)
	case n < 38:
		return approval.Disable(s, person)
	case n < 39:
		return approval.Enable(s, approval.EnableRequest{Actor: person})
	}
	return approval.Remove(s, person)
}

// RunKilled starts the test binary again as a child that writes without a pause,
// kills it (SIGKILL) at a random moment, opens its store and checks: nothing that
// was acknowledged is lost, nothing is there in part or twice, every record is as
// its last transition in the audit left it, and the chain verifies. It goes on so,
// mostly with the same store, for as long as it is told.
func RunKilled(t *testing.T, open Open, long time.Duration) {
	var k *killed
	rounds, tried, done := 0, 0, 0
	for end := time.Now().Add(long); time.Now().Before(end); rounds++ {
		if rounds%12 == 0 {
			k = &killed{bench: &bench{t: t, open: open, dir: t.TempDir(), ctx: context.Background()}, want: map[string]int{}, have: map[string]int{}}
		}
		k.round(time.Duration(rand.IntN(350)) * time.Millisecond)
		tried, done = tried+k.tried, done+k.done
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills; %d writes begun, %d acknowledged", rounds, tried, done)
	if rounds < 3 || done == 0 {
		t.Errorf("%d kills with %d acknowledged writes prove nothing", rounds, done)
	}
}

// killed is one store over several rounds.
type killed struct {
	*bench
	want        map[string]int // entries that each id has if it has any
	have        map[string]int // entries that were found
	sure        []string       // ids that must be there
	soon        map[string][]string
	seen        int64
	tried, done int
}

func (k *killed) round(life time.Duration) {
	k.t.Helper()
	exe, err := os.Executable()
	k.must(err)
	var out, errs bytes.Buffer
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), childDir+"="+k.dir)
	cmd.Stdout, cmd.Stderr = &out, &errs
	k.must(cmd.Start())
	timer := time.AfterFunc(life, func() { _ = cmd.Process.Kill() }) // it may have died: then the output says why
	_ = cmd.Wait()                                                   // killed, as it should be
	timer.Stop()
	k.listen(&out, errs.String())
	k.again(nil)
	k.check()
	k.must(k.Close())
	k.Store = nil
}

// listen takes down what the child said.
func (k *killed) listen(out *bytes.Buffer, errs string) {
	k.sure, k.soon, k.tried, k.done = nil, map[string][]string{}, 0, 0
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		id, _, _ := strings.Cut(rest, " ")
		worker, _, _ := strings.Cut(id, "-")
		switch verb {
		case "try":
			n := 0
			if _, err := fmt.Sscanf(rest, id+" %d", &n); err != nil {
				continue // cut off by the kill
			}
			k.want[id] = n
			k.tried++
		case "soon":
			k.want[id] = 1
			k.soon[worker] = append(k.soon[worker], id)
		case "done":
			k.sure = append(append(k.sure, id), k.soon[worker]...)
			delete(k.soon, worker)
			k.done++
		default:
			k.t.Fatalf("the child: %s %s", lines.Text(), errs)
		}
	}
	if errs != "" {
		k.t.Fatalf("the child: %s", errs)
	}
}

func (k *killed) check() {
	k.t.Helper()
	r, err := k.Verify(k.ctx)
	k.must(err)
	if r.BadSeq != 0 {
		k.t.Fatalf("the chain does not verify: %+v", r)
	}
	last := map[approval.Key]*record.Transition{} // of the whole audit
	k.must(k.Walk(k.ctx, 1, func(e record.Entry) error {
		key := approval.Key{Server: e.Server, Kind: approval.Kind(e.Kind), Name: e.Name}
		switch {
		case e.Type == record.TypeTransition:
			last[key] = e.Transition
		case e.Type == record.TypeServer && e.Act.What == approval.ActRemoved:
			for other := range last {
				if other.Server == e.Server {
					delete(last, other)
				}
			}
		}
		if e.Seq > k.seen {
			k.have[e.RequestID]++
			k.seen = e.Seq
		}
		return nil
	}))
	for id, n := range k.have {
		if k.want[id] != n {
			k.t.Errorf("of %s there are %d entries, and %d were written", id, n, k.want[id])
		}
	}
	for _, id := range k.sure {
		if k.have[id] == 0 {
			k.t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	_, _, records, err := k.Load(k.ctx)
	k.must(err)
	if len(records) != len(last) {
		k.t.Errorf("there are %d records, and %d have transitions", len(records), len(last))
	}
	for _, r := range records {
		if t := last[r.Key]; t == nil || t.To != r.Status.String() || !t.New.Contract.Equal(r.Live) {
			k.t.Errorf("%v is not as its last transition left it: %+v", r.Key, t)
		}
	}
}
