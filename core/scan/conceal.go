package scan

import (
	"strings"
)

// Gaps after which nobody reads on: this many spaces, or newlines, in a row.
const (
	wideGap = 100
	tallGap = 20
)

// checkConcealed finds text that is put where a person does not look: text.concealed.
func checkConcealed(r *reading) {
	for i := range r.texts {
		t := &r.texts[i]
		r.spend(len(t.s) + 1)
		if len(t.s) > tallGap {
			r.gapsIn(i, t.s)
		}
		if t.flags&hasAngle != 0 {
			r.markupIn(i, t.s)
		}
		if t.flags&hasBracket != 0 && t.flags&hasColon != 0 {
			r.linkCommentsIn(i, t.s)
		}
		for _, c := range comments {
			if t.flags&c.flag == c.flag {
				r.between(i, t.s, c.open, c.closing, c.code)
			}
		}
		if t.flags&hasColon != 0 {
			r.stylesIn(i, t.s)
		}
	}
}

// comments are marks between which programs that show a text show nothing.
var comments = []struct {
	open, closing string
	flag          byteFlags // every text that holds them has these
	code          bool      // honest texts show code: only what speaks to a model counts
}{
	{"%%", "%%", hasPercent, false},
	{"<%#", "%>", hasPercent, false},
	{"{#", "#}", hasHash, false},
	{"{{!", "}}", 0, false},
	{"/* ", "*/", 0, true},
	{`\begin{comment}`, `\end{comment}`, hasBackslash, false},
	{"{%comment", "endcomment", hasPercent, false},
	{"{% comment", "endcomment", hasPercent, false},
	{"<#", "#>", hasHash | hasAngle, false},
	{"=begin", "=end", hasEquals, true},
}

// gapsIn finds white space that pushes text out of sight. A gap is no shorter than
// tallGap bytes, so that it is enough to look at every such byte, and closer where
// that one can be part of a gap.
func (r *reading) gapsIn(text int, s string) {
	for i := tallGap - 1; i < len(s); i += tallGap {
		if !blankByte[s[i]] {
			continue
		}
		from := i
		for from > 0 && blankByte[s[from-1]] {
			from--
		}
		i = r.gap(text, s, from)
	}
}

// gap looks at the run of bytes that can be blank which begins at i, and gives
// where it ends.
func (r *reading) gap(text int, s string, i int) int {
	from, lines := -1, 0
	for ; i < len(s); i++ {
		if n := blank(s, i); n > 0 {
			if from < 0 {
				from, lines = i, 0
			}
			if s[i] == '\n' {
				lines++
			}
			i += n - 1
			continue
		}
		if from >= 0 && (lines >= tallGap || i-from-lines >= wideGap) {
			r.hit(Hard, text, from, min(len(s), wordEnd(s, i)))
		}
		if from = -1; !blankByte[s[i]] {
			break
		}
	}
	return i
}

// blankByte are the bytes of which blank characters are made.
var blankByte = buildBlankByte()

func buildBlankByte() (t [256]bool) {
	for c := range 256 {
		t[c] = c == ' ' || '\t' <= c && c <= '\r' || c == 0xC2 || c == 0xE2 || c == 0xE3 || 0x80 <= c && c < 0xC0
	}
	return t
}

// blank is the length of a character at i that shows nothing but room.
func blank(s string, i int) int {
	switch s[i] {
	case ' ', '\n', '\t', '\r', '\v', '\f':
		return 1
	case 0xC2:
		if strings.HasPrefix(s[i:], "\u00A0") {
			return 2
		}
	case 0xE2, 0xE3:
		for _, b := range []string{"\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200A", "\u202F", "\u205F", "\u3000", "\u2800", "\u200B"} {
			if strings.HasPrefix(s[i:], b) {
				return 3
			}
		}
	}
	return 0
}

// wordEnd is where the text behind a gap has shown enough of itself.
func wordEnd(s string, i int) int {
	end := min(len(s), i+120)
	for end < len(s) && end > i && s[end]&0xC0 == 0x80 {
		end--
	}
	return end
}

// elements whose content is not shown, or not as text.
var elements = []string{"template", "script", "style", "noscript", "iframe", "object", "embed", "svg", "meta", "details"}

