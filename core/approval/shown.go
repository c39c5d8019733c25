package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Limits of a Program. It is shown to people, written to the audit and hashed, so
// that one which nobody could read in full is refused.
const (
	MaxProgram = 64 << 10 // bytes of all its texts together
	MaxArgs    = 1000
	MaxEnv     = 256
	MaxHeaders = 100
)

// MaxProposals is how many servers may be stored at once that agents proposed and
// no person decided on.
const MaxProposals = 20

// Digest names exactly what is run: a person who enables a proposal says with it
// what was seen. It is over every field as written, with each text's length before
// it, so that no two programs are one text.
func (p Program) Digest() contract.Digest {
	p = p.filled()
	h := sha256.New()
	put := func(texts ...string) {
		for _, s := range texts {
			h.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
		}
	}
	put("holdfast program 1", p.Type, p.Command, p.Cwd, p.URL, p.Isolation, strconv.Itoa(len(p.Args)))
	put(p.Args...)
	for _, m := range []map[string]string{p.Env, p.Headers} {
		put(strconv.Itoa(len(m)))
		for _, k := range slices.Sorted(maps.Keys(m)) {
			put(k, m[k])
		}
	}
	return contract.Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}

// texts are all that a program has, each once.
func (p Program) texts() []string {
	all := append([]string{p.Type, p.Command, p.Cwd, p.URL, p.Isolation}, p.Args...)
	for _, m := range []map[string]string{p.Env, p.Headers} {
		for k, v := range m {
			all = append(all, k, v)
		}
	}
	return all
}

// bounded refuses what is too large to be shown.
func (p Program) bounded() error {
	hint := "Put what is long into a script or a file, and name that."
	for _, c := range []struct {
		what       string
		have, most int
	}{{"arguments", len(p.Args), MaxArgs}, {"environment variables", len(p.Env), MaxEnv}, {"headers", len(p.Headers), MaxHeaders}} {
		if c.have > c.most {
			return refuse(CodeTooLarge, "a server has at most "+strconv.Itoa(c.most)+" "+c.what+", and these are "+strconv.Itoa(c.have), hint)
		}
	}
	size := 0
	for _, s := range p.texts() {
		size += len(s)
	}
	if size > MaxProgram {
		return refuse(CodeTooLarge, "what a server runs has at most "+strconv.Itoa(MaxProgram)+" bytes in all, and this has "+strconv.Itoa(size), hint)
	}
	return nil
}

// asProposed refuses what an agent may not propose to run. A reference would read a
// secret of the operator for a program that the agent chose; and because there is
// none, a proposal is shown to people as it is, with nothing hidden.
func (p Program) asProposed() error {
	for _, s := range p.texts() {
		if strings.Contains(s, "${") {
			return refuse(CodeNotForAgents, "an agent can't propose a server with a ${...} in it, which could stand for a secret of the operator",
				"Propose it without; a person adds what is secret, with: holdfast server add")
		}
	}
	return nil
}

// said is what the audit says of what is run: its digest, and the program as text.
// Only what the caller masked may be written down, but a proposal is, as it is.
func (s Server) said(mask func(Program) Program) map[string]string {
	detail := map[string]string{"program_digest": string(s.Program.Digest())}
	shown := s.Program
	switch {
	case s.Proposal:
	case mask != nil:
		shown = mask(shown)
	default:
		return detail
	}
	text, _ := json.Marshal(shown) // strings, and lists and maps of them: it can't fail
	detail["program"] = string(text)
	return detail
}
