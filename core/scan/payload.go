package scan

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Shortest encoded runs that are looked into, in bytes of the run.
const (
	leastBase64 = 16
	leastHex    = 20
	leastCodes  = 8 // numbers or escapes in a row
)

// mostDecoded is how many bytes of one run are decoded.
const mostDecoded = 1 << 13

// checkPayload decodes what is encoded and looks for commands and instructions in
// it: payload.decoded.
func checkPayload(r *reading) {
	for i := range r.texts {
		t := &r.texts[i]
		if len(t.s) < leastBase64 {
			continue
		}
		r.spend(4 * len(t.s))
		r.runsIn(i, t.s)
		if t.flags&hasPercent != 0 || t.flags&hasBackslash != 0 || strings.Contains(t.s, "&#") {
			r.escapedIn(i, t.s)
		}
		if t.flags&hasDigit != 0 {
			r.codesIn(i, t.s)
		}
		if r.seen.any(r.scanner.words.named.rotated) {
			r.rotatedIn(i)
		}
		if r.seen.any(r.scanner.words.named.reversed) {
			r.reversedIn(i)
		}
	}
}

// What a digit of base64 tells about the run that it stands in.
const (
	smallDigit byte = 1 << iota
	capitalDigit
	numberDigit // or + or /
	otherDigit  // - and _ of the alphabet for links
)

var base64Digits = buildBase64Digits()

func buildBase64Digits() (t [256]byte) {
	for i := range 26 {
		t['a'+i], t['A'+i] = smallDigit, capitalDigit
	}
	for _, c := range "0123456789+/" {
		t[c] = numberDigit
	}
	t['-'], t['_'] = otherDigit, otherDigit
	return t
}

func base64Byte(c byte) bool { return base64Digits[c] != 0 }

// runsIn decodes runs of base64, base32 and hexadecimal digits. Runs that only a
// little white space or punctuation parts are also decoded together, those that look
// encoded rather than written: with a number or a sign, or a capital behind a small
// letter.
func (r *reading) runsIn(text int, s string) {
	var parts []byte
	from, to, count := 0, 0, 0
	for i := 0; i < len(s); {
		before := base64Digits[s[i]]
		if before == 0 {
			i++
			continue
		}
		start, drawn := i, before&numberDigit
		for i++; i < len(s); i++ {
			d := base64Digits[s[i]]
			if d == 0 {
				break
			}
			drawn |= d&numberDigit | d&(before<<1)&capitalDigit
			before = d
		}
		run := s[start:i]
		for i < len(s) && s[i] == '=' {
			i++
		}
		if len(run) >= leastBase64 {
			r.run(text, start, i, run)
		}
		if len(run) >= leastPart && drawn != 0 && len(parts) < mostDecoded {
			if start > to+4 {
				parts, from, count = parts[:0], start, 0
			}
			parts, to, count = append(parts, run...), i, count+1
			continue
		}
		r.parts(text, from, to, count, parts)
		parts, count = parts[:0], 0
	}
	r.parts(text, from, to, count, parts)
}

// leastPart is the shortest run that is put together with its neighbours.
const leastPart = 6

func (r *reading) parts(text, from, to, count int, parts []byte) {
	if count > 1 && len(parts) >= leastBase64 {
		r.run(text, from, to, string(parts))
	}
}

// run decodes one run in every way it can be meant.
func (r *reading) run(text, start, end int, run string) {
	switch {
	case len(run) >= leastHex && allHex(run):
		r.decoded(text, start, end, "hex", fromHex(run[:min(len(run), 2*mostDecoded)]))
	case len(run) > 2 && run[0] == '0' && run[1]|0x20 == 'x' && allHex(run[2:]):
		r.decoded(text, start, end, "hex", fromHex(run[2:min(len(run), 2*mostDecoded)]))
	}
	run = run[:min(len(run), mostDecoded)]
	plain := fromBase64(run)
	for range 2 { // encoded again
		inner := strings.TrimRight(plain, "=\n")
		if len(inner) < leastBase64 || !allBase64(inner) {
			break
		}
		plain = fromBase64(inner)
	}
	r.decoded(text, start, end, "base64", plain)
	if upperOnly(run) {
		r.decoded(text, start, end, "base32", fromBase32(run))
	}
	if strings.IndexByte(run, '/') < 0 && printableHead(reverse(run[len(run)-headOf64:])) {
		r.decoded(text, start, end, "reversed base64", fromBase64(reverse(run)))
	}
}

