package scan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostEvidence is how many characters of evidence are shown.
const mostEvidence = 200

func compareHits(a, b hit, rank func(string) int) int {
	return cmp.Or(
		cmp.Compare(rank(a.check), rank(b.check)),
		cmp.Compare(a.check, b.check),
		cmp.Compare(a.text, b.text),
		cmp.Compare(a.start, b.start),
		cmp.Compare(a.end, b.end),
		cmp.Compare(a.tier, b.tier),
		cmp.Compare(a.shown, b.shown),
	)
}

// joins reports whether a later hit overlaps one of the same check.
func (h hit) joins(next hit) bool {
	return h.check == next.check && h.text == next.text && next.start < h.end
}

func (h *hit) join(next hit) {
	h.end = max(h.end, next.end)
	h.tier = min(h.tier, next.tier) // Hard is less than Soft
	if h.shown == "" {
		h.shown = next.shown
	}
}

// tell makes findings of all hits of one check. Beyond mostHits the rest is one
// finding that names them by digest: another rest is another finding, so that
// nothing new hides behind what a person accepted.
func (r *reading) tell(hits []hit) {
	for _, h := range hits[:min(len(hits), mostHits)] {
		r.settled = append(r.settled, r.finding(h))
	}
	if len(hits) <= mostHits {
		return
	}
	rest := hits[mostHits:]
	sum := sha256.New()
	tier := Soft
	for _, h := range rest {
		tier = min(tier, h.tier)
		fmt.Fprintf(sum, "%d %s %d %q\n", h.tier, r.pointer(r.texts[h.text]), h.start, r.texts[h.text].s[h.start:h.end])
	}
	last := r.finding(rest[0])
	last.Tier = tier
	last.Evidence = fmt.Sprintf("more places: %d (%s)", len(rest), hex.EncodeToString(sum.Sum(nil)[:8]))
	r.settled = append(r.settled, last)
}

func (r *reading) finding(h hit) Finding {
	t := r.texts[h.text]
	f := Finding{Check: h.check, Tier: h.tier, Path: r.pointer(t), Start: int(h.start), End: int(h.end)}
	if h.shown != "" {
		f.Evidence = evidence(h.shown, 0, len(h.shown))
	} else {
		f.Evidence = evidence(t.s, int(h.start), int(h.end))
	}
	r.spend(int(h.end-h.start) + 1)
	return f
}

// evidence shows s[start:end]: what could not be seen or could act on a terminal
// is escaped, secrets are masked, and it is cut at mostEvidence characters.
func evidence(s string, start, end int) string {
	if end-start > 8*mostEvidence {
		end = start + 8*mostEvidence // enough to fill what is shown
		for end > start && !utf8.RuneStart(s[end]) {
			end--
		}
	}
	var b strings.Builder
	shown := 0
	write := func(part string) bool {
		n := utf8.RuneCountInString(part)
		if shown+n > mostEvidence-1 {
			b.WriteString("…")
			return false
		}
		b.WriteString(part)
		shown += n
		return true
	}
	secrets := secretsIn(s[max(0, start-maxSecret):min(len(s), end+maxSecret)], nil)
	offset := max(0, start-maxSecret)
	for at := start; at < end; {
		if to := maskedUntil(secrets, at-offset); to > 0 {
			if !write(mask8(s[at:min(end, to+offset)])) {
				break
			}
			at = to + offset
			continue
		}
		c, size := utf8.DecodeRuneInString(s[at:])
		if !write(visible(c)) {
			break
		}
		at += size
	}
	return b.String()
}

// maskedUntil is where the secret that covers at ends, 0 when none does.
func maskedUntil(secrets []span, at int) int {
	for _, s := range secrets {
		if s.start <= at && at < s.end {
			return s.end
		}
	}
	return 0
}

// mask8 leaves of a secret what tells its kind.
func mask8(s string) string {
	keep := min(4, len(s)/4)
	for keep > 0 && !utf8.RuneStart(s[keep]) {
		keep--
	}
	return s[:keep] + "[masked]"
}

// visible is c itself when a person can see it, else its escape.
func visible(c rune) string {
	switch {
	case c == ' ' || c > ' ' && c < 0x7f:
		return string(c)
	case c < 0x80 || c == utf8.RuneError:
		q := strconv.QuoteRune(c)
		return q[1 : len(q)-1]
	case unicode.IsControl(c) || ignorable(c) || unicode.Is(unicode.Co, c) || unicode.In(c, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp) || !unicode.IsGraphic(c):
		return fmt.Sprintf("\\u{%X}", c)
	}
	return string(c)
}
