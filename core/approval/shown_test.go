package approval

import (
	"maps"
	"strings"
	"testing"
)

// TestProgramDigest: whatever differs in what is run is another digest, however the
// texts are cut; what is one incarnation is one digest.
func TestProgramDigest(t *testing.T) {
	seen := map[string]int{}
	for i, p := range []Program{
		{Command: "a"},
		{Command: "a", Args: []string{"b", "c"}},
		{Command: "a", Args: []string{"bc"}},
		{Command: "a", Args: []string{"b c"}},
		{Command: "a", Args: []string{"1:b", "c"}},
		{Command: "a", Args: []string{""}},
		{Command: "a", Cwd: "b"},
		{Command: "a", Isolation: "b"},
		{URL: "a"},
		{Command: "a", Env: map[string]string{"k": "v"}},
		{Command: "a", Headers: map[string]string{"k": "v"}},
		{Command: "a", Env: map[string]string{"kv": ""}},
		{Command: "a", Env: map[string]string{"k": "v", "l": "w"}},
		{Command: "a\xff"},
		{Command: "a\ufffd"},
	} {
		d := string(p.Digest())
		if before, twice := seen[d]; twice {
			t.Errorf("programs %d and %d have one digest", before, i)
		}
		seen[d] = i
	}
	spelled := Program{Type: "stdio", Command: "a", Args: []string{}, Env: map[string]string{}}
	if (Program{Command: "a"}).Digest() != spelled.Digest() {
		t.Error("one incarnation has two digests")
	}
}

func TestProgramIsBounded(t *testing.T) {
	many := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[strings.Repeat("k", i)] = ""
		}
		return m
	}
	for name, c := range map[string]struct {
		program Program
		refused bool
	}{
		"as large as may be": {Program{Command: strings.Repeat("x", MaxProgram-len("stdio"))}, false},
		"a byte more":        {Program{Command: strings.Repeat("x", MaxProgram-len("stdio")+1)}, true},
		"in its arguments":   {Program{Command: "x", Args: []string{strings.Repeat("x", MaxProgram)}}, true},
		"in its environment": {Program{Command: "x", Env: map[string]string{strings.Repeat("x", MaxProgram): ""}}, true},
		"arguments":          {Program{Command: "x", Args: make([]string, MaxArgs)}, false},
		"too many arguments": {Program{Command: "x", Args: make([]string, MaxArgs+1)}, true},
		"too many variables": {Program{Command: "x", Env: many(MaxEnv + 1)}, true},
		"too many headers":   {Program{URL: "https://x", Headers: many(MaxHeaders + 1)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, "scan")
			r := b.addRequest(ByCLI, AskNothing)
			r.Program = c.program
			if c.refused {
				b.refused(CodeTooLarge)(Add(b.s, r))
				return
			}
			b.ok(Add(b.s, r))
		})
	}
}

// TestProposalNamesNoSecret: a reference would give an agent's program a secret of
// the operator, wherever in it the reference stands.
func TestProposalNamesNoSecret(t *testing.T) {
	for _, p := range []Program{
		{Command: "${env:X}"},
		{Command: "x", Args: []string{"a", "b ${file:/etc/passwd}"}},
		{Command: "x", Cwd: "${env:HOME}"},
		{URL: "https://x/${keyring:y}"},
		{Command: "x", Env: map[string]string{"A": "${env:B}"}},
		{Command: "x", Env: map[string]string{"${env:B}": ""}},
		{URL: "https://x", Headers: map[string]string{"Authorization": "Bearer $${env:B}"}},
		{Command: "x", Args: []string{"${env:not closed"}},
	} {
		b := setup(t, "scan")
		r := b.addRequest(ByMCP, AskNothing)
		r.Program = p
		b.refused(CodeNotForAgents)(Add(b.s, r))
		r = b.addRequest(ByCLI, AskNothing)
		r.Program = p
		b.ok(Add(b.s, r))
	}
}

