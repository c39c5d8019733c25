package upstream

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
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
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

const (
	hidden      = "[hidden]"
	longValue   = 8   // bytes of a value in a header or URL that may be a secret, whatever its name
	leastSecret = 3   // bytes; shorter values would hide half of every text
	maxName     = 100 // bytes of a name that a server gives
	maxWords    = 300 // bytes of a program's last line in an error
)

var (
	reference  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{(?:env|file|keyring):[^}]*\}`) })
	secretName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)token|secret|passw|pwd|cred|auth|cookie|session|private|key|signature`)
	})
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
		for _, ref := range reference().FindAllString(raw, -1) {
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
			switch {
			case secretName().MatchString(name):
				secrets.hide(out[name])
				secrets.hideCredentials(out[name])
			case kind == "header" && !plainHeaders[strings.ToLower(name)] && len(out[name]) >= longValue:
				secrets.hide(out[name])
			}
			secrets.hideInURL(out[name])
		}
		return out
	}
	p.Args = slices.Clone(p.Args)
	for i, raw := range p.Args {
		p.Args[i] = one(raw, fmt.Sprintf("argument %d of the server", i+1))
		secrets.hideInURL(p.Args[i])
		name, value, ok := strings.Cut(p.Args[i], "=") // --token=x, TOKEN=x
		if !ok && i > 0 && strings.HasPrefix(p.Args[i-1], "-") && !strings.HasPrefix(p.Args[i], "-") {
			name, value = p.Args[i-1], p.Args[i] // --token x
		}
		if secretName().MatchString(name) && !strings.ContainsAny(name, "/:\\ ") {
			secrets.hide(value)
			secrets.hideCredentials(value)
		}
	}
	p.URL = one(p.URL, "url of the server")
	p.Env, p.Headers = fields(p.Env, "env"), fields(p.Headers, "header")
	secrets.hideInURL(p.URL)
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
	b := []byte(value)
	forms := []string{
		value, strings.TrimSpace(value), url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString(b),
		base64.StdEncoding.EncodeToString(b), base64.RawStdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b),
	}
	if quoted := string(wire.Quote(value)); len(quoted) > 2 {
		forms = append(forms, quoted[1:len(quoted)-1])
	}
	for _, v := range append(forms, strings.Split(value, "\n")...) {
		if v = strings.TrimRight(v, "\r"); len(v) >= leastSecret && !slices.Contains(s.values, v) {
			s.values = append(s.values, v)
		}
	}
	slices.SortStableFunc(s.values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
}

// plainHeaders say nothing that is secret.
var plainHeaders = map[string]bool{"accept": true, "accept-language": true, "content-type": true, "host": true, "origin": true, "user-agent": true}

// hideCredentials hides what stands behind the scheme of an Authorization header,
// and user and password of Basic.
func (s *scrubber) hideCredentials(value string) {
	scheme, token, ok := strings.Cut(strings.TrimSpace(value), " ")
	if !ok {
		return
	}
	s.hide(strings.TrimSpace(token))
	if strings.EqualFold(scheme, "basic") {
		if pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(token)); err == nil {
			_, password, _ := strings.Cut(string(pair), ":")
			s.hide(string(pair))
			s.hide(password)
		}
	}
}

// hideInURL hides what of a URL may be a secret: the password, a user without one,
// what stands behind a name in the query, and parts of path and fragment that look
// like a key.
func (s *scrubber) hideInURL(text string) {
	if !strings.Contains(text, "://") {
		return
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return
	}
	if u.User != nil {
		password, has := u.User.Password()
		s.hide(password)
		if !has {
			s.hide(u.User.Username())
		}
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if secretName().MatchString(name) || len(v) >= longValue {
				s.hide(v)
			}
		}
		if u.Query().Get(name) == "" && keyLike(name) { // ?key alone
			s.hide(name)
		}
	}
	for _, part := range append(strings.Split(u.Path, "/"), u.Fragment) {
		if keyLike(part) {
			s.hide(part)
		}
	}
}

// keyLike reports whether a word looks more like a key than like a name: long, and
// letters and digits mixed.
func keyLike(word string) bool {
	return len(word) >= 2*longValue && strings.ContainsAny(word, "0123456789") && strings.ContainsFunc(word, unicode.IsLetter)
}

// oneLine is oneLine of foreign text, without secrets. It looks twice: a secret may
// become one only when what is invisible in it is gone.
func (s *scrubber) oneLine(text string, limit int) string {
	return strings.TrimSpace(s.visible(text, limit))
}

func (s *scrubber) visible(text string, limit int) string {
	return visible(s.clean(visible(s.clean(text), len(text)+len(text)*len(hidden))), limit)
}

// withoutEnd takes the beginning of a secret from the end of a text that was cut.
func (s *scrubber) withoutEnd(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := 0
	for _, v := range s.values {
		for n := min(len(v)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, v[:n]) {
				most = n
				break
			}
		}
	}
	return text[:len(text)-most]
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

var escapeSequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)
})

// oneLine makes foreign text fit for a sentence: no control or invisible
// characters, no colours, at most limit bytes.
func oneLine(text string, limit int) string { return strings.TrimSpace(visible(text, limit)) }

// visible is oneLine that keeps space at the start.
func visible(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	if strings.Contains(text, "\x1b") {
		text = escapeSequence().ReplaceAllString(text, "")
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
