package policy

import (
	"strings"
)

// Ignore is the patterns of one .gitignore file, for search results. Its patterns are
// those of rules, and "!" takes back. The zero Ignore ignores nothing.
type Ignore struct{ lines []ignored }

type ignored struct {
	segs   []segment
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
	if !anchored {
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

// Match reports whether a path relative to the file's folder is ignored, and whether
// any pattern spoke. What lies in an ignored folder is ignored: nothing takes it back.
func (i Ignore) Match(path string, folder bool) (ignored, spoke bool) {
	names := strings.Split(path, "/")
	for n := 1; n <= len(names); n++ {
		ignored, spoke = i.last(names[:n], folder || n < len(names))
		if ignored {
			return true, true
		}
	}
	return ignored, spoke
}

// last is what the last line that matches says.
func (i Ignore) last(names []string, folder bool) (ignored, spoke bool) {
	for n := len(i.lines) - 1; n >= 0; n-- {
		l := &i.lines[n]
		if l.folder && !folder || !match(l.segs, names, true) {
			continue
		}
		return !l.not, true
	}
	return false, false
}