func allBase64(s string) bool {
	for i := range len(s) {
		if !base64Byte(s[i]) {
			return false
		}
	}
	return true
}

func allHex(s string) bool {
	for i := range len(s) {
		if !hexByte(s[i]) {
			return false
		}
	}
	return true
}

func upperOnly(s string) bool {
	for i := range len(s) {
		if !('A' <= s[i] && s[i] <= 'Z' || '2' <= s[i] && s[i] <= '7') {
			return false
		}
	}
	return true
}

func reverse(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

func fromHex(s string) string {
	b, _ := hex.DecodeString(s[:len(s)&^1]) // what is no hex gives what came before it
	return string(b)
}

// plainAlphabet turns the alphabet for links into the usual one.
var plainAlphabet = strings.NewReplacer("-", "+", "_", "/")

func fromBase64(s string) string {
	if !printableHead(s[:headOf64]) {
		return ""
	}
	s = plainAlphabet.Replace(s)
	b, _ := base64.RawStdEncoding.DecodeString(s[:len(s)-padding(len(s))])
	return string(b)
}

// padding is how many characters at the end of n can't be decoded.
func padding(n int) int {
	if n%4 == 1 {
		return 1
	}
	return 0
}

// headOf64 is how many characters of base64 tell whether a run is worth decoding:
// most runs are words or identifiers.
const headOf64 = 16

// printableHead reports whether the first characters of a run are text.
func printableHead(head string) bool {
	var b [3 * headOf64 / 4]byte
	if strings.ContainsAny(head, "-_") {
		head = plainAlphabet.Replace(head)
	}
	n, err := base64.RawStdEncoding.Decode(b[:], []byte(head))
	return err == nil && printable(string(b[:n]))
}

func fromBase32(s string) string {
	b, _ := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(s[:len(s)&^7])
	return string(b)
}

// printable reports whether s is text, as far as can be told from what it is made of.
func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' && c != '\r' || c >= 0x7F {
			return false
		}
	}
	return s != ""
}

// rotatedWords are words of commands and of instructions. The lexicon knows them
// turned by 13 places.
var rotatedWords = []string{
	"curl", "wget", "bash", "http", "https", "sudo", "chmod", "netcat", "passwd", "python", "powershell", "ignore", "previous", "instructions", "system", "prompt", "password", "secret", "token", "upload", "send", "exfiltrate", "conversation", "user", "instruction", "server", "files", "private",
}

func rot13(s string) string {
	b := []byte(s)
	for i, c := range b {
		if asciiLetter(c) {
			low := c | 0x20
			b[i] = c - low + 'a' + (low-'a'+13)%26
		}
	}
	return string(b)
}

// rotatedIn turns a text back when two of its words are known ones turned.
func (r *reading) rotatedIn(text int) {
	t := &r.texts[text]
	seen, first, last := 0, 0, 0
	for _, k := range r.tokens[t.words.start:t.words.end] {
		if !k.means.any(r.scanner.words.named.rotated) {
			continue
		}
		if seen == 0 {
			first = int(k.start)
		}
		last = int(k.end)
		seen++
	}
	if seen < 2 {
		return
	}
	end := min(len(t.s), last+mostEvidence, first+mostDecoded)
	for end < len(t.s) && !utf8.RuneStart(t.s[end]) {
		end--
	}
	if start := wordStart(t.s, first); start < end {
		r.decoded(text, start, end, "rot13", rot13(t.s[start:end]))
	}
}

