package config

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
)

// foreignTop are top-level keys of other programs' configurations.
var foreignTop = map[string]string{
	"servers":         "the map of servers is called mcpServers here",
	"mcp":             "the map of servers is called mcpServers here, at the top of the file",
	"context_servers": "the map of servers is called mcpServers here",
	"mcp_servers":     "the map of servers is called mcpServers here",
	"inputs":          "values are not asked for; write ${env:NAME}, ${file:PATH} or ${keyring:NAME} where they are used",
	"auth":            "it is listen.auth here",
}

// notYet are keys that stand for parts that this version does not have. They are
// refused: to accept one would look like protection.
const notYet = "is not available in this version; remove it"

// topKeys are the keys of the file and what reads them into c.
func (r *reader) topKeys(c *Config) keys {
	return keys{
		"mcpServers":  func(a at) { r.servers(a, c) },
		"listen":      func(a at) { r.listen(a, c) },
		"data_dir":    func(a at) { r.dataDir(a, c) },
		"face":        func(a at) { r.face(a, c) },
		"limits":      func(a at) { r.object(a, r.limitKeys(c), nil) },
		"on_hold":     func(a at) { set(&c.Law.OnHold)(r.oneOf(a, "block", "keep")) },
		"unannotated": func(a at) { r.unannotated(a, c) },
		"security":    func(a at) { r.object(a, r.securityKeys(c), nil) },
		"audit":       func(a at) { r.problem(a, notYet) },
		"admin":       func(a at) { r.problem(a, notYet) },
		"verify_interval": func(a at) {
			set(&c.Verify)(r.duration(a, 0))
		},
		"default_trust_mode": func(a at) {
			set(&c.Law.DefaultMode)(r.trustMode(a, "every server without a trust_mode of its own"))
		},
		"quarantine_enabled": func(a at) {
			if on, ok := r.boolean(a); ok {
				c.Law.GateOff = !on
			}
		},
	}
}

// set stores a value that could be read.
func set[T any](to *T) func(T, bool) {
	return func(v T, ok bool) {
		if ok {
			*to = v
		}
	}
}

func (r *reader) top(a at, c *Config) { r.object(a, r.topKeys(c), foreignTop) }

// trustMode reads a trust mode. One that is none of the three is kept as written
// and counts as manual (docs/design/approval.md section 2); writing it is an error,
// which is what strict is for.
func (r *reader) trustMode(a at, whose string) (string, bool) {
	mode, ok := r.text(a)
	if !ok {
		return "", false
	}
	if !slices.Contains([]string{"manual", "scan", "auto"}, mode) {
		what := "\"%s\" is not a trust mode: \"manual\", \"scan\" or \"auto\""
		if !r.strict {
			what += "; it counts as manual for " + whose
		}
		r.warn(a, what, show(mode))
	}
	return mode, true
}

func (r *reader) unannotated(a at, c *Config) {
	word, ok := r.oneOf(a, "read", "write", "destructive")
	if !ok {
		return
	}
	c.Law.Unannotated, _ = contract.ParseClass(word)
}

func (r *reader) face(a at, c *Config) {
	face, ok := r.oneOf(a, "auto", "direct", "search")
	if ok && face != "auto" {
		c.Listen.Face = face
	}
}

// listen reads where agents connect: an address, or an object with more.
func (r *reader) listen(a at, c *Config) {
	if l, ok := a.v.Value.(hujson.Literal); ok && l.Kind() == '"' {
		r.address(a, c)
		return
	}
	var auth at
	r.object(a, r.listenKeys(c, &auth), map[string]string{
		"port": "it is part of address: \"127.0.0.1:7420\"",
		"host": "it is part of address: \"127.0.0.1:7420\"",
	})
	if c.Listen.AuthOff && !Loopback(c.Listen.Addr) {
		r.problem(auth, "\"off\" is accepted only where address is a loopback address, such as 127.0.0.1:7420: anybody who can connect could call every tool")
	}
}

// listenKeys are the keys of listen; auth is where the word for auth stands.
func (r *reader) listenKeys(c *Config, auth *at) keys {
	return keys{
		"address": func(a at) { r.address(a, c) },
		"auth": func(a at) {
			word, ok := r.oneOf(a, "on", "off")
			c.Listen.AuthOff, *auth = ok && word == "off", a
		},
		"origins": func(a at) { set(&c.Listen.Origins)(r.texts(a)) },
		"hosts":   func(a at) { set(&c.Listen.Hosts)(r.texts(a)) },
	}
}

func (r *reader) address(a at, c *Config) {
	text, ok := r.text(a)
	if !ok {
		return
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		r.problem(a, "must be host:port, for example \"127.0.0.1:7420\"")
		return
	}
	if _, err := net.LookupPort("tcp", port); err != nil || strings.Trim(port, "0123456789") != "" {
		r.problem(a, "has no port number from 0 to 65535 after the colon")
		return
	}
	c.Listen.Addr = text
}

// Loopback reports whether an address host:port can be reached from this machine
// only. A name other than localhost is not looked up: it is not.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// securityKeys are the keys of security.
func (r *reader) securityKeys(c *Config) keys {
	return keys{"bundle_path": func(a at) { set(&c.BundlePath)(r.path(a)) }}
}

func (r *reader) dataDir(a at, c *Config) { set(&c.DataDir)(r.path(a)) }

// path reads a path: absolute, below ~/, or relative to the file.
func (r *reader) path(a at) (path string, ok bool) {
	path, ok = r.text(a)
	switch {
	case !ok:
	case path == "":
		r.problem(a, "must not be empty")
		return "", false
	case strings.Contains(path, "${"):
		r.problem(a, "references are not resolved here; write the path")
		return "", false
	case path == "~" || strings.HasPrefix(path, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			r.problem(a, "~ can't be resolved: there is no home directory")
			return "", false
		}
		return filepath.Join(home, strings.TrimPrefix(path, "~")), true
	case filepath.IsAbs(path), runtime.GOOS == "windows" && filepath.VolumeName(path) != "":
		return filepath.Clean(path), true
	}
	return filepath.Join(filepath.Dir(r.file), path), ok
}

func (r *reader) limitKeys(c *Config) keys {
	return keys{
		"message":   func(a at) { set(&c.Limits.Message)(r.bytes(a)) },
		"arguments": func(a at) { set(&c.Limits.Arguments)(r.bytes(a)) },
		"result":    func(a at) { set(&c.Limits.Result)(r.bytes(a)) },
		"sessions":  func(a at) { set(&c.Limits.Sessions)(r.count(a, 1)) },
		"idle":      func(a at) { set(&c.Limits.Idle)(r.duration(a, time.Second)) },
	}
}

// options of a server that are no part of what is run.
func (r *reader) optionKeys(s *Server) keys {
	o := &s.Options
	return keys{
		"trust_mode":     func(a at) { set(&o.TrustMode)(r.trustMode(a, "server "+s.Name)) },
		"on_hold":        func(a at) { set(&o.OnHold)(r.oneOf(a, "block", "keep")) },
		"enabled_tools":  func(a at) { set(&o.EnabledTools)(r.globs(a)) },
		"disabled_tools": func(a at) { set(&o.DisabledTools)(r.globs(a)) },
		"timeout":        func(a at) { set(&o.Timeout)(r.duration(a, time.Second)) },
		"max_concurrent": func(a at) { set(&o.MaxConcurrent)(r.count(a, 1)) },
		"quarantined": func(a at) {
			if yes, ok := r.boolean(a); ok && yes {
				s.Quarantine = approval.AskMore
			} else if ok {
				s.Quarantine = approval.AskLess
			}
		},
	}
}
