package scan

import (
	"slices"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Budget of one check on one contract, in steps (bytes, words or places looked
// at). Every check is linear, so that only a fault in one can exceed it.
const (
	budgetBase    = 1 << 16
	budgetPerByte = 600
)

// Scanner is the scan, prepared once for one set of neighbours and one bundle, so
// that many contracts are read at little cost each. It is immutable and safe for
// concurrent use. The zero Scanner, like one without a bundle, runs the checks it
// can and is never complete.
type Scanner struct {
	bundle *Bundle
	words  *lexicon
	peers  peers
	checks []check
	budget func(bytes int) int
}

// check is one row of the table of docs/design/scan.md.
type check struct {
	id  string
	run func(*reading)
}

// New prepares a scan. The order of the neighbours does not matter, nor does one
// that is there twice. A nil bundle is allowed: no verdict is complete then.
//
// The time is linear in the size of the neighbours.
func New(bundle *Bundle, neighbours []Neighbour) *Scanner {
	s := &Scanner{bundle: bundle, checks: checks(), budget: budget}
	if bundle != nil {
		s.words = bundle.words
	} else {
		s.words = builtIn()
	}
	s.peers = gatherPeers(neighbours)
	return s
}

func budget(bytes int) int { return budgetBase + budgetPerByte*bytes }

// checks are all checks but those of the bundle, in the order of their findings.
func checks() []check {
	return []check{
		{"unicode.hidden", checkHidden},
		{"terminal.escape", checkEscape},
		{"text.concealed", checkConcealed},
		{"payload.decoded", checkPayload},
		{"phrase.injection", checkPhrases},
		{"shadowing.cross_server", checkSteering},
		{"shadowing.twin", checkTwin},
		{"directive.imperative", checkDirectives},
		{"capability.mismatch", checkCapability},
		{"secret.embedded", checkSecrets},
		{"bundle", checkBundle},
	}
}

// Scan reads one contract. It is total, deterministic and linear in its size. What
// is unparsable or no contract is not scanned, which holds.
func (s *Scanner) Scan(c contract.Contract) Verdict { return s.Reader().Scan(c) }

// Reader gives a Reader of this scan.
func (s *Scanner) Reader() *Reader { return &Reader{scanner: s} }

// Reader scans contracts one after the other with memory that it keeps from one to
// the next: allocating is much of what a small contract costs. Each verdict is the
// one that Scanner.Scan gives. It is not safe for concurrent use.
type Reader struct {
	scanner *Scanner
	reading reading
}

// mostKept is for how many bytes of a definition a Reader keeps the memory, which is
// up to about 25 times as much.
const mostKept = 1 << 16

// Scan reads one contract, as Scanner.Scan does.
func (k *Reader) Scan(c contract.Contract) Verdict {
	s := k.scanner
	if s == nil || s.words == nil {
		return Verdict{}
	}
	v := Verdict{Bundle: s.bundle.Version()}
	if !c.Parsable() {
		return v
	}
	r := &k.reading
	r.begin(s, c)
	defer func() {
		if len(c.Raw()) > mostKept {
			k.reading = reading{}
		}
	}()
	if !r.guarded("reading", (*reading).read) {
		return v
	}
	v.Complete = s.bundle != nil
	for _, k := range s.checks {
		if !r.guarded(k.id, k.run) {
			v.Complete = false
		}
	}
	if !r.guarded("findings", (*reading).settle) {
		v.Complete, r.settled = false, []Finding{{Check: failedCheck, Tier: Hard}}
	}
	v.Findings = r.settled
	v.Outcome = Clean
	for _, f := range v.Findings {
		if f.Tier != Soft {
			v.Outcome = Dangerous
			break
		}
		v.Outcome = Review
	}
	return v
}

// guarded runs one part under recover and its own budget. It reports whether the
// part came to its end.
func (r *reading) guarded(id string, part func(*reading)) (done bool) {
	defer func() {
		if !done {
			_ = recover() // a fault of one check must not silence the others
		}
	}()
	r.running, r.left = id, r.scanner.budget(r.bytes)
	if r.bytes == 0 {
		r.left = r.scanner.budget(len(r.contract.Raw()))
	}
	part(r)
	return true
}

// spend takes n steps off the budget of the running check, and ends the check when
// nothing is left.
func (r *reading) spend(n int) {
	r.left -= n
	r.steps += n
	if r.left < 0 {
		panic("over budget")
	}
}

// hit is a find before findings are settled.
type hit struct {
	check      string
	tier       Tier
	text       int32 // index of the text
	start, end int32 // raw bytes
	shown      string
	rule       string // which one, where a check has several
}

// mostHits is how many places of one check and contract are told one by one.
const mostHits = 32

// hit notes a find of the running check.
func (r *reading) hit(tier Tier, text, start, end int) {
	r.hits = append(r.hits, hit{check: r.running, tier: tier, text: int32(text), start: int32(start), end: int32(end)})
}

// hitDecoded notes a find whose evidence is not the text itself.
func (r *reading) hitDecoded(tier Tier, text, start, end int, shown string) {
	r.hit(tier, text, start, end)
	r.hits[len(r.hits)-1].shown = shown
}

// settle makes the findings: those of one check that overlap are one, with the
// harder tier, and each gets its place and evidence.
func (r *reading) settle() {
	if len(r.hits) == 0 {
		return
	}
	order := map[string]int{}
	for i, k := range r.scanner.checks {
		order[k.id] = i
	}
	rank := func(check string) int {
		if i, ok := order[check]; ok {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(r.hits, func(a, b hit) int { return compareHits(a, b, rank) })
	merged := r.hits[:0]
	for _, h := range r.hits {
		r.spend(1)
		if n := len(merged); n > 0 && merged[n-1].joins(h) {
			merged[n-1].join(h)
			continue
		}
		merged = append(merged, h)
	}
	for from := 0; from < len(merged); {
		to := from
		for to < len(merged) && merged[to].check == merged[from].check {
			to++
		}
		r.tell(merged[from:to])
		from = to
	}
}