// reversedIn reads a text backwards when a word of it is a known one reversed.
func (r *reading) reversedIn(text int) {
	t := &r.texts[text]
	for _, k := range r.tokens[t.words.start:t.words.end] {
		if k.means.any(r.scanner.words.named.reversed) {
			start, end := max(0, int(k.start)-mostEvidence), min(len(t.s), int(k.end)+mostEvidence)
			r.decoded(text, start, end, "reversed", reverse(t.s[start:end]))
			return
		}
	}
}

// wordStart goes back from i to the start of its sentence, a short way.
func wordStart(s string, i int) int {
	for k := 0; k < 60 && i > 0 && s[i-1] != '.' && s[i-1] != '\n' && s[i-1] < utf8.RuneSelf; k++ {
		i--
	}
	return i
}

// commands are what decoded text must not hold: programs that fetch and run, open
// shells, destroy, or read secrets.
var commands = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\b(curl|wget|fetch|iwr|invoke-webrequest|invoke-restmethod|certutil|bitsadmin)\b[^\n]{0,120}(https?:|ftp:|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b|[a-z0-9-]+\.[a-z]{2,})`,
	`https?://[^\s]{3,200}\|\s*(sudo\s+)?(ba|z|da|k)?sh\b`, `\|\s*(sudo\s+)?(ba|z|da|k)?sh\b`, `\b(ba|z|k|da)?sh\s+-[ic]\b`, `/dev/(tcp|udp)/`, `\bnc(at)?\b[^\n]{0,40}\s-[a-z]*e\b`, `\bncat?\s+(-\w+\s+)*[\w.-]+\s+\d{2,5}`,
	`\brm\s+-[a-z]*[rf]`, `\bpowershell(\.exe)?\b`, `\bcmd(\.exe)?\s+/c\b`, `\b(python[23]?|perl|ruby|node|php)\s+-[cer]\b`, `\bbase64\s+(-d|--decode)\b`, `\bchmod\s+(\+x|[0-7]{3,4})`, `\beval\s*\(`, `\bexec\s*\(`, `\bos\.system\b`,
	`\bsubprocess\b`, `\bmkfifo\b`, `\bcrontab\b`, `~?/\.ssh/`, `\bid_(rsa|ed25519)\b`, `/etc/(passwd|shadow)\b`, `\.aws/credentials`, `\b(cat|type|less|head|cp|scp|tar|zip)\s+[^\n]{0,80}(\.env|\.ssh|passwd|shadow|credentials|id_rsa|\.npmrc|\.netrc|history)`,
	`\b(printenv|env)\b\s*(\||>)`, `\bscp\b[^\n]{0,80}@`, `\brsync\b[^\n]{0,80}@`, `\bsudo\s+\w+`, `<script\b`, `javascript:`, `\bdd\s+if=`, `\bmkfs\b`, `\bXMLHttpRequest\b`, `\bfetch\(\s*['"]https?:`,
}, "|"))

// decoded judges what a run decoded to.
func (r *reading) decoded(text, start, end int, how, plain string) {
	if plain == "" || len(plain) < 6 {
		return
	}
	r.spend(len(plain) + 16)
	if !legible(plain) {
		return
	}
	plain = printableStart(plain)
	r.spend(8 * len(plain))
	if commands.MatchString(plain) || r.instructs(plain) {
		r.hitDecoded(r.position(text, start, end), text, start, end, fmt.Sprintf("%s: %s", how, plain))
	}
}

// printableStart is s up to the first run of bytes that are no text.
func printableStart(s string) string {
	bad := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' && c != '\r' || c >= 0x7F {
			if bad++; bad > 2 {
				return s[:i]
			}
		} else {
			bad = 0
		}
	}
	return s
}

// instructs reports whether decoded text holds a phrase that nobody would have to encode.
func (r *reading) instructs(plain string) bool {
	inner := &reading{scanner: r.scanner, left: r.left, running: "phrase.injection"}
	inner.texts = []text{{s: plain, place: -1}}
	inner.cut(&inner.texts[0])
	inner.applyRules("phrase.injection")
	inner.checkTags()
	r.spend(inner.steps)
	return len(inner.hits) > 0
}
