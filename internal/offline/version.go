package offline

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
)

// version is a semantic version (semver.org, 2.0.0), as a listing's file is named.
// Leading zeros are accepted: calendar versions have them.
type version struct {
	core [3]string
	pre  []string // identifiers of a pre-release; none for a release
	text string
}

var versionForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?$`)
})

// besides are what is kept beside the listing of a version: <version>.<beside>.json.
var besides = []string{".init", ".prompts", ".resources"}

// versionOf reads the version of a file name; false for every other file.
func versionOf(file string) (version, bool) {
	base, ok := strings.CutSuffix(file, ".json")
	if !ok {
		return version{}, false
	}
	for _, b := range besides {
		if strings.HasSuffix(base, b) {
			return version{}, false
		}
	}
	m := versionForm().FindStringSubmatch(base)
	if m == nil {
		return version{}, false
	}
	v := version{core: [3]string{m[1], m[2], m[3]}, text: base}
	if m[4] != "" {
		v.pre = strings.Split(m[4], ".")
	}
	return v, true
}

// compareVersions gives the precedence of section 11. What is equal there, as what
// differs in build metadata alone, goes by its spelling.
func compareVersions(a, b version) int {
	for i := range a.core {
		if c := compareDigits(a.core[i], b.core[i]); c != 0 {
			return c
		}
	}
	switch {
	case len(a.pre) == 0 && len(b.pre) > 0:
		return 1
	case len(a.pre) > 0 && len(b.pre) == 0:
		return -1
	}
	for i := range min(len(a.pre), len(b.pre)) {
		if c := compareIdentifiers(a.pre[i], b.pre[i]); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(a.pre), len(b.pre)), cmp.Compare(a.text, b.text))
}

// compareIdentifiers orders numbers by value, before words, which go by their bytes.
func compareIdentifiers(a, b string) int {
	x, y := digits(a), digits(b)
	switch {
	case x && y:
		return compareDigits(a, b)
	case x:
		return -1
	case y:
		return 1
	}
	return cmp.Compare(a, b)
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// compareDigits compares numbers of any length.
func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
