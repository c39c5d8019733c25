package scan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// peers are the neighbours, prepared for looking up what resembles them.
type peers struct {
	all      []peer
	names    map[string]bool  // in lower case, as texts mention them
	looks    map[string][]int // by what a name looks like
	letters  map[string][]int // by letters and digits alone
	words    map[string][]int // by the words, sorted
	shortcut map[string][]int // by letters with one left out
}

type peer struct {
	server, name string
	contract     contract.Contract
}

func (p *peers) any() bool { return len(p.all) > 0 }

// leastTypo is how long a name has to be for one letter more, less or other to be
// no coincidence.
const leastTypo = 7

func gatherPeers(neighbours []Neighbour) peers {
	p := peers{
		names: map[string]bool{}, looks: map[string][]int{}, letters: map[string][]int{},
		words: map[string][]int{}, shortcut: map[string][]int{},
	}
	sorted := make([]peer, 0, len(neighbours))
	for _, n := range neighbours {
		if n.Name != "" && len(n.Name) <= 200 {
			sorted = append(sorted, peer{n.Server, n.Name, n.Contract})
		}
	}
	slices.SortFunc(sorted, func(a, b peer) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.server, b.server), cmp.Compare(a.contract.Digest(), b.contract.Digest()))
	})
	for i, n := range sorted {
		p.all = append(p.all, n)
		p.names[strings.ToLower(n.name)] = true
		file(p.looks, look(n.name), i)
		l := letters(n.name)
		file(p.letters, l, i)
		file(p.words, wordKey(n.name), i)
		for _, k := range shortened(l) {
			file(p.shortcut, k, i)
		}
	}
	return p
}

func file(index map[string][]int, key string, i int) {
	if key != "" {
		index[key] = append(index[key], i)
	}
}

var joinedLooks = strings.NewReplacer("rn", "m", "vv", "w")

// look is what a name looks like: characters that can be taken for one another
// are one.
func look(name string) string {
	var b strings.Builder
	for _, c := range name {
		switch {
		case ignorable(c):
			continue
		case c == 'I' || c == 'i' || c == 'l' || c == '1' || c == '|':
			c = 'l'
		case c == '0' || c == 'O':
			c = 'o'
		case c >= utf8.RuneSelf:
			if like := confusable(unicode.ToLower(c)); like != 0 {
				c = rune(like)
			}
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return joinedLooks.Replace(b.String())
}

// letters are the letters and digits of a name.
func letters(name string) string {
	if strings.IndexFunc(name, func(c rune) bool { return c < 'a' || c > 'z' }) < 0 {
		return name
	}
	var b strings.Builder
	for _, c := range name {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			b.WriteRune(unicode.ToLower(c))
		}
	}
	return b.String()
}

// wordKey is the words of a name, sorted, without those that only praise or number.
func wordKey(name string) string {
	words := wordsOf(name)
	kept := words[:0]
	for _, w := range words {
		if !slices.Contains(praise, w) {
			kept = append(kept, w)
		}
	}
	if len(kept) < 2 {
		return ""
	}
	slices.Sort(kept)
	return strings.Join(kept, " ")
}

var praise = []string{"v2", "v3", "2", "new", "secure", "safe", "fast", "pro", "plus", "official", "enhanced", "better", "tool", "helper", "ex", "ng", "advanced", "super", "the", "my", "real", "trusted", "verified", "improved"}

func wordsOf(name string) []string {
	var words []string
	var w strings.Builder
	flush := func() {
		if w.Len() > 0 {
			words = append(words, strings.ToLower(w.String()))
			w.Reset()
		}
	}
	lowerBefore := false
	for _, c := range name {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) || unicode.IsUpper(c) && lowerBefore {
			flush()
		}
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			w.WriteRune(c)
		}
		lowerBefore = unicode.IsLower(c)
	}
	flush()
	return words
}

// shortened are a name's letters with each one left out, and whole.
func shortened(l string) []string {
	if len(l) < leastTypo || len(l) > 64 {
		return nil
	}
	all := []string{l}
	for i, c := range l {
		all = append(all, l[:i]+l[i+utf8.RuneLen(c):])
	}
	return all
}

// peer reads the name of a neighbour at i and gives where it ends. A name of one
// plain word counts only where it is marked as a name.
func (z *tokenizer) peer(b []byte, i int) int {
	if i > 0 && (b[i-1] == '_' || b[i-1] == '-' || b[i-1] == '.' || b[i-1] == '/') {
		return 0
	}
	end, plain := i, true
	for end < len(b) && end-i <= 200 && (isWord[b[end]] && b[end] != '\'' || (b[end] == '_' || b[end] == '-') && end+1 < len(b) && isWord[b[end+1]]) {
		plain = plain && isWord[b[end]]
		end++
	}
	if end-i < 3 || !z.r.scanner.peers.names[string(b[i:end])] || strings.EqualFold(string(b[i:end]), z.r.name) {
		return 0
	}
	if plain && !marked(b, i, end) && !z.camel(i, end) {
		return 0
	}
	z.note("peer", i, end)
	return end
}