func TestProposalsAreCapped(t *testing.T) {
	b := setup(t, "scan")
	r := b.addRequest(ByMCP, AskNothing)
	r.Proposals = MaxProposals
	b.refused(CodeTooLarge)(Add(b.s, r))
	r.Proposals--
	b.ok(Add(b.s, r))
	r = b.addRequest(ByCLI, AskNothing)
	r.Proposals = MaxProposals
	b.ok(Add(b.s, r)) // a person is not kept from it
}

// TestEnableNamesWhatWasSeen: nothing that an agent proposed runs before a person
// named the very program.
func TestEnableNamesWhatWasSeen(t *testing.T) {
	b := setup(t, "scan")
	b.ok(Add(b.s, b.addRequest(ByMCP, AskNothing)))
	b.refused(CodeBadInput)(Enable(b.s, EnableRequest{Actor: person}))
	b.refused(CodeReviewOutOfDate)(Enable(b.s, EnableRequest{Actor: person, Program: "sha256:other"}))
	b.refused(CodeNotFound)(Enable(State{}, EnableRequest{Actor: person}))
	b.refused(CodeNotFound)(Disable(State{}, person))
	b.refused(CodeForbidden)(Edit(b.s, EditRequest{Actor: person, Program: &Program{Command: "mine"}, Incarnation: "i2"}))
	same := b.s.Server.Program
	b.ok(Edit(b.s, EditRequest{Actor: person, Program: &same, Options: &Options{MaxConcurrent: 3}}))
	b.ok(Enable(b.s, EnableRequest{Actor: person, Program: same.Digest()}))
	b.wrote("enabled")
	b.ok(Disable(b.s, person))
	b.refused(CodeReviewOutOfDate)(Enable(b.s, EnableRequest{Actor: person, Program: "sha256:other"}))
	b.ok(Enable(b.s, EnableRequest{Actor: person})) // a person's own again
}

// TestAuditSaysWhatRuns: the program as it was proposed, and a person's own only as
// the caller masked it.
func TestAuditSaysWhatRuns(t *testing.T) {
	mask := func(p Program) Program {
		p.Env = maps.Clone(p.Env)
		for k := range p.Env {
			p.Env[k] = "hidden"
		}
		return p
	}
	secret := Program{Type: "stdio", Command: "run", Env: map[string]string{"TOKEN": "hunter2"}}
	detail := func(c Change) map[string]string { return c.Entries[0].Act.Detail }

	b := setup(t, "scan")
	r := b.addRequest(ByMCP, AskNothing)
	r.Program, r.Mask = secret, mask
	d := detail(b.ok(Add(b.s, r)))
	if !strings.Contains(d["program"], "hunter2") || d["program_digest"] != string(secret.Digest()) {
		t.Errorf("proposed: %v", d)
	}
	d = detail(b.ok(Enable(b.s, EnableRequest{Actor: person, Program: secret.Digest(), Mask: mask})))
	if !strings.Contains(d["program"], "hunter2") || d["accepts"] == "" {
		t.Errorf("enabled: %v", d)
	}

	b = setup(t, "scan")
	r = b.addRequest(ByCLI, AskNothing)
	r.Program = secret
	if d = detail(b.ok(Add(b.s, r))); d["program"] != "" || d["program_digest"] != string(secret.Digest()) {
		t.Errorf("added without a mask: %v", d)
	}
	b = setup(t, "scan")
	r.Mask = mask
	d = detail(b.ok(Add(b.s, r)))
	if d["program"] != `{"type":"stdio","command":"run","env":{"TOKEN":"hidden"}}` {
		t.Errorf("added: %v", d)
	}
	other := secret
	other.Command = "run2"
	d = detail(b.ok(Edit(b.s, EditRequest{Actor: person, Program: &other, Incarnation: "i2", Mask: mask})))
	if !strings.Contains(d["program"], "run2") || strings.Contains(d["program"], "hunter2") || d["changed"] != "command" {
		t.Errorf("edited: %v", d)
	}
}