// markupIn finds comments, elements that show nothing, and attributes that hide.
func (r *reading) markupIn(text int, s string) {
	closes := strings.LastIndex(s, "</")
	for i := strings.IndexByte(s, '<'); i >= 0; {
		rest, after := s[i:], i+1
		switch {
		case strings.HasPrefix(rest, "<!--"):
			after = r.comment(text, s, i, i+4, "-->")
		case strings.HasPrefix(rest, "<!["):
			after = r.comment(text, s, i, i+3, "]]>")
		default:
			r.element(text, s, i, closes)
		}
		next := strings.IndexByte(s[after:], '<')
		if next < 0 {
			return
		}
		i = after + next
	}
}

// comment notes a comment that begins at start, if it says something, and gives
// where it ends: one that is not closed takes all the rest.
func (r *reading) comment(text int, s string, start, inner int, closing string) int {
	end, stop := len(s), len(s)
	if k := strings.Index(s[inner:], closing); k >= 0 {
		stop = inner + k
		end = stop + len(closing)
	}
	r.spend(end - start)
	if said(s[inner:stop]) && strings.ContainsAny(strings.TrimSpace(s[inner:stop]), " \n") {
		r.hit(r.position(text, start, end), text, start, end)
	}
	return end
}

// said reports whether s has a word of at least three letters.
func said(s string) bool {
	run := 0
	for i := range len(s) {
		if c := s[i]; asciiLetter(c) || c >= 0x80 {
			if run++; run == 3 {
				return true
			}
		} else {
			run = 0
		}
	}
	return false
}

// element notes an element at i that is not shown; closes is where the last closing
// tag of the text begins.
func (r *reading) element(text int, s string, i, closes int) {
	end := strings.IndexByte(s[i:min(len(s), i+512)], '>')
	if end < 0 {
		return
	}
	tag := strings.ToLower(s[i+1 : i+end])
	r.spend(end)
	name := tag
	if k := strings.IndexAny(tag, " \t\n/"); k >= 0 {
		name = tag[:k]
	}
	hides := hidingStyle(tag) >= 0 || hidingAttribute(tag)
	for _, e := range elements {
		hides = hides || name == e && (closes > i || tag != name)
	}
	if hides {
		stop := i + end + 1
		if k := strings.Index(s[stop:min(len(s), stop+8*mostEvidence)], "</"); k >= 0 {
			stop += k
		}
		r.hit(r.position(text, i, stop), text, i, stop)
	}
}

var noQuotes = strings.NewReplacer(`"`, "", "'", "")

// hidingAttribute reports whether an attribute makes an element show nothing.
func hidingAttribute(tag string) bool {
	tag = noQuotes.Replace(tag)
	for _, a := range []string{" hidden", "aria-hidden", "type=hidden", "color=white", "color=#fff", "color=transparent", "width=0", "height=0", "size=0", "size=1 "} {
		if strings.Contains(tag+" ", a) {
			return true
		}
	}
	return false
}

// hiding are style declarations that show nothing, without white space.
var hiding = []string{
	"display:none", "visibility:hidden", "font-size:0", "font-size:1px", "opacity:0", "color:transparent", "color:white", "color:#fff", "text-indent:-", "height:0", "width:0", "left:-9",
}

// hidingStyle is where a declaration that hides begins in s, -1 when there is none.
func hidingStyle(s string) int {
	for i := strings.IndexByte(s, ':'); i >= 0; {
		from := i
		for from > 0 && (asciiLetter(s[from-1]) || s[from-1] == '-' || s[from-1] == ' ' && from == i) {
			from--
		}
		if i-from <= 24 {
			compact := strings.ToLower(strings.ReplaceAll(s[from:min(len(s), i+24)], " ", ""))
			for _, h := range hiding {
				if strings.HasPrefix(compact, h) && !(h == "opacity:0" && strings.HasPrefix(compact, "opacity:0.")) {
					return from
				}
			}
		}
		next := strings.IndexByte(s[i+1:], ':')
		if next < 0 {
			return -1
		}
		i += 1 + next
	}
	return -1
}