// self is where the name of the scanned tool that begins at i ends, 0 when it does
// not stand there. A plain word counts behind a verb that calls it.
func (z *tokenizer) self(b []byte, i int) int {
	n := len(z.r.name)
	if n < 3 || i+n > len(b) || i > 0 && b[i-1] != ' ' && b[i-1] != '`' && b[i-1] != '"' && b[i-1] != '\'' || i+n < len(b) && (isWord[b[i+n]] || b[i+n] == '_' || b[i+n] == '-') {
		return 0
	}
	for k := range n {
		if lower[z.r.name[k]] != b[i+k] {
			return 0
		}
	}
	if tokens := z.r.tokens; strings.IndexByte(z.r.name, '_') < 0 && !marked(b, i, i+n) &&
		(len(tokens) <= int(z.first) || int(tokens[len(tokens)-1].end) < int(z.raw(i))-1 || !tokens[len(tokens)-1].means.any(z.lex.named.call)) {
		return 0
	}
	return i + n
}

// camel reports whether the raw word has a capital inside.
func (z *tokenizer) camel(i, end int) bool {
	if z.r.offsets != nil {
		return false
	}
	for k := i + 1; k < end; k++ {
		if c := z.raws[k]; c >= 'A' && c <= 'Z' && z.raws[k-1] >= 'a' {
			return true
		}
	}
	return false
}

// marked reports whether a plain word is set apart as the name of a tool.
func marked(b []byte, start, end int) bool {
	if start > 0 && end < len(b) && (b[start-1] == '`' || b[start-1] == '"' || b[start-1] == '\'') && b[end] == b[start-1] {
		return true
	}
	rest := string(b[end:min(len(b), end+10)])
	return strings.HasPrefix(rest, "()") || strings.HasPrefix(rest, " tool") || strings.HasPrefix(rest, " function")
}

// checkSteering finds orders on how another server's tool is to be used, and names
// that can be taken for one of its: shadowing.cross_server.
func checkSteering(r *reading) {
	p := &r.scanner.peers
	if !p.any() {
		return
	}
	r.applyRules("shadowing.cross_server")
	text, name := r.nameText()
	if text < 0 {
		return
	}
	for _, i := range p.looks[look(name)] {
		r.spend(len(name) + 1)
		if n := p.all[i]; n.name != name && !strings.EqualFold(n.name, name) {
			r.hitDecoded(Hard, text, 0, len(name), fmt.Sprintf("%s looks like %s of server %s", name, n.name, n.server))
			return
		}
	}
	for _, i := range p.letters[letters(name)] {
		n := p.all[i]
		if n.name != name && r.copies(n, nearlySame) {
			r.hitDecoded(Hard, text, 0, len(name), fmt.Sprintf("%s is a copy of %s of server %s", name, n.name, n.server))
			return
		}
	}
}

// How alike two definitions are, in hundredths, to be called a copy.
const (
	nearCopy   = 62
	nearlySame = 85
)

// checkTwin finds near copies under the same or a similar name: shadowing.twin.
func checkTwin(r *reading) {
	p := &r.scanner.peers
	text, name := r.nameText()
	if !p.any() || text < 0 {
		return
	}
	l := letters(name)
	candidates := slices.Concat(p.letters[l], p.words[wordKey(name)])
	for _, k := range shortened(l) {
		candidates = append(candidates, p.shortcut[k]...)
	}
	slices.Sort(candidates)
	for _, i := range slices.Compact(candidates) {
		if n := p.all[i]; r.copies(n, nearCopy) {
			r.hitDecoded(Soft, text, 0, len(name), fmt.Sprintf("%s is much like %s of server %s", name, n.name, n.server))
			return
		}
	}
}

func (r *reading) nameText() (int, string) {
	for i := range r.texts {
		if r.texts[i].field == fieldName {
			return i, r.texts[i].s
		}
	}
	return -1, ""
}

// mostCompared is how many bytes of a description are compared.
const mostCompared = 4096

// copies reports whether the scanned tool says the same as n, in hundredths of the
// words of both.
func (r *reading) copies(n peer, least int) bool {
	mine, theirs := contentOf(r.contract), contentOf(n.contract)
	r.spend(len(mine) + len(theirs) + 1)
	if len(mine) < 4 || len(theirs) < 4 {
		return false
	}
	both := 0
	for w := range mine {
		if theirs[w] {
			both++
		}
	}
	return 100*both >= least*(len(mine)+len(theirs)-both)
}

// contentOf is the set of words of a description, without those that any has.
func contentOf(c contract.Contract) map[string]bool {
	d := c.Description()
	words := map[string]bool{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(d[:min(len(d), mostCompared)]), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-' }) {
		w = strings.ReplaceAll(w, "-", "")
		if len(w) < 3 || slices.Contains(fillers, w) {
			continue
		}
		for _, ending := range []string{"ing", "ed", "es", "s", "e"} {
			if stem, ok := strings.CutSuffix(w, ending); ok && len(stem) > 3 {
				w = stem
				break
			}
		}
		words[w] = true
	}
	return words
}

var fillers = []string{"the", "and", "for", "with", "from", "this", "that", "tool", "via", "through", "into", "all", "any", "can", "are", "use", "used", "using", "its", "given", "one", "specific", "specified"}
