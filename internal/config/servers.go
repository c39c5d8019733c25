package config

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tailscale/hujson"

	"github.com/holdfast-mcp/holdfast/core/approval"
)

// foreignServer are keys that other clients have in an entry of mcpServers.
var foreignServer = map[string]string{
	"disabled":      "remove it and run `holdfast server disable` with the server's name",
	"enabled":       "remove it and run `holdfast server enable` or `disable` with the server's name",
	"serverUrl":     "it is called url here",
	"server_url":    "it is called url here",
	"httpUrl":       "it is called url here",
	"transport":     "it is called type here",
	"transportType": "it is called type here",
	"alwaysAllow":   "no tool is allowed in advance; a person approves its contract",
	"autoApprove":   "no tool is allowed in advance; a person approves its contract",
	"trust":         "use trust_mode: \"manual\", \"scan\" or \"auto\"",
	"envFile":       "write the names in env, with ${file:PATH} or ${env:NAME} as values",
	"includeTools":  "it is called enabled_tools here",
	"excludeTools":  "it is called disabled_tools here",
	"requestInit":   "write headers beside url",
	"gallery":       "remove it",
	"name":          "the name is the key of the entry",
}

var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`) })

// MapName gives the server name that a name of another client becomes: lower case,
// "_", "." and space as "-", cut at 32. ok is false when that is no server name
// either, and another must be chosen.
func MapName(name string) (mapped string, ok bool) {
	mapped = strings.NewReplacer("_", "-", ".", "-", " ", "-").Replace(strings.ToLower(name))
	if len(mapped) > 32 {
		mapped = mapped[:32]
	}
	return mapped, serverName().MatchString(mapped)
}

func (r *reader) servers(a at, c *Config) {
	list, _ := r.members(a)
	for _, e := range list {
		if !serverName().MatchString(e.name) {
			why := "is no server name: 1 to 32 of a-z, 0-9 and -, not starting with -"
			if near, ok := MapName(e.name); ok {
				why += "; write " + near
			}
			r.problemAt(e.nameOffset, e.key, why)
		}
		if s, ok := r.server(e); ok {
			c.Servers = append(c.Servers, s)
		}
	}
}

// server reads one entry of mcpServers.
func (r *reader) server(e entry) (Server, bool) {
	s := Server{Name: e.name, Source: r.source(e.nameOffset)}
	known := r.optionKeys(&s)
	var written at
	maps.Copy(known, r.programKeys(&s.Program, &written))
	before := len(r.problems)
	r.object(e.at, known, foreignServer)
	if len(r.problems) == before {
		r.whatRuns(e.at, &s.Program, written)
	}
	return s, len(r.problems) == before
}

// programKeys are the keys of what is run.
func (r *reader) programKeys(p *approval.Program, written *at) keys {
	return keys{
		"type": func(a at) {
			set(&p.Type)(r.text(a))
			*written = a
		},
		"command": func(a at) { set(&p.Command)(r.plainText(a)) },
		"builtin": func(a at) {
			if word, ok := r.oneOf(a, builtins...); ok {
				p.Type, p.Command, *written = builtinType, word, a
			}
		},
		"args": func(a at) { set(&p.Args)(r.references(a)) },
		"cwd": func(a at) {
			if set(&p.Cwd)(r.plainText(a)); p.Cwd != "" && !filepath.IsAbs(p.Cwd) {
				r.problem(a, "must be an absolute path")
			}
		},
		"url": func(a at) {
			if text, ok := r.text(a); ok && r.reference(a, text) {
				p.URL = text
				r.url(a, text)
			}
		},
		"env":     func(a at) { p.Env = r.pairs(a, r.envName) },
		"headers": func(a at) { p.Headers = r.pairs(a, r.headerName) },
		"isolation": func(a at) {
			if word, ok := r.oneOf(a, "none"); ok && word != "none" {
				p.Isolation = word
			}
		},
	}
}

// whatRuns settles the type and checks that the keys belong to it. "streamable-http"
// and its spellings mean http.
func (r *reader) whatRuns(a at, p *approval.Program, written at) {
	if members, _ := r.members(a); slices.ContainsFunc(members, func(e entry) bool { return e.name == "builtin" }) {
		r.builtin(a, p, members)
		return
	}
	switch strings.ToLower(p.Type) {
	case "":
		switch {
		case p.Command != "" && p.URL != "":
			r.problem(a, "has both command and url; it is one or the other")
		case p.Command != "":
			p.Type = "stdio"
		case p.URL != "":
			p.Type = "http"
		default:
			r.problem(a, "has neither command (a program to run) nor url (a server to connect to)")
		}
	case "stdio", "local":
		p.Type = "stdio"
	case "http", "streamable-http", "streamablehttp", "streamable_http", "remote":
		p.Type = "http"
	case "sse":
		r.problem(written, "\"sse\" is the transport of MCP 2024-11-05, which is not supported; ask for the server's streamable HTTP address and write \"http\"")
		return
	case "ws", "websocket":
		r.problem(written, "web sockets are not supported; write \"stdio\" or \"http\"")
		return
	default:
		r.problem(written, "\"%s\" is not one of \"stdio\", \"http\"", show(p.Type))
		return
	}
	switch p.Type {
	case "stdio":
		r.mustHave(a, "stdio", "command", p.Command != "")
		r.mustNotHave(a, "stdio", "url", p.URL != "")
		r.mustNotHave(a, "stdio", "headers", len(p.Headers) > 0)
	case "http":
		r.mustHave(a, "http", "url", p.URL != "")
		r.mustNotHave(a, "http", "command", p.Command != "")
		r.mustNotHave(a, "http", "args", len(p.Args) > 0)
		r.mustNotHave(a, "http", "cwd", p.Cwd != "")
		r.mustNotHave(a, "http", "env", len(p.Env) > 0)
	}
}

// A server that is part of this program is named by its key, and needs no type.
const builtinType = "builtin"

var builtins = []string{"workspace"}

// builtin checks the keys beside one of them.
func (r *reader) builtin(a at, p *approval.Program, members []entry) {
	for _, e := range members {
		switch e.name {
		case "type", "command", "url", "headers", "env", "isolation":
			r.problemAt(e.nameOffset, e.key, "does not belong to a builtin server, which takes args and cwd")
		}
	}
	p.Type = builtinType
}

func (r *reader) mustHave(a at, kind, key string, has bool) {
	if !has {
		r.problem(a, "is of type %s and has no %s", kind, key)
	}
}

func (r *reader) mustNotHave(a at, kind, key string, has bool) {
	if has {
		r.problem(a, "is of type %s, which has no %s", kind, key)
	}
}

// plainText reads a string in which nothing is resolved.
func (r *reader) plainText(a at) (string, bool) {
	text, ok := r.text(a)
	switch {
	case !ok:
		return "", false
	case text == "":
		r.problem(a, "must not be empty")
		return "", false
	case strings.Contains(text, "${"):
		r.problem(a, "references are resolved in args, env, headers and url only; write it out")
		return "", false
	case strings.ContainsRune(text, 0):
		r.problem(a, "has a NUL character")
		return "", false
	}
	return text, true
}

// references reads a list of strings that may hold references.
func (r *reader) references(a at) ([]string, bool) {
	list, ok := r.texts(a)
	if !ok {
		return nil, false
	}
	elements := a.v.Value.(*hujson.Array).Elements
	for n, text := range list {
		ok = r.reference(at{key: fmt.Sprintf("%s[%d]", a.key, n), v: &elements[n]}, text) && ok
	}
	return list, ok
}

// reference checks the references of a string without resolving them.
func (r *reader) reference(a at, text string) bool {
	if strings.ContainsRune(text, 0) {
		r.problem(a, "has a NUL character")
		return false
	}
	if err := checkReferences(text); err != nil {
		r.problem(a, "%s", err)
		return false
	}
	return true
}

// pairs reads a map of strings that may hold references.
func (r *reader) pairs(a at, name func(entry) bool) map[string]string {
	list, ok := r.members(a)
	if !ok {
		return nil
	}
	var pairs map[string]string // nil when empty: no env and an empty env are one program
	for _, e := range list {
		if text, ok := r.text(e.at); name(e) && ok && r.reference(e.at, text) {
			if pairs == nil {
				pairs = make(map[string]string, len(list))
			}
			pairs[e.name] = text
		}
	}
	return pairs
}

func (r *reader) envName(e entry) bool {
	if e.name == "" || strings.ContainsAny(e.name, "=\x00") {
		r.problemAt(e.nameOffset, e.key, "is no name of an environment variable")
		return false
	}
	return true
}

var header = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") }) // a token of RFC 9110, section 5.6.2

// ours are headers that the transport itself sets.
var ours = map[string]bool{
	"content-type": true, "content-length": true, "accept": true, "host": true, "connection": true, "transfer-encoding": true,
	"mcp-session-id": true, "mcp-protocol-version": true, "last-event-id": true,
}

func (r *reader) headerName(e entry) bool {
	if !header().MatchString(e.name) {
		r.problemAt(e.nameOffset, e.key, "is no name of an HTTP header")
		return false
	}
	if ours[strings.ToLower(e.name)] {
		r.problemAt(e.nameOffset, e.key, "is set by the transport itself; remove it")
		return false
	}
	return true
}

// url checks what can be seen of an address before its references are resolved.
func (r *reader) url(a at, text string) {
	if strings.HasPrefix(text, "${") {
		return
	}
	u, err := url.Parse(withoutReferences(text))
	switch {
	case err != nil || u.Host == "":
		r.problem(a, "is no address; write for example \"https://mcp.example.com/mcp\"")
	case u.Scheme != "http" && u.Scheme != "https":
		r.problem(a, "must begin with http:// or https://")
	case u.User != nil:
		r.problem(a, "has a name or password before the host; write an Authorization header with a reference such as ${env:NAME}")
	case u.Fragment != "":
		r.problem(a, "has a fragment (#...), which is never sent")
	}
}

// globs reads the names of tools, in which * stands for any text and ? for one
// character; every other character stands for itself.
func (r *reader) globs(a at) ([]string, bool) {
	list, ok := r.texts(a)
	for n, glob := range list {
		if glob == "" {
			r.problem(at{key: fmt.Sprintf("%s[%d]", a.key, n), v: &a.v.Value.(*hujson.Array).Elements[n]}, "must not be empty")
			return nil, false
		}
	}
	return list, ok
}