// stylesIn finds hiding styles outside of markup, and data URIs that carry a document.
func (r *reading) stylesIn(text int, s string) {
	const scheme = "data:"
	for from, last := 0, 0; ; {
		k := strings.IndexByte(s[from:], ':')
		if k < 0 {
			break
		}
		from += k + 1
		at := from - len(scheme)
		if at < last || !strings.EqualFold(s[at:from], scheme) {
			continue
		}
		r.spend(1)
		if end := dataURI(s[at:]); end > 0 {
			r.hit(r.position(text, at, at+end), text, at, at+end)
			from, last = at+end, at+end
		}
	}
	if strings.Contains(s, "style") {
		if at := hidingStyle(s); at >= 0 {
			end := min(len(s), at+40)
			for end < len(s) && s[end]&0xC0 == 0x80 {
				end++
			}
			r.hit(r.position(text, at, end), text, at, end)
		}
	}
}

// indexFold finds an ASCII word in lower case, whatever the case in s.
func indexFold(s, word string) int {
	for i := 0; i+len(word) <= len(s); i++ {
		if s[i]|0x20 == word[0] && strings.EqualFold(s[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}

// dataURI is the length of a data URI that carries something to read or run; 0
// for one of an image, and for a form that is only described.
func dataURI(s string) int {
	end := 0
	for end < len(s) && s[end] > ' ' && s[end] != '"' && s[end] != '\'' && s[end] != '`' && s[end] != '<' && s[end] != '>' && s[end] != ')' {
		end++
	}
	comma := strings.IndexByte(s[:end], ',')
	if comma < 0 || end-comma < 12 {
		return 0
	}
	kind := strings.ToLower(s[5:comma])
	if strings.HasPrefix(kind, "text/") || strings.HasPrefix(kind, "application/") || strings.HasPrefix(kind, "image/svg") || strings.Contains(kind, "base64") && !strings.HasPrefix(kind, "image/") && !strings.HasPrefix(kind, "audio/") && !strings.HasPrefix(kind, "video/") && !strings.HasPrefix(kind, "font/") {
		return end
	}
	return 0
}

// linkCommentsIn finds link definitions that are used as comments in Markdown.
func (r *reading) linkCommentsIn(text int, s string) {
	for from := 0; ; {
		k := strings.Index(s[from:], "]:")
		if k < 0 {
			return
		}
		at := from + k
		from = at + 2
		open := strings.LastIndexByte(s[max(0, at-40):at], '[')
		if open < 0 {
			continue
		}
		open += max(0, at-40)
		label, target := strings.ToLower(s[open+1:at]), strings.TrimLeft(s[at+2:], " ")
		r.spend(len(label) + 1)
		if label != "//" && label != "comment" && label != "#" && !strings.HasPrefix(target, "#") && !strings.HasPrefix(target, "<>") {
			continue
		}
		end := len(s)
		if n := strings.IndexByte(s[at:], '\n'); n >= 0 {
			end = at + n
		}
		if said(s[at:end]) {
			r.hit(r.position(text, open, end), text, open, end)
		}
		from = max(from, end)
	}
}

// between finds comments that open and close with the same mark.
func (r *reading) between(text int, s, open, closing string, code bool) {
	for from := 0; ; {
		k := strings.Index(s[from:], open)
		if k < 0 {
			return
		}
		start := from + k
		n := strings.Index(s[start+len(open):], closing) // none: the end, below
		if n < 0 {
			return
		}
		end := start + len(open) + n + len(closing)
		if inner := s[start+len(open) : end-len(closing)]; said(inner) && strings.IndexByte(strings.TrimSpace(inner), ' ') >= 0 && (start == 0 || !wordByte(s[start-1])) && (!code || r.speaks(text, start, end)) {
			r.hit(r.position(text, start, end), text, start, end)
		}
		from = end
	}
}

// speaks reports whether s[start:end] of a text names a model or agent.
func (r *reading) speaks(text, start, end int) bool {
	for _, k := range r.tokens[r.texts[text].words.start:r.texts[text].words.end] {
		if int(k.start) >= start && int(k.end) <= end && k.means.any(r.scanner.words.named.machine) {
			return true
		}
	}
	return false
}
