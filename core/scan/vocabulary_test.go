package scan

import (
	"slices"
	"strings"
	"testing"
)

// Every check has an entry, and every entry a check.
func TestEveryCheckIsExplained(t *testing.T) {
	ids := []string{failedCheck}
	for _, c := range checks() {
		if c.id == "bundle" {
			c.id = bundlePrefix + "*"
		}
		ids = append(ids, c.id)
	}
	var names []string
	for _, term := range Terms() {
		names = append(names, term.Name)
		if term.Label == "" || !strings.HasSuffix(term.Sentence, ".") {
			t.Errorf("%s is not explained: %+v", term.Name, term)
		}
		if got, found := Explain(term.Name); !found || got != term {
			t.Errorf("%s is explained as %+v", term.Name, got)
		}
	}
	slices.Sort(ids)
	slices.Sort(names)
	if !slices.Equal(ids, names) {
		t.Errorf("checks  %v\nentries %v", ids, names)
	}
	if got, found := Explain("bundle.collector-host"); !found || got.Name != "bundle.collector-host" || got.Label == "" {
		t.Errorf("a signature: %+v", got)
	}
	if got, found := Explain("nothing"); found {
		t.Errorf("no check: %+v", got)
	}
}

// Another content is another version, whatever the file calls itself.
func TestVersionNamesTheContent(t *testing.T) {
	parse := func(pattern string) *Bundle {
		b, err := ParseBundle([]byte(`{"format":1,"version":"v","rules":[{"id":"a","title":"A","tier":"soft","pattern":"` + pattern + `"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a, b := parse("x"), parse("y")
	if a.Version() == b.Version() || a.Version() != parse("x").Version() || !strings.HasPrefix(a.Version(), "v+") {
		t.Errorf("%s and %s", a.Version(), b.Version())
	}
}
