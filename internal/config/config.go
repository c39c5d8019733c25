// Package config reads holdfast.json strictly and gives each consumer a small
// struct. Reference: docs/configuration.md.
package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// MaxFile bounds a configuration file.
const MaxFile = 4 << 20 // bytes

// Config is one file, read and checked.
type Config struct {
	Path    string
	Law     approval.Settings // ID is the digest of what the law reads
	Servers []Server          // in file order
	Listen  Listen
	DataDir string
	Verify  time.Duration // verify_interval
	Limits  Limits

	// BundlePath is security.bundle_path: a file of signatures for the scan, absolute
	// where Path is. Empty: those that are part of the program.
	BundlePath string

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

// defaults is what an empty file means.
func defaults(path string) *Config {
	return &Config{
		Path: path,
		Law: approval.Settings{
			DefaultMode: "scan",
			OnHold:      "block",
			Unannotated: contract.Destructive,
		},
		Listen:  Listen{Addr: "127.0.0.1:7420"},
		DataDir: DefaultDataDir(),
		Verify:  5 * time.Minute,
		Limits: Limits{
			Message:   16 << 20,
			Arguments: 4 << 20,
			Result:    16 << 20,
			Sessions:  100,
			Idle:      30 * time.Minute,
		},
	}
}

// DefaultPath is where the file is looked for when none is named:
// holdfast/holdfast.json in the user's configuration directory.
func DefaultPath() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "holdfast.json"
	}
	return filepath.Join(dir, "holdfast", "holdfast.json")
}

// DefaultDataDir is where the state is kept when data_dir does not say:
// $XDG_STATE_HOME/holdfast, without it ~/.local/state/holdfast, and on Windows
// holdfast in the local application data. It is empty when none can be found out.
func DefaultDataDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "holdfast")
	}
	if dir := os.Getenv("LocalAppData"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "holdfast")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "holdfast")
}

// Load reads the file; a missing file at the default path (or an empty path, which
// means it) is an empty one. Errors say file, line, key and the nearest known name.
// Strict is for `config check`: what loading only warns about is an error then.
func Load(path string, strict bool) (*Config, error) {
	named := path != "" && path != DefaultPath()
	if path == "" {
		path = DefaultPath()
	}
	data, err := readBounded(path, MaxFile)
	switch {
	case err == nil:
		return Parse(path, data, strict)
	case errors.Is(err, fs.ErrNotExist) && !named:
		return Parse(path, []byte("{}"), strict)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.Wrap(err, fault.NotFound, "there is no configuration file "+path, "Name another with --config, or create it: {} is a valid one.")
	case errors.Is(err, errTooBig):
		return nil, fault.Wrap(err, fault.TooLarge, "the configuration file "+path+" is over 4 MiB", "")
	}
	return nil, fault.Wrap(err, fault.BadInput, "the configuration file "+path+" can't be read: "+reason(err), "")
}

// Parse is Load from bytes. name is the file's path: it stands in errors, and a
// relative data_dir is relative to its folder.
func Parse(name string, data []byte, strict bool) (*Config, error) {
	r := &reader{file: name, data: data, strict: strict}
	c := defaults(name)
	r.read(c)
	if len(r.problems) > 0 {
		return nil, r.fault()
	}
	c.Law.ID = SettingsID(c.Law)
	c.Warnings = r.warnings
	return c, nil
}

// SettingsID is the digest of what the law reads of the settings; equal settings
// have equal ids, on every machine. A lock file that is added later needs it anew.
func SettingsID(s approval.Settings) string {
	type pin struct{ Server, Kind, Name, Digest string }
	var read struct {
		GateOff                          bool
		DefaultMode, OnHold, Unannotated string
		Locked                           bool
		Pins                             []pin
	}
	read.GateOff, read.DefaultMode, read.OnHold = s.GateOff, s.DefaultMode, s.OnHold
	read.Unannotated = s.Unannotated.String()
	if s.Lock != nil {
		read.Locked = true
		for k, d := range s.Lock.Pins {
			read.Pins = append(read.Pins, pin{k.Server, string(k.Kind), k.Name, string(d)})
		}
		slices.SortFunc(read.Pins, func(a, b pin) int {
			return strings.Compare(a.Server+"\x00"+a.Kind+"\x00"+a.Name, b.Server+"\x00"+b.Kind+"\x00"+b.Name)
		})
	}
	text, err := json.Marshal(read)
	if err != nil { // strings and booleans always marshal
		panic(err)
	}
	sum := sha256.Sum256(text)
	return "settings:" + hex.EncodeToString(sum[:16])
}
