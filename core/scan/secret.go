package scan

import (
	"slices"
	"strings"
)

// maxSecret is how many bytes of a secret are looked at.
const maxSecret = 2048

// checkSecrets finds live credentials: secret.embedded.
func checkSecrets(r *reading) {
	for i := range r.texts {
		t := &r.texts[i]
		if len(t.s) < 8 {
			continue
		}
		r.spend(2 * len(t.s))
		for _, s := range secretsIn(t.s, r.spend) {
			r.hit(Soft, i, s.start, s.end)
		}
		if t.field == fieldValue && r.valueOfSecret(t) {
			r.hit(Soft, i, 0, len(t.s))
		}
	}
}

// valueOfSecret reports whether a default or one of the allowed values of a property
// that is named like a secret looks drawn.
func (r *reading) valueOfSecret(t *text) bool {
	if len(t.s) < leastAssigned || len(t.s) > 256 || strings.IndexByte(t.s, ' ') >= 0 || placeholder(t.s) {
		return false
	}
	at := t.place
	for at >= 0 && (r.places[at].index >= 0 || slices.Contains(valueKeywords, r.places[at].name)) {
		r.spend(1)
		at = r.places[at].up
	}
	return at >= 0 && endsInSecret(r.places[at].name) && random(t.s, false)
}

// valueKeywords are the keywords under which the values of a property stand.
var valueKeywords = []string{"default", "const", "enum", "examples", "example"}

// leastAssigned is how long the value of something named like a secret has to be.
const leastAssigned = 12

// issued are tokens that their issuer marks by a prefix: what follows it, and how
// long that has to be at least.
var issued = []struct {
	prefix string
	of     func(byte) bool
	least  int
}{
	{"AKIA", upperDigit, 16},
	{"ASIA", upperDigit, 16},
	{"AIza", tokenByte, 30},
	{"AGE-SECRET-KEY-1", upperDigit, 40},
	{"ghp_", wordByte, 30},
	{"gho_", wordByte, 30},
	{"ghu_", wordByte, 30},
	{"ghs_", wordByte, 30},
	{"ghr_", wordByte, 30},
	{"github_pat_", wordByte, 30},
	{"glpat-", tokenByte, 18},
	{"gldt-", tokenByte, 18},
	{"xoxb-", tokenByte, 20},
	{"xoxp-", tokenByte, 20},
	{"xoxa-", tokenByte, 20},
	{"xoxe", tokenByte, 24},
	{"xoxs-", tokenByte, 20},
	{"xapp-", tokenByte, 20},
	{"sk-", tokenByte, 20},
	{"sk_live_", wordByte, 16},
	{"rk_live_", wordByte, 16},
	{"sk_test_", wordByte, 16},
	{"whsec_", wordByte, 20},
	{"pk_live_", wordByte, 20},
	{"npm_", wordByte, 30},
	{"pypi-", tokenByte, 40},
	{"dop_v1_", wordByte, 40},
	{"hf_", wordByte, 28},
	{"SG.", dotted, 40},
	{"eyJ", dotted, 40},
	{"ya29.", tokenByte, 30},
	{"shpat_", wordByte, 28},
	{"shpss_", wordByte, 28},
	{"lin_api_", wordByte, 30},
	{"ntn_", wordByte, 36},
	{"secret_", wordByte, 36},
	{"tvly-", tokenByte, 20},
	{"fc-", wordByte, 28},
	{"r8_", wordByte, 30},
	{"gsk_", wordByte, 30},
	{"xai-", wordByte, 30},
	{"pplx-", wordByte, 30},
	{"figd_", tokenByte, 30},
	{"dckr_pat_", tokenByte, 20},
	{"hvs.", tokenByte, 24},
	{"AAAA", tokenByte, 120},
	{"EAAC", wordByte, 60},
	{"sbp_", wordByte, 36},
	{"rubygems_", wordByte, 40},
	{"PMAK-", tokenByte, 40},
	{"NRAK-", upperDigit, 24},
	{"key-", hexByte, 32},
	{"ATATT3", tokenByte, 40},
	{"GOCSPX-", tokenByte, 24},
	{"dapi", hexByte, 32},
	{"nfp_", wordByte, 32},
	{"sntrys_", tokenByte, 40},
	{"glsa_", wordByte, 32},
	{"xkeysib-", tokenByte, 40},
	{"sq0atp-", tokenByte, 20},
	{"sq0csp-", tokenByte, 32},
	{"pscale_tkn_", tokenByte, 32},
	{"pat-na1-", tokenByte, 32},
	{"LTAI", wordByte, 16},
	{"AC", hexByte, 32},
}

// issuedBy are the prefixes by their first byte.
var issuedBy = buildIssuedBy()

