package upstream

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

const (
	hidden      = "[hidden]"
	leastSecret = 3   // bytes; shorter values would hide half of every text
	maxName     = 100 // bytes of a name that a server gives
	maxWords    = 300 // bytes of a program's last line in an error
)

var (
	reference  = regexp.MustCompile(`\$\{(?:env|file|keyring):[^}]*\}`)
	secretName = regexp.MustCompile(`(?i)token|secret|passw|pwd|cred|auth|cookie|session|private|key|signature`)
)

// expand gives the program with its references resolved in env, args, headers and
// url, and has the values hidden from all that a program says.
func expand(p approval.Program, resolve func(string) (string, error), secrets *scrubber) (approval.Program, error) {
	var failed error
	one := func(raw, what string) string {
		if failed != nil {
			return ""
		}
		value, err := resolve(raw)
		if err != nil {
			failed = fault.Wrap(err, fault.BadInput, fmt.Sprintf("the %s can't be filled in: %v", what, err), fault.HintOf(err))
			return ""
		}
		for _, ref := range reference.FindAllString(raw, -1) {
			if v, err := resolve(ref); err == nil {
				secrets.hide(v)
			}
		}
		return value
	}
	fields := func(m map[string]string, kind string) map[string]string {
		out := make(map[string]string, len(m))
		for name, raw := range m {
			out[name] = one(raw, fmt.Sprintf("%s %s of the server", kind, name))
			if secretName.MatchString(name) {
				secrets.hide(out[name])
				_, token, _ := strings.Cut(out[name], " ") // Bearer ...
				secrets.hide(token)
			}
		}
		return out
	}
	p.Args = slices.Clone(p.Args)
	for i, raw := range p.Args {
		p.Args[i] = one(raw, fmt.Sprintf("argument %d of the server", i+1))
	}
	p.URL = one(p.URL, "url of the server")
	p.Env, p.Headers = fields(p.Env, "env"), fields(p.Headers, "header")
	if u, err := url.Parse(p.URL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		secrets.hide(password)
	}
	return p, failed
}

func headers(m map[string]string) http.Header {
	h := http.Header{}
	for name, value := range m {
		h.Set(name, value)
	}
	return h
}

// scrubber hides values that must not be seen. Safe for concurrent use.
type scrubber struct {
	mu     sync.Mutex
	values []string // longest first, so that a part does not spoil the whole
}

func (s *scrubber) hide(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	forms := []string{value, strings.TrimSpace(value), url.QueryEscape(value), url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(value))}
	for _, v := range append(forms, strings.Split(value, "\n")...) {
		if v = strings.TrimRight(v, "\r"); len(v) >= leastSecret && !slices.Contains(s.values, v) {
			s.values = append(s.values, v)
		}
	}
	slices.SortStableFunc(s.values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
}

// longest is the length of the longest value.
func (s *scrubber) longest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.values) == 0 {
		return 0
	}
	return len(s.values[0])
}

// clean gives text without the values, and without what looks like a secret.
func (s *scrubber) clean(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.values {
		text = strings.ReplaceAll(text, v, hidden)
	}
	return withoutTokens(text)
}

// tokenPrefixes are how tokens of well-known services begin.
var tokenPrefixes = []string{
	"sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "github_pat_", "glpat-", "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-",
	"npm_", "pypi-", "AKIA", "ASIA", "AIza", "eyJ", "holdfast_",
}

// withoutTokens hides words that look like tokens: by their prefix, or because they
// follow "Bearer" or "Basic". Log lines go through it, so it is quick.
func withoutTokens(text string) string {
	var out []byte
	done, follows := 0, false
	for at := 0; at < len(text); {
		start := at
		for at < len(text) && wordByte[text[at]] {
			at++
		}
		if at == start {
			at++
			continue
		}
		word := text[start:at]
		looks := len(word) >= 12 && slices.ContainsFunc(tokenPrefixes, func(p string) bool { return strings.HasPrefix(word, p) })
		if looks || follows && len(word) >= 8 {
			out = append(append(out, text[done:start]...), hidden...)
			done = at
		}
		follows = strings.EqualFold(word, "bearer") || strings.EqualFold(word, "basic")
	}
	if done == 0 {
		return text
	}
	return string(append(out, text[done:]...))
}

// wordByte is what tokens consist of.
var wordByte = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~+/") {
		set[c] = true
	}
	return set
}()

var escapeSequence = regexp.MustCompile(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)

// oneLine makes foreign text fit for a sentence: no control or invisible
// characters, no colours, at most limit bytes.
func oneLine(text string, limit int) string { return strings.TrimSpace(visible(text, limit)) }

// visible is oneLine that keeps space at the start.
func visible(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	if strings.Contains(text, "\x1b") {
		text = escapeSequence.ReplaceAllString(text, "")
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, text)
	text = strings.TrimRight(text, " ")
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
