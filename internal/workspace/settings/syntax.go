package settings

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// slip is what is wrong with a text that is no YAML, by a part of what the parser says
// of it: for people, and with what to do about it.
type slip struct {
	said, means string
	inside      bool // the parser names the line, from 0, where what holds the mistake begins
}

// slips are tried in their order.
var slips = []slip{
	{"expected alphabetic", `a text that begins with * or & must stand in quotes, as in glob: "*.pem"`, false},
	{"unknown anchor", `a text that begins with * must stand in quotes, as in glob: "*.pem"`, false},
	{"cannot start any token", "a text that begins with @, % or ` must stand in quotes", false},
	{"tab character", tabs, false},
	{"mapping values", `a ":" stands where none can: put a text that holds ": " in quotes, or see whether the line above lacks its ": " (with the blank) or this one is indented too far`, false},
	{"could not find expected ':'", `a key lacks its ": ", or a text in quotes before it is not closed`, false},
	{"end of stream", "a text in quotes begins here and is not closed", false},
	{"document indicator", "a text in quotes begins here and is not closed", false},
	{"escape c", `a text in "..." has a \ that means nothing: write \\, or put the text in '...'`, false},
	{"hexdecimal", `a text in "..." has a \ that means nothing: write \\, or put the text in '...'`, false},
	{"block sequence entries", `a "-" stands where no list can begin: put it on a line of its own, below the key`, false},
	{"mapping keys", `a text that begins with "? " must stand in quotes`, false},
	{"comment or line break", "a text that begins with | or > must stand in quotes", false},
	{"indentation indicator", "a text that begins with | or > must stand in quotes", false},
	{"max depth", "lists and mappings are nested too deep", false},
	{"tag", "a text that begins with ! must stand in quotes", false},
	{"expected '!'", "a text that begins with ! must stand in quotes", false},
	{"expected '>'", "a text that begins with ! must stand in quotes", false},
	{"octet", "a text that begins with ! must stand in quotes", false},
	{"YAML document", "lines that begin with % are not taken: remove it", true},
	{"directive", "lines that begin with % are not taken: remove it", false},
	{"version number", "lines that begin with % are not taken: remove it", false},
	{"expected key", `in what begins here some line is no "key: value", or is indented otherwise than the others`, true},
	{"'-' indicator", `in the list that begins here some line is indented otherwise than the others, or lacks its "-"`, true},
	{"',' or ']'", "the list that begins here with [ lacks a comma, or is not closed with ]", true},
	{"',' or '}'", "the mapping that begins here with { lacks a comma, or is not closed with }", true},
	{"node content", "a value is missing, or is a bracket or comma that belongs to none: put such a text in quotes", true},
}

const (
	tabs      = "lines are indented with spaces: there is a tab"
	unlikely  = "this is not YAML as it is written: put texts with special characters in quotes, and indent the lines of one list or mapping alike"
	controls  = "the file has control characters: remove them"
	yamlError = "yaml: "
)

// syntax reports what is no YAML, in our words: the parser's are its own, and may quote
// the file.
func (r *contractReader) syntax(err error) {
	said, line := strings.TrimPrefix(err.Error(), yamlError), 1
	named, scanErr := fmt.Sscanf(said, "line %d: ", &line)
	at := bytes.IndexFunc(r.data, func(c rune) bool { return unicode.IsControl(c) && !strings.ContainsRune("\t\n\r", c) })
	if strings.Contains(said, "control characters") && at >= 0 {
		r.say(r.line(at), "", controls)
		return
	}
	means := unlikely
	for _, s := range slips {
		if !strings.Contains(said, s.said) {
			continue
		}
		means = s.means
		if s.inside && named == 1 && scanErr == nil {
			line++
		}
		break
	}
	lines := bytes.Split(r.data, []byte("\n"))
	line = min(line, len(lines))
	if bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t")) {
		means = tabs
	}
	r.say(line, "", means)
}
