package delta

import "testing"

// The examples of RFC 3986 section 5.4, as far as they are resolved strictly.
func TestReferencesResolve(t *testing.T) {
	for ref, want := range map[string]string{
		"g:h": "g:h", "g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/", "/g": "http://a/g", "//g": "http://g", "?y": "http://a/b/c/d;p?y",
		"g?y": "http://a/b/c/g?y", "": "http://a/b/c/d;p?q", ".": "http://a/b/c/", "./": "http://a/b/c/", "..": "http://a/b/", "../": "http://a/b/", "../g": "http://a/b/g",
		"../..": "http://a/", "../../g": "http://a/g", "../../../g": "http://a/g", "/./g": "http://a/g", "/../g": "http://a/g", "g.": "http://a/b/c/g.", "..g": "http://a/b/c/..g",
		"./../g": "http://a/b/g", "g/./h": "http://a/b/c/g/h", "g/../h": "http://a/b/c/h", "HTTP://A/x": "http://a/x", "1g:h": "http://a/b/c/1g:h", "a+b:c": "a+b:c", "é:c": "http://a/b/c/é:c",
	} {
		if got, _ := resolve("http://a/b/c/d;p?q", ref); got != want {
			t.Errorf("%q leads to %q, not %q", ref, got, want)
		}
	}
	if got, fragment := resolve("urn:x", "#a/b"); got != "urn:x" || fragment != "a/b" {
		t.Errorf("%q %q", got, fragment)
	}
	if got, _ := resolve("", "../../g"); got != "g" {
		t.Errorf("%q", got)
	}
}
