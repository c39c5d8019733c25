package contract

import "testing"

func TestReorderedKeysAreNoChange(t *testing.T) {
	a := Parse([]byte(`{"name":"t","inputSchema":{"type":"object","maxProperties":10}}`))
	b := Parse([]byte(` {"inputSchema" : {"maxProperties":1.0E1, "type":"\u006fbject"}, "name":"t"} `))
	if !a.Equal(b) || a.Digest() != b.Digest() {
		t.Errorf("%s is not %s", a.Canonical(), b.Canonical())
	}
	if string(a.Canonical()) != `{"inputSchema":{"maxProperties":1e1,"type":"object"},"name":"t"}` {
		t.Errorf("canonical form is %s", a.Canonical())
	}
}
