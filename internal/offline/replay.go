package offline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Counts is what became of the tools of a server, or of all servers, from version
// to version.
type Counts struct {
	Steps   int `json:"steps"`   // from one version to the next
	Pairs   int `json:"pairs"`   // tools that stand in both, or came back
	Changed int `json:"changed"` // of these, those with another contract
	Texts   int `json:"texts"`   // changed, in texts alone: not held
	Quiet   int `json:"quiet"`   // changed in something else, and not held either
	Held    int `json:"held"`    // held by the gate
	Blocked int `json:"blocked"` // refused even under on_hold keep
}

func (c *Counts) add(d Counts) {
	c.Steps += d.Steps
	c.Pairs += d.Pairs
	c.Changed += d.Changed
	c.Texts += d.Texts
	c.Quiet += d.Quiet
	c.Held += d.Held
	c.Blocked += d.Blocked
}

// ServerReplay is one server's row.
type ServerReplay struct {
	Name string `json:"name"`
	Counts
}

// RuleReplay says how often a rule spoke, by changed tools.
type RuleReplay struct {
	Rule  string `json:"rule"`  // with its reason: GATE-SCHEMA-SHAPE:new-required
	Holds int    `json:"holds"` // changed tools that it holds
	Only  int    `json:"only"`  // of these, those that nothing else holds
}

// Replayed is the answer of Replay.
type Replayed struct {
	Servers []ServerReplay `json:"servers"` // by name
	Rules   []RuleReplay   `json:"rules"`   // those that hold most first
	Total   Counts         `json:"total"`
	Skipped int            `json:"skipped"` // files that are no listing of a version
}

// Replay walks the listings of servers through the law, version by version, as if a
// person approved every change before the next: how often does the gate hold? dir
// has a folder for each server, and in it <version>.json for each version, in any
// form that Open takes; or these files themselves, for one server. Versions go by
// the precedence of semantic versioning. Files of other names are counted as
// skipped, <version>.init.json, .prompts.json and .resources.json among them.
//
// The mode is scan under on_hold keep, and the scan finds everything clean, so that
// what is counted is the gate. It fails where a listing can't be taken.
func Replay(dir string, unannotated contract.Class) (Replayed, error) {
	r := replayer{unannotated: unannotated, holds: map[string]int{}, only: map[string]int{}}
	folders, err := r.folders(dir)
	if err != nil {
		return Replayed{}, err
	}
	for _, f := range folders {
		if err := r.server(f); err != nil {
			return Replayed{}, err
		}
	}
	if len(r.out.Servers) == 0 {
		return Replayed{}, fault.New(fault.BadInput, fmt.Sprintf("%q has no listings to replay", dir),
			"Put the listings of each server into a folder of its own, named by version: DIR/SERVER/1.2.3.json.")
	}
	for rule, n := range r.holds {
		r.out.Rules = append(r.out.Rules, RuleReplay{rule, n, r.only[rule]})
	}
	slices.SortFunc(r.out.Rules, func(a, b RuleReplay) int {
		return cmp.Or(cmp.Compare(b.Holds, a.Holds), cmp.Compare(a.Rule, b.Rule))
	})
	return r.out, nil
}

type replayer struct {
	unannotated contract.Class
	out         Replayed
	holds, only map[string]int
}

// folder is the listings of one server.
type folder struct {
	name  string
	path  string
	files []version // in order
}

// folders finds the servers below dir, by name.
func (r *replayer) folders(dir string) ([]folder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadableFolder(dir, err)
	}
	own := folder{name: filepath.Base(dir), path: dir}
	all := []folder{}
	skipped := 0
	for _, e := range entries {
		sub := folder{name: e.Name(), path: filepath.Join(dir, e.Name())}
		info, err := os.Stat(sub.path)
		switch {
		case err != nil || !info.IsDir():
			if v, ok := versionOf(e.Name()); ok && err == nil {
				own.files = append(own.files, v)
			} else {
				skipped++
			}
			continue
		}
		inside, err := os.ReadDir(sub.path)
		if err != nil {
			return nil, unreadableFolder(sub.path, err)
		}
		for _, f := range inside {
			if v, ok := versionOf(f.Name()); ok && !f.IsDir() {
				sub.files = append(sub.files, v)
			} else {
				skipped++
			}
		}
		all = append(all, sub)
	}
	if len(own.files) > 0 {
		all = append(all, own)
	}
	all = slices.DeleteFunc(all, func(f folder) bool { return len(f.files) == 0 })
	for _, f := range all {
		slices.SortFunc(f.files, compareVersions)
	}
	r.out.Skipped = skipped
	return all, nil
}

func unreadableFolder(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.NotFound, fmt.Sprintf("there is no folder %q", dir), "")
	}
	return fault.Wrap(err, fault.BadInput, fmt.Sprintf("the folder %q can't be read", dir), "")
}

// world is what a store would keep of one server.
type world struct {
	state approval.State
	judge judge
}

// judge is the gate alone: every text is clean.
type judge struct{ gate delta.Gate }

const replayBundle = "replay"

func (j judge) Compare(approved, live contract.Contract) []delta.Signal {
	return j.gate.Compare(approved, live)
}

func (judge) Scan(contract.Contract) scan.Verdict {
	return scan.Verdict{Outcome: scan.Clean, Complete: true, Bundle: replayBundle}
}

func (judge) Bundle() string { return replayBundle }

