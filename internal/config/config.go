// Package config reads holdfast.json strictly and gives each consumer a small
// struct. Reference: docs/configuration.md.
package config

import (
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
)

// Config is one file, read and checked.
type Config struct {
	Path     string
	Law      approval.Settings // ID is the digest of what the law reads
	Servers  []Server          // in file order
	Listen   Listen
	DataDir  string
	Verify   time.Duration // verify_interval
	Limits   Limits
	Warnings []string // a bad trust mode that counts as manual, ...
}

// Server is one entry of mcpServers.
type Server struct {
	Name       string
	Program    approval.Program
	Options    approval.Options
	Quarantine approval.Ask // AskNothing when the key is omitted
	Source     string       // file:line
}

// Listen is how agents reach the gateway over TCP.
type Listen struct {
	Addr    string // host:port
	AuthOff bool   // only for a loopback address
	Face    string // "", "direct" or "search"
	Origins []string
	Hosts   []string
}

// Limits of messages and sessions, in bytes and counts.
type Limits struct {
	Message   int // one JSON-RPC message
	Arguments int
	Result    int
	Sessions  int // of one token
	Idle      time.Duration
}

// Load reads the file; a missing file at the default path is an empty one. Errors
// say file, line, key and the nearest known name. Strict is for `config check`:
// what loading only warns about is an error then.
func Load(path string, strict bool) (*Config, error) { panic("unwritten") }

// Parse is Load from bytes.
func Parse(name string, data []byte, strict bool) (*Config, error) { panic("unwritten") }

// Expand resolves ${env:NAME}, ${file:PATH} and ${keyring:NAME} in s. The error
// never contains a value.
func Expand(s string) (string, error) { panic("unwritten") }

// Mask gives s with everything secret-looking hidden: for showing it.
func Mask(key, s string) string { panic("unwritten") }
