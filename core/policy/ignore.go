package policy

import (
	"strings"
)

// Ignore is the patterns of one .gitignore file, for search results. Its patterns are
// those of rules, and "!" takes back. The zero Ignore ignores nothing.
type Ignore struct{ lines []ignored }

type ignored struct {
	segs   []segment
	name   bool // it is of the last name alone, at any depth: the last of segs
	folder bool
	not    bool
}

// ParseIgnore reads a .gitignore file; as git does, it passes over what it can't read.
// See gitignore(5); unlike rules, its "dir/**" leaves dir itself alone.
func ParseIgnore(text []byte) Ignore {
	var i Ignore
	all := strings.TrimPrefix(string(text), "\ufeff")
	for line := range strings.SplitSeq(all, "\n") {
		if l, ok := parseIgnored(strings.TrimSuffix(line, "\r")); ok {
			i.lines = append(i.lines, l)
		}
	}
	return i
}

func parseIgnored(line string) (l ignored, ok bool) {
	line = trimBlanks(line)
	if line == "" || line[0] == '#' {
		return l, false
	}
	line, l.not = strings.CutPrefix(line, "!")
	line, l.folder = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return l, false
	}
	names := strings.Split(line, "/")
	if l.name = !anchored; l.name {
		l.segs = append(l.segs, segment{deep: true})
	}
	for n, name := range names {
		if allStars(name) && n == len(names)-1 {
			name = "*" // something below, not the folder itself
			if anchored {
				l.segs = append(l.segs, segment{deep: true})
			}
		}
		s, err := parseSegment(name, false)
		if err != nil {
			return l, false
		}
		l.segs = append(l.segs, s)
	}
	return l, true
}

// trimBlanks drops the blanks at a line's end that no backslash keeps.
func trimBlanks(line string) string {
	for strings.HasSuffix(line, " ") {
		head := strings.TrimSuffix(line, " ")
		slashes := len(head) - len(strings.TrimRight(head, `\`))
		if slashes%2 == 1 {
			break
		}
		line = head
	}
	return line
}

// Match reports whether a path relative to the file's folder is ignored by itself, and
// whether any pattern spoke: the last that does decides. What lies in an ignored folder is
// ignored too, whatever is said of it; that is for the caller to know, for another file may
// have taken the folder back.
func (i Ignore) Match(path string, folder bool) (ignored, spoke bool) {
	last := path[strings.LastIndexByte(path, '/')+1:]
	var names []string
	for n := len(i.lines) - 1; n >= 0; n-- {
		l := &i.lines[n]
		switch {
		case l.folder && !folder:
			continue
		case l.name:
			if !l.segs[1].matches(last) {
				continue
			}
		default:
			if names == nil {
				names = strings.Split(path, "/")
			}
			if !match(l.segs, names, true) {
				continue
			}
		}
		return !l.not, true
	}
	return false, false
}