func buildIssuedBy() (t [256][]int) {
	for i, p := range issued {
		t[p.prefix[0]] = append(t[p.prefix[0]], i)
	}
	return t
}

// secretMarks are the bytes at which a secret, or what leads to one, can begin. Of
// the prefix of an issuer its second byte tells more: six bits of it, by the first.
var secretMarks = buildSecretMarks()

func buildSecretMarks() (t [256]uint64) {
	for _, p := range issued {
		t[p.prefix[0]] |= 1 << (p.prefix[1] & 63)
	}
	for _, c := range ":= -" {
		t[c] = 1<<64 - 1
	}
	return t
}

func upperDigit(c byte) bool { return 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' }
func hexByte(c byte) bool    { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }
func wordByte(c byte) bool   { return asciiLetter(c) || '0' <= c && c <= '9' || c == '_' }
func tokenByte(c byte) bool  { return wordByte(c) || c == '-' }
func dotted(c byte) bool     { return tokenByte(c) || c == '.' }

// secretsIn gives the credentials in s from left to right, without overlap. spend,
// if there is one, is told the steps.
func secretsIn(s string, spend func(int)) []span {
	var found []span
	add := func(start, end int) {
		if n := len(found); n == 0 || found[n-1].end <= start {
			found = append(found, span{start, end})
		} else {
			found[n-1].end = max(found[n-1].end, end)
		}
	}
	for i := 0; i < len(s)-1; i++ {
		c := s[i]
		if secretMarks[c]>>(s[i+1]&63)&1 == 0 {
			continue
		}
		switch {
		case c == ':' || c == '=' || c == ' ':
			if start, end := assigned(s, i); end > 0 {
				add(start, end)
			}
			if c == ':' && strings.HasPrefix(s[i:], "://") {
				if start, end := loginIn(s, i+3); end > 0 {
					add(start, end)
				}
			}
		case c == '-' && strings.HasPrefix(s[i:], "-----BEGIN "):
			if end := pemEnd(s, i); end > 0 {
				add(i, end)
				i = end - 1
			}
		case issuedBy[c] != nil && (i == 0 || !wordByte(s[i-1])):
			end, live := issuedEnd(s, i)
			if live {
				add(i, end)
			}
			if end > i {
				i = end - 1
			}
		}
	}
	if spend != nil {
		spend(len(found))
	}
	return found
}

// issuedEnd is where a token with the prefix of an issuer ends, and whether it is
// more than documentation.
func issuedEnd(s string, i int) (end int, live bool) {
	for _, k := range issuedBy[s[i]] {
		p := issued[k]
		if !strings.HasPrefix(s[i:], p.prefix) {
			continue
		}
		end = i + len(p.prefix)
		for end < len(s) && end-i < maxSecret && p.of(s[end]) {
			end++
		}
		if end-i-len(p.prefix) >= p.least {
			return end, !placeholder(s[i+len(p.prefix) : end])
		}
	}
	return 0, false
}

// pemEnd is where a private key that begins at i ends, when there is a key in it.
func pemEnd(s string, i int) int {
	head := strings.Index(s[i+11:min(len(s), i+64)], "PRIVATE KEY-----")
	if head < 0 {
		return 0
	}
	from := i + 11 + head + len("PRIVATE KEY-----")
	end := from
	for end < len(s) && end-from < 2*maxSecret && (tokenByte(s[end]) || strings.IndexByte("+/=\n\r \\", s[end]) >= 0) {
		end++
	}
	if body := s[from:end]; len(body) < 32 || placeholder(body) {
		return 0
	}
	return end
}

// names that a value is assigned to when it is a secret, in lower case.
var secretNames = []string{
	"password", "passwd", "pwd", "secret", "token", "apikey", "api_key", "api-key", "access_key", "accesskey", "secret_key", "client_secret", "private_key", "auth", "authorization", "bearer", "basic", "pass", "account_key", "accountkey", "sharedaccesskey", "credential",
}

// assigned gives the value behind the sign at i, when a name of a secret stands
// before it and the value looks like one.
func assigned(s string, i int) (start, end int) {
	at := i
	for at > 0 && i-at < 3 && (s[at-1] == ' ' || s[at-1] == '"' || s[at-1] == '\'' || s[at-1] == '`') {
		at--
	}
	if !endsInSecret(s[max(0, at-longestName):at]) {
		return 0, 0
	}
	start = i + 1
	for start < len(s) && start-i < 6 && strings.IndexByte(" \"'`", s[start]) >= 0 {
		start++
	}
	for _, scheme := range []string{"Bearer ", "Basic ", "bearer ", "basic ", "is "} {
		if strings.HasPrefix(s[start:], scheme) {
			start += len(scheme)
		}
	}
	end = start
	for end < len(s) && end-start < maxSecret && s[end] > ' ' && s[end] < 0x7F && strings.IndexByte("\"'`<>,;()[]{}", s[end]) < 0 {
		end++
	}
	for end > start && strings.IndexByte(".,;:!?", s[end-1]) >= 0 {
		end--
	}
	least, strict := leastAssigned, s[i] == ' '
	if strict && at >= len("password") && strings.EqualFold(s[at-len("password"):at], "password") {
		least, strict = 8, !mixed(s[start:end]) // "with the password ..."
	} else if strict {
		least = 16
	}
	if v := s[start:end]; len(v) < least || placeholder(v) || !random(v, strict) {
		return 0, 0
	}
	return start, end
}

// longestName is how many bytes of a name are compared.
const longestName = 20

// secretEndings are the names of secrets by their last letter, and which letters
// stand before it, one bit each.
var secretEndings = buildSecretEndings()

type ending struct {
	names  []string
	before uint32
}

func buildSecretEndings() (t [32]ending) {
	for _, n := range secretNames {
		e := &t[n[len(n)-1]&31]
		e.names, e.before = append(e.names, n), e.before|1<<(n[len(n)-2]&31)
	}
	return t
}

// endsInSecret reports whether the name at the end of s is one of a secret, or ends
// in one.
func endsInSecret(s string) bool {
	if len(s) < 3 || !asciiLetter(s[len(s)-1]) {
		return false
	}
	e := secretEndings[s[len(s)-1]&31]
	if e.before>>(s[len(s)-2]&31)&1 == 0 {
		return false
	}
	for _, n := range e.names {
		if len(s) >= len(n) && foldsTo(s[len(s)-len(n):], n) {
			return true
		}
	}
	return false
}

// random reports whether v looks drawn rather than written: letters of both cases
// or letters and digits, changing often.
func random(v string, strict bool) bool {
	var lowers, uppers, digits, others, changes int
	last := -1
	for i := range len(v) {
		kind := 3
		switch c := v[i]; {
		case 'a' <= c && c <= 'z':
			kind, lowers = 0, lowers+1
		case 'A' <= c && c <= 'Z':
			kind, uppers = 1, uppers+1
		case '0' <= c && c <= '9':
			kind, digits = 2, digits+1
		default:
			others++
		}
		if kind != last && last >= 0 {
			changes++
		}
		last = kind
	}
	if strings.Contains(v, "/") && others > 1 && digits < 4 {
		return false // a path
	}
	if strict {
		return digits >= 4 && (lowers+uppers) >= 6 && changes >= 5
	}
	return digits >= 2 && lowers+uppers >= 2 && changes >= 3 || digits >= 1 && uppers >= 2 && lowers >= 2
}

// mixed reports whether v has letters of both cases and digits.
func mixed(v string) bool {
	return strings.ContainsAny(v, "0123456789") && strings.ToLower(v) != v && strings.ToUpper(v) != v
}

// loginIn gives the password of a link that begins behind its "://".
func loginIn(s string, i int) (start, end int) {
	colon := -1
	for k := i; k < len(s) && k-i < 256; k++ {
		switch c := s[k]; {
		case c == ':' && colon < 0:
			colon = k
		case c == '@':
			if colon > 0 && k-colon > 6 && !placeholder(s[colon+1:k]) && hasDigitOrSign(s[colon+1:k]) {
				return colon + 1, k
			}
			return 0, 0
		case c <= ' ' || c == '/' || c == '<' || c == '{' || c == '"' || c >= 0x7F:
			return 0, 0
		}
	}
	return 0, 0
}

func hasDigitOrSign(s string) bool {
	return strings.ContainsAny(s, "0123456789!$%^&*+=~")
}

// placeholders are words by which documentation marks a value as no real one.
var placeholders = []string{
	"example", "your", "xxx", "placeholder", "changeme", "change_me", "change-me", "dummy", "sample", "redacted", "insert", "replace", "foobar", "fake", "testtest", "***", "...", "<", "{", "$", "todo", "abcdef", "123456", "000000", "my-", "my_", "notreal", "not-real", "deadbeef", "aaaa", "1111", "secret-key", "hunter2",
	"masked", "hidden", "passw", "some-", "some_", "test-", "test_", "demo",
}

// sampleJWT is the head of the subject that documentation of tokens shows.
const sampleJWT = "eyJzdWIiOiIxMjM0NTY3ODkwI"

// placeholder reports whether v is documentation rather than a secret.
func placeholder(v string) bool {
	if strings.Contains(v, sampleJWT) {
		return true
	}
	short := strings.ToLower(v[:min(len(v), 256)])
	for _, p := range placeholders {
		if strings.Contains(short, p) {
			return true
		}
	}
	seen := [256]bool{}
	distinct := 0
	for i := range len(short) {
		if !seen[short[i]] {
			seen[short[i]] = true
			distinct++
		}
	}
	return distinct < 6
}
