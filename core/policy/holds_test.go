package policy

import "testing"

func TestHoldsFiles(t *testing.T) {
	base := Config{Mode: Default, Roots: []string{"/w"}, Home: "/home/u"}
	with := func(rules ...string) *Policy {
		t.Helper()
		c := base
		for _, text := range rules {
			r, err := ParseRule(text, Deny, Place{Layer: User, File: "s", Line: 1}, "", "/home/u")
			if err != nil {
				t.Fatal(err)
			}
			c.Rules = append(c.Rules, r)
		}
		p, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for text, want := range map[string]bool{"Read(.env)": true, "Edit(x)": true, "Write": true, "Read": true, "Bash(rm *)": false} {
		if got := with(text).HoldsFiles(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if with().HoldsFiles() {
		t.Error("nothing denies anything")
	}
	c := base
	contract, err := NewContract(ContractSpec{At: Place{Layer: User}}, "", "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	c.Contracts = []Contract{contract}
	if p, err := New(c); err != nil || !p.HoldsFiles() {
		t.Errorf("a contract holds nothing: %v", err)
	}
	var none *Policy
	if !none.HoldsFiles() {
		t.Error("the nil policy denies nothing")
	}
}