// newWorld has one server that a person trusted when adding it.
func newWorld(unannotated contract.Class) (*world, error) {
	w := &world{judge: judge{delta.Gate{Unannotated: unannotated}}}
	w.state = approval.State{
		Settings: approval.Settings{
			ID: "replay", DefaultMode: approval.Scan.String(), OnHold: approval.OnHoldKeep, Unannotated: unannotated,
		},
		Now: time.Unix(0, 0).UTC(),
	}
	return w, w.commit(approval.Add(w.state, approval.AddRequest{
		Name: "replayed", Way: approval.ByCLI, Actor: person, Program: approval.Program{Command: "replayed"},
		Quarantine: approval.AskLess, Incarnation: "replayed",
	}))
}

var person = record.Actor{Kind: record.Person, Name: "replay"}

// commit does what a store does with a Change, in memory.
func (w *world) commit(c approval.Change, err error) error {
	if err != nil {
		return err
	}
	if len(c.Forbidden) > 0 {
		return fault.New(fault.Internal, "the law refused its own transition: "+c.Forbidden[0], "This is a fault of Holdfast, please report it.")
	}
	if c.Server != nil {
		w.state.Server = *c.Server
		w.state.Server.Version = c.Made + 1
	}
	stands := make(map[approval.Key]int, len(w.state.Records))
	for i, r := range w.state.Records {
		stands[r.Key] = i
	}
	records := slices.Clone(w.state.Records)
	for _, r := range c.Records {
		r.Version++
		if i, known := stands[r.Key]; known {
			records[i] = r
		} else {
			records = append(records, r)
		}
	}
	w.state.Records = records
	return nil
}

// server walks one server through its versions.
func (r *replayer) server(f folder) error {
	w, err := newWorld(r.unannotated)
	if err != nil {
		return err
	}
	row := ServerReplay{Name: f.name, Counts: Counts{Steps: len(f.files) - 1}}
	for _, v := range f.files {
		path := filepath.Join(f.path, v.text+".json")
		listing, err := offers(path)
		if err != nil {
			return err
		}
		listing.Incarnation = w.state.Server.Incarnation
		before := w.state.Records
		if err := w.commit(approval.Pass(w.state, listing, w.judge)); err != nil {
			return at(path, err)
		}
		if err := r.step(w, before, &row.Counts); err != nil {
			return at(path, err)
		}
	}
	r.out.Servers = append(r.out.Servers, row)
	r.out.Total.add(row.Counts)
	return nil
}

// at says of which listing an error of the law is.
func at(path string, err error) error {
	if r, ok := errors.AsType[*approval.Refused](err); ok {
		return fault.Wrap(err, fault.Kind(r.Code), fmt.Sprintf("%q can't be taken: %s", path, r.What), "")
	}
	return err
}

// offers reads one listing as a discovery pass would.
func offers(path string) (approval.Listing, error) {
	l, err := Open(path, nil)
	if err != nil {
		return approval.Listing{}, err
	}
	defer l.Close()
	var listing approval.Listing
	for i := range l.Len() {
		e, err := l.Entry(i)
		switch {
		case err != nil:
			return approval.Listing{}, err
		case l.broken != "":
			return approval.Listing{}, fault.New(fault.Protocol, fmt.Sprintf("%q is no listing: %s", path, e.Contract.Problem()), "")
		case e.Name == "":
			listing.LeftOut = append(listing.LeftOut, fmt.Sprintf("entry %d has no name", i+1))
			continue
		}
		listing.Offers = append(listing.Offers, approval.Offer{Kind: approval.Tool, Name: e.Name, Contract: e.Contract})
	}
	return listing, nil
}

// step counts what a pass made of the tools that were known, and approves all of it.
func (r *replayer) step(w *world, before []approval.Record, row *Counts) error {
	approve := approval.ReviewRequest{Actor: person, Incarnation: w.state.Server.Incarnation}
	for i, now := range w.state.Records {
		if now.Absent {
			continue
		}
		if now.Live.Parsable() && (now.Status != approval.Approved || !now.Live.Equal(now.Approved) || !now.Anchor.Equal(now.Live)) {
			approve.Tools = append(approve.Tools, approval.Seen{Kind: now.Key.Kind, Name: now.Key.Name, Digest: now.Live.Digest()})
		}
		if i >= len(before) {
			continue
		}
		row.Pairs++
		if !before[i].Live.Equal(now.Live) {
			row.Changed++
			r.count(w.judge.gate, before[i], now, row)
		}
	}
	if len(approve.Tools) == 0 {
		return nil
	}
	return w.commit(approval.Approve(w.state, approve))
}

// count sorts one changed tool.
func (r *replayer) count(gate delta.Gate, before, now approval.Record, row *Counts) {
	if now.Status == approval.Changed {
		row.Blocked++
	}
	if now.Status != approval.Changed && !now.Waiting() {
		if onlyTexts(gate.Review(before.Approved, now.Live)) {
			row.Texts++
		} else {
			row.Quiet++
		}
		return
	}
	row.Held++
	rules := map[string]bool{}
	for _, s := range gate.Compare(before.Approved, now.Live) {
		rules[ruleName(s)] = true
	}
	for rule := range rules {
		r.holds[rule]++
		if len(rules) == 1 {
			r.only[rule]++
		}
	}
}

// ruleName is a rule with its reason, and without what the server chose.
func ruleName(s delta.Signal) string {
	if s.Reason == "" {
		return string(s.Rule)
	}
	return string(s.Rule) + ":" + s.Reason
}

// onlyTexts reports whether every line is about a text.
func onlyTexts(lines []delta.Line) bool {
	for _, l := range lines {
		if !isText(l) {
			return false
		}
	}
	return true
}
