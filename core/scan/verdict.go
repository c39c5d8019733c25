// Package scan reads the texts of a contract for poison: no network, no files,
// no clock, no model. Specification: docs/design/scan.md.
package scan

import "github.com/holdfast-mcp/holdfast/core/contract"

// Outcome is what a scan concluded. The zero Outcome is NotScanned, which holds.
type Outcome byte

const (
	NotScanned Outcome = iota
	Clean
	Review    // a soft finding
	Dangerous // a hard finding
)

// Tier says how a finding weighs. The zero Tier is Hard.
type Tier byte

const (
	Hard Tier = iota
	Soft
)

// Finding is one check's find at one place. Findings are equal when all of it is.
type Finding struct {
	Check    string `json:"check"`
	Tier     Tier   `json:"tier"`
	Path     string `json:"path"`  // JSON Pointer into the definition
	Start    int    `json:"start"` // bytes into the text at Path
	End      int    `json:"end"`
	Evidence string `json:"evidence"` // escaped, at most 200 characters, secrets masked
}

// Verdict is the answer of one scan of one contract. The zero Verdict holds:
// not scanned, incomplete.
type Verdict struct {
	Outcome  Outcome
	Complete bool   // every check ran and a bundle was loaded
	Bundle   string // version of the signatures used; empty when none were
	Findings []Finding
}

// Neighbour is an approved contract of another server's tool that is enabled and
// not quarantined.
type Neighbour struct {
	Server   string
	Name     string
	Contract contract.Contract
}
