package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// pattern is a path pattern of a rule or a contract: gitignore's, with the beginnings
// that docs/design/workspace.md section 4 adds. It covers what it matches and, as that
// may be a folder, everything below.
type pattern struct {
	base     string   // the folder that it starts from, absolute; empty for each root
	rest     string   // what follows, with its slashes
	baseSegs []string // base, split
	segs     []segment
	folder   bool // a last slash: only folders, and what is below them
}

// parsePattern reads a path pattern. folder and home are as for ParseRule.
func parsePattern(text, folder, home string) (pattern, error) {
	if err := refuseForeign(text); err != nil {
		return pattern{}, err
	}
	base, rest := "", text
	switch {
	case strings.HasPrefix(text, "//"):
		base, rest = "/", text[1:]
	case strings.HasPrefix(text, "~/"):
		if home == "" {
			return pattern{}, errors.New(`begins with "~/", and the home directory is not known; write its absolute path after "//"`)
		}
		base, rest = home, text[1:]
	case strings.HasPrefix(text, "/"):
		if folder == "" {
			return pattern{}, fmt.Errorf(`begins with "/", which is the project and means nothing here: write "./%s" for each workspace or "/%s" for the file system`,
				strings.TrimPrefix(text, "/"), text)
		}
		base = folder
	case text == "~":
		return pattern{}, errors.New(`is "~": write "~/**" for the home directory, or "\~" for a file of that name`)
	case strings.HasPrefix(text, "./"):
		rest = text[1:]
	}
	return newPattern(base, rest, false)
}

// refuseForeign refuses what other pattern languages have.
func refuseForeign(text string) error {
	if text == "" {
		return errors.New("is empty")
	}
	if text[0] == '!' {
		return errors.New(`begins with "!": a rule can't take back what another covers; for the character itself write "\!"`)
	}
	if !utf8.ValidString(text) {
		return errors.New("is not UTF-8")
	}
	brackets := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c < ' ' || c == 0x7f:
			return errors.New("has a control character")
		case c == '\\':
			i++
		case c == '[':
			brackets = true
		case c == ']':
			brackets = false
		case c == '{' && !brackets:
			return errors.New(`has a "{": write one rule for each name; for the character itself write "\{"`)
		}
	}
	return nil
}

// newPattern compiles what follows the beginning. A rest with a slash that is not its
// last character is anchored at the base.
func newPattern(base, rest string, fold bool) (pattern, error) {
	p := pattern{base: base, rest: rest}
	if fold {
		base, rest = foldName(base), foldName(rest)
	}
	p.baseSegs = split(base)
	body, found := strings.CutSuffix(rest, "/")
	p.folder = found
	anchored := strings.Contains(body, "/")
	body = strings.TrimPrefix(body, "/")
	if body == "" {
		return pattern{}, errors.New(`names nothing: write "**" after the slash for all that is below`)
	}
	names := strings.Split(body, "/")
	if !anchored {
		p.segs = append(p.segs, segment{deep: true})
	}
	for _, name := range names {
		switch name {
		case "":
			return pattern{}, errors.New("has two slashes in a row: paths never do")
		case ".", "..":
			return pattern{}, fmt.Errorf("has %q as a name: paths are cleaned before they are judged, so it would match nothing", name)
		}
		s, err := parseSegment(name, fold)
		if err != nil {
			return pattern{}, err
		}
		p.segs = append(p.segs, s)
	}
	// What is below is covered in any case, and so dir/** covers dir.
	for len(p.segs) > 0 && p.segs[len(p.segs)-1].deep {
		p.segs = p.segs[:len(p.segs)-1]
	}
	return p, nil
}

// folded is the pattern for a file system that folds names. It fails for a pattern of
// which nothing is left then.
func (p pattern) folded() (pattern, error) { return newPattern(p.base, p.rest, true) }

// covers reports whether the pattern matches a path or a folder above it. names are
// those below the pattern's base; folder says that the last may be a folder.
func (p *pattern) covers(names []string, folder bool) bool {
	if p.folder && !folder && len(names) > 0 {
		names = names[:len(names)-1]
	}
	return match(p.segs, names, false)
}

// match reports whether the segments match the names: the whole, or, as far as that
// is enough, a folder above. It is the usual walk that goes back to the last "**".
func match(segs []segment, names []string, whole bool) bool {
	i, at := 0, 0
	back, mark := -1, 0
	for {
		switch {
		case i == len(segs) && (!whole || at == len(names)):
			return true
		case i < len(segs) && segs[i].deep:
			back, mark = i, at
			i++
			continue
		case i < len(segs) && at < len(names) && segs[i].matches(names[at]):
			i++
			at++
			continue
		case back < 0 || mark >= len(names):
			return false
		}
		mark++
		i, at = back+1, mark
	}
}

// reachesBelow reports whether the pattern may match something below a folder. It may
// say so where nothing can.
func (p *pattern) reachesBelow(names []string) bool {
	for i, s := range p.segs {
		if s.deep || i == len(names) {
			return true
		}
		if !s.matches(names[i]) {
			return false
		}
	}
	return true
}

// holds reports whether the pattern has a name, in any case, as one of its own.
func (p *pattern) holds(name string) bool {
	for _, s := range p.segs {
		if s.plain && sameName(s.prefix, name) {
			return true
		}
	}
	return false
}

// split gives the names of a clean absolute path; of "/" and "" none.
func split(abs string) []string {
	abs = strings.TrimPrefix(abs, "/")
	if abs == "" {
		return nil
	}
	return strings.Split(abs, "/")
}

// below gives the names of a path below a folder.
func below(names, folder []string) (rest []string, ok bool) {
	if len(names) < len(folder) {
		return nil, false
	}
	// From the end, where they differ soonest.
	for i := len(folder) - 1; i >= 0; i-- {
		if names[i] != folder[i] {
			return nil, false
		}
	}
	return names[len(folder):], true
}

// foldName gives one spelling to all names that a folding file system takes for one:
// differing in case, in Unicode form, or in characters that it passes over.
func foldName(name string) string {
	ascii := true
	for i := 0; i < len(name) && ascii; i++ {
		ascii = name[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(name)
	}
	return norm.NFC.String(cases.Fold().String(strings.Map(passedOver, norm.NFD.String(name))))
}

// passedOver drops the characters that HFS+ ignores in names, as git's own protection
// of .git does.
func passedOver(r rune) rune {
	switch {
	case 0x200c <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x206a <= r && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}

// sameName compares two names as protected names are compared: whatever their case.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }

// clean gives the lexical path, absolute: what is relative is below dir.
func clean(p, dir string) string {
	if !path.IsAbs(p) {
		p = dir + "/" + p
	}
	return path.Clean(p)
}
