package workspace

import (
	"errors"
	"path"
	"strings"
)

// maxBranches is how many patterns the braces of one may stand for.
const maxBranches = 1000

var errPattern = errors.New("it is no pattern: brackets or braces are not closed, or there are too many braces")

// matcher is a pattern of Glob: "/" parts names, "*", "?" and "[...]" stay in one name,
// "**" is any number of names, "{a,b}" is either.
type matcher struct{ branches [][]string }

func parseMatcher(pattern string) (matcher, error) {
	var m matcher
	all, err := branches(pattern)
	if err != nil {
		return m, err
	}
	for _, text := range all {
		names := strings.Split(text, "/")
		for i, n := range names {
			names[i] = strings.ReplaceAll(n, "[!", "[^")
			if _, err := path.Match(names[i], ""); err != nil {
				return m, errPattern
			}
		}
		m.branches = append(m.branches, names)
	}
	return m, nil
}

// branches gives the patterns that one with braces stands for.
func branches(pattern string) ([]string, error) {
	done := []string{""}
	for {
		open := indexUnescaped(pattern, '{')
		if open < 0 {
			break
		}
		end, options := options(pattern[open+1:])
		if end < 0 {
			return nil, errPattern
		}
		var next []string
		for _, option := range options {
			inner, err := branches(option)
			if err != nil {
				return nil, err
			}
			for _, d := range done {
				for _, in := range inner {
					next = append(next, d+pattern[:open]+in)
				}
			}
			if len(next) > maxBranches {
				return nil, errPattern
			}
		}
		done, pattern = next, pattern[open+1+end+1:]
	}
	for i := range done {
		done[i] += pattern
	}
	return done, nil
}

// options splits what stands after an opening brace, and gives where its end is; -1
// when there is none.
func options(s string) (end int, all []string) {
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			if depth == 0 {
				all = append(all, s[start:i])
				start = i + 1
			}
		case '}':
			if depth == 0 {
				return i, append(all, s[start:i])
			}
			depth--
		}
	}
	return -1, nil
}

func indexUnescaped(s string, c byte) int {
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			return i
		}
		if s[i] == '\\' {
			i++
		}
	}
	return -1
}

// match reports whether a path with slashes is one that the pattern means.
func (m matcher) match(rel string) bool {
	names := strings.Split(rel, "/")
	for _, b := range m.branches {
		if matchNames(b, names) {
			return true
		}
	}
	return false
}

// matchNames takes at most len(pattern) × len(names) steps.
func matchNames(pattern, names []string) bool {
	reach := make([]bool, len(names)+1) // names that the pattern so far can have covered
	reach[0] = true
	for _, p := range pattern {
		next := make([]bool, len(names)+1)
		for i, ok := range reach {
			switch {
			case p == "**":
				next[i] = ok || i > 0 && next[i-1]
			case ok && i < len(names):
				next[i+1], _ = path.Match(p, names[i])
			}
		}
		reach = next
	}
	return reach[len(names)]
}
