package dispatch

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// What clients and model providers take as a tool name: ^[a-zA-Z0-9_-]{1,64}$.
const (
	maxName     = 64
	aliasMark   = "--"
	aliasDigits = 12
)

// fullName names a thing of a server in one way: server names have no underscore.
func fullName(server, name string) string { return server + "__" + name }

// directName is the name in the direct and search faces, ownName that in the
// server's own face: the plain name where it fits, else an alias. Both depend on
// server and name alone, so that they are the same on every machine.
//
// A plain name that has the shape of an alias is given an alias itself. So no
// alias is ever the plain name of another thing, whatever a server lists.
func directName(server, name string) string {
	full := fullName(server, name)
	if fits(full) && !looksAliased(name) {
		return full
	}
	return alias(server+"__", name, full)
}

func ownName(server, name string) string {
	if fits(name) && !looksAliased(name) {
		return name
	}
	return alias("", name, fullName(server, name))
}

// alias is prefix, as much of the name as fits, and a digest of the full name.
func alias(prefix, name, full string) string {
	sum := sha256.Sum256([]byte(full))
	tail := aliasMark + hex.EncodeToString(sum[:])[:aliasDigits]
	room := maxName - len(prefix) - len(tail)
	var b strings.Builder
	b.WriteString(prefix)
	for _, r := range name {
		if room == 0 {
			break
		}
		if !plain(r) {
			r = '_'
		}
		b.WriteRune(r)
		room--
	}
	b.WriteString(tail)
	return b.String()
}

func fits(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for _, r := range name {
		if !plain(r) {
			return false
		}
	}
	return true
}

func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// looksAliased reports whether name ends as an alias does: two hyphens and twelve
// lower-case hexadecimal digits.
func looksAliased(name string) bool {
	cut := len(name) - aliasDigits
	if cut < 0 || !strings.HasSuffix(name[:cut], aliasMark) {
		return false
	}
	return strings.Trim(name[cut:], "0123456789abcdef") == ""
}

// matchAny reports whether a pattern names s.
func matchAny(patterns []string, s string) bool {
	for _, p := range patterns {
		if match(p, s) {
			return true
		}
	}
	return false
}

// match reports whether the whole of s is named by pattern: itself, or a glob in
// which '*' stands for any text, also none, and '?' for one character. Every
// other character stands for itself; there is no pattern that is an error.
// It takes at most len(pattern) × len(s) steps.
func match(pattern, s string) bool {
	if pattern == s {
		return true
	}
	p, t := []rune(pattern), []rune(s)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
