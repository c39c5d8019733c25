package scan

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// engine is raised when a check changes what it finds, so that stored verdicts of
// the older one do not stand.
const engine = "1"

// Limits of a bundle file.
const (
	MaxBundleBytes = 4 << 20
	mostRules      = 2000
	mostPattern    = 2000 // bytes of one pattern
)

// Bundle is a set of signatures of known attacks, ready to run. It is immutable.
type Bundle struct {
	version string
	words   *lexicon
	rules   []signature
	needles *needles
}

// Version names what a verdict stands on: what the file says, and a digest of the
// file and of the words and phrases of this program, so that nothing else passes for
// the same and a newer program looks again. It is empty without a bundle.
func (b *Bundle) Version() string {
	if b == nil {
		return ""
	}
	return b.version
}

// Rules is how many signatures run.
func (b *Bundle) Rules() int {
	if b == nil {
		return 0
	}
	return len(b.rules)
}

// signature is one rule of a bundle.
type signature struct {
	id      string
	tier    Tier
	fields  uint16 // bits of field
	pattern *regexp.Regexp
	needs   []string // one of these has to stand in a text, in lower case; none: always
}

// bundleFile is the form of the file: docs/design/scan.md.
type bundleFile struct {
	Format  int          `json:"format"`
	Version string       `json:"version"`
	Rules   []bundleRule `json:"rules"`
}

type bundleRule struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Tier       string   `json:"tier"`
	Fields     []string `json:"fields"`
	Pattern    string   `json:"pattern"`
	Contains   []string `json:"contains"`
	References []string `json:"references"`
	Disabled   bool     `json:"disabled"`
}

//go:embed bundle.json
var bundleText []byte

// Embedded gives the bundle that is part of the program.
func Embedded() *Bundle { return must(ParseBundle(bundleText)) }

// must gives what was read of a file that is part of the program. That it can be
// read is tested, so a failure is a mistake of the program: it panics.
func must[T any](read T, err error) T {
	if err != nil {
		panic("scan: " + err.Error())
	}
	return read
}

// ParseBundle reads a bundle file. It refuses what it does not know, in whole: a
// file that is not as written would find less than its author meant. The error
// names every rule that is wrong.
func ParseBundle(raw []byte) (*Bundle, error) {
	if len(raw) > MaxBundleBytes {
		return nil, fmt.Errorf("the bundle has %d bytes, and %d is the limit", len(raw), MaxBundleBytes)
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	var f bundleFile
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("the bundle can't be read: %w", err)
	}
	if dec.More() {
		return nil, errors.New("the bundle can't be read: something stands behind its JSON object")
	}
	switch {
	case f.Format != 1:
		return nil, fmt.Errorf("the bundle has format %d, and 1 is the one that is understood", f.Format)
	case f.Version == "" || len(f.Version) > 100 || strings.TrimSpace(f.Version) != f.Version:
		return nil, errors.New("the bundle has no version: 1 to 100 characters that name its content")
	case len(f.Rules) > mostRules:
		return nil, fmt.Errorf("the bundle has %d rules, and %d is the limit", len(f.Rules), mostRules)
	}
	sum := sha256.Sum256([]byte(engine + string(raw) + lexiconText + phrasesText))
	b := &Bundle{version: f.Version + "+" + hex.EncodeToString(sum[:4])}
	var problems []error
	seen := map[string]bool{}
	for i, u := range f.Rules {
		s, err := u.compile()
		if err == nil && seen[u.ID] {
			err = errors.New("another rule has this id")
		}
		seen[u.ID] = true
		if err != nil {
			problems = append(problems, fmt.Errorf("rule %d (%q): %w", i+1, u.ID, err))
		} else if !u.Disabled {
			b.rules = append(b.rules, s)
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("the bundle has wrong rules: %w", errors.Join(problems...))
	}
	if len(b.rules) == 0 {
		return nil, errors.New("the bundle has no rule that runs")
	}
	b.words, b.needles = builtIn(), prepareNeedles(b.rules)
	return b, nil
}

// fieldNames are those that a rule may name; "all" and an empty list mean all.
var fieldNames = []string{"name", "title", "description", "property", "value", "meta", "other"}

var ruleID = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*$`)

func (u bundleRule) compile() (signature, error) {
	s := signature{id: u.ID}
	switch {
	case !ruleID.MatchString(u.ID) || len(u.ID) > 64:
		return s, errors.New("an id is up to 64 lower-case letters and digits, with dots, dashes or underscores between")
	case strings.TrimSpace(u.Title) == "":
		return s, errors.New("it has no title")
	case len(u.Pattern) == 0 || len(u.Pattern) > mostPattern:
		return s, fmt.Errorf("its pattern has %d bytes: 1 to %d are allowed", len(u.Pattern), mostPattern)
	}
	switch u.Tier {
	case "hard":
	case "soft":
		s.tier = Soft
	default:
		return s, fmt.Errorf("its tier is %q: hard or soft", u.Tier)
	}
	for _, name := range u.Fields {
		i := slices.Index(fieldNames, name)
		if name == "all" {
			s.fields = 1<<len(fieldNames) - 1
		} else if i < 0 {
			return s, fmt.Errorf("its field %q is unknown: one of %s, all", name, strings.Join(fieldNames, ", "))
		} else {
			s.fields |= 1 << i
		}
	}
	if s.fields == 0 {
		s.fields = 1<<len(fieldNames) - 1
	}
	var err error
	if s.pattern, err = regexp.Compile(u.Pattern); err != nil {
		return s, fmt.Errorf("its pattern is no RE2 expression: %w", err)
	}
	if s.pattern.MatchString("") {
		return s, errors.New("its pattern matches the empty text, and so every text")
	}
	for _, c := range u.Contains {
		if c == "" {
			return s, errors.New("contains has an empty text")
		}
		s.needs = append(s.needs, strings.ToLower(c))
	}
	return s, nil
}

// checkBundle finds signatures of known attacks: bundle.<id>. They read the raw text.
func checkBundle(r *reading) {
	b := r.scanner.bundle
	if b == nil {
		return
	}
	if cap(r.concerned) < len(b.rules) {
		r.concerned = make([]bool, len(b.rules))
	}
	concerned := r.concerned[:len(b.rules)]
	for i := range r.texts {
		t := &r.texts[i]
		r.spend(len(t.s) + 1)
		b.needles.in(t.s, concerned)
		for k := range b.rules {
			s := &b.rules[k]
			r.spend(1)
			if !concerned[k] || s.fields&(1<<t.field) == 0 {
				continue
			}
			r.spend(len(t.s))
			for _, at := range s.pattern.FindAllStringIndex(t.s, mostHits) {
				r.running = "bundle." + s.id
				tier := s.tier
				if tier == Hard {
					tier = r.position(i, at[0], at[1])
				}
				r.hit(tier, i, at[0], at[1])
			}
		}
	}
}
