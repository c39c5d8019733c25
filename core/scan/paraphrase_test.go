package scan

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

var missed = flag.String("missed", "", "print what is missed or falsely found in the sets whose name begins so")

// written is one made-up definition of testdata/paraphrases, whose README says how
// the lines are read.
type written struct {
	line, family string
	softAllowed  bool
	raw          string
	neighbours   [][2]string // name and definition
}

func (w written) scan(b *Bundle) Verdict {
	var neighbours []Neighbour
	for _, n := range w.neighbours {
		neighbours = append(neighbours, Neighbour{"trusted", n[0], contract.Parse([]byte(n[1]))})
	}
	return New(b, neighbours).Scan(contract.Parse([]byte(w.raw)))
}

// readWritten reads one line.
func readWritten(tb testing.TB, line string) written {
	tb.Helper()
	text, soft := strings.CutPrefix(line, "~")
	head, text, ok := strings.Cut(text, "|")
	if !ok {
		tb.Fatalf("no |: %s", line)
	}
	part := strings.Split(head, "/")
	if len(part) == 1 { // an honest one has no family
		part = append([]string{"honest"}, part...)
	}
	w := written{line: line, family: part[0], softAllowed: soft}
	if len(part) > 2 && part[2] != "" {
		w.neighbours = [][2]string{{part[2], define(part[2], "Does the work of the trusted server.", nil)}}
	}
	name := "do_it"
	if len(part) > 3 {
		name = part[3]
	}
	carrier, poison, _ := strings.Cut(text, " ^ ")
	carrier, poison = unfold(tb, carrier), unfold(tb, poison)
	switch part[1] {
	case "d":
		w.raw = define(name, carrier, nil)
	case "j":
		w.raw = strings.ReplaceAll(text, "{{}}", "")
	case "J": // a neighbour and its double
		first, second, _ := strings.Cut(text, ",")
		second, does, _ := strings.Cut(second, "|")
		w.neighbours = [][2]string{{first, define(first, does, nil)}}
		w.raw = define(second, does+" Quick.", nil)
	default:
		w.raw = define(name, carrier, putAt(tb, part[1], poison))
	}
	if !contract.Parse([]byte(w.raw)).Parsable() {
		tb.Fatalf("unparsable: %s\n%s", line, w.raw)
	}
	return w
}

func define(name, description string, more map[string]any) string {
	m := map[string]any{"name": name, "description": description, "inputSchema": map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}}}
	maps.Copy(m, more)
	raw, _ := json.Marshal(m)
	return string(raw)
}

// putAt puts a text at one place of a definition.
func putAt(tb testing.TB, where, text string) map[string]any {
	field := func(m map[string]any) map[string]any {
		m["type"] = "string"
		return map[string]any{"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"field": m}}}
	}
	switch where {
	case "p":
		return field(map[string]any{"description": text})
	case "D":
		return field(map[string]any{"default": text})
	case "e":
		return field(map[string]any{"enum": []string{"plain", text}})
	case "x":
		return field(map[string]any{"examples": []string{text}})
	case "u":
		return field(map[string]any{"x-hint": text})
	case "k":
		return map[string]any{"inputSchema": map[string]any{"type": "object", "properties": map[string]any{text: map[string]any{"type": "string"}}}}
	case "t":
		return map[string]any{"title": text}
	case "a":
		return map[string]any{"annotations": map[string]any{"title": text, "readOnlyHint": true}}
	case "m":
		return map[string]any{"_meta": map[string]any{"vendor/notes": text}}
	case "o":
		return map[string]any{"outputSchema": map[string]any{"type": "object", "properties": map[string]any{"r": map[string]any{"type": "string", "description": text}}}}
	}
	tb.Fatalf("no place %q", where)
	return nil
}

// unfold replaces escapes and encodings in a line.
func unfold(tb testing.TB, s string) string {
	for {
		before, rest, ok := strings.Cut(s, "{{")
		kind, arg, isKind := strings.Cut(rest[:max(0, strings.Index(rest, "}}"))], ":")
		if !ok || !isKind && kind != "" && kind != "SP" && kind != "NL" {
			break
		}
		s = before + encoded(kind, arg) + rest[strings.Index(rest, "}}")+2:]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		n := map[byte]int{'x': 2, 'u': 4}
		switch {
		case s[i] != '\\' || i+1 == len(s):
			b.WriteByte(s[i])
		case s[i+1] == 'n':
			b.WriteByte('\n')
			i++
		case s[i+1] == 'r':
			b.WriteByte('\r')
			i++
		case s[i+1] == '\\':
			b.WriteByte('\\')
			i++
		case n[s[i+1]] > 0 && i+2+n[s[i+1]] <= len(s):
			var c rune
			if _, err := fmt.Sscanf(s[i+2:i+2+n[s[i+1]]], "%x", &c); err != nil {
				tb.Fatalf("%s: %v", s, err)
			}
			b.WriteRune(c)
			i += 1 + n[s[i+1]]
		default:
			b.WriteByte('\\')
		}
	}
	return b.String()
}

func encoded(kind, s string) string {
	var b strings.Builder
	switch kind {
	case "SP":
		return strings.Repeat(" ", 300)
	case "NL":
		return strings.Repeat("\n", 120)
	case "B64":
		return base64.StdEncoding.EncodeToString([]byte(s))
	case "B64B64":
		return encoded("B64", encoded("B64", s))
	case "HEX":
		return hex.EncodeToString([]byte(s))
	case "ROT":
		return rot13(s)
	case "REV":
		r := []rune(s)
		slices.Reverse(r)
		return string(r)
	case "PCT", "XESC", "DEC":
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, map[string]string{"PCT": "%%%02x", "XESC": `\\x%02x`, "DEC": "%d "}[kind], c)
		}
	case "TAG":
		for _, c := range s {
			b.WriteRune(0xE0000 + c)
		}
	case "VS":
		for _, c := range []byte(s) {
			b.WriteRune(0xE0100 + rune(c))
		}
	}
	return b.String()
}

func writtenSet(tb testing.TB, file string) (all []written) {
	tb.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if !utf8.Valid(raw) {
		tb.Fatal(file, "is no UTF-8")
	}
	for line := range bytes.Lines(raw) {
		if s := strings.TrimRight(string(line), "\n"); s != "" && !strings.HasPrefix(s, "# ") {
			all = append(all, readWritten(tb, s))
		}
	}
	return all
}

// TestParaphrases counts what is found in texts of this project's own, which
// testdata/paraphrases/README.md tells about, and holds it against the table there.
func TestParaphrases(t *testing.T) {
	b := Embedded()
	files, _ := filepath.Glob(filepath.Join("testdata", "paraphrases", "*-*.txt"))
	var out strings.Builder
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		poisoned := strings.HasPrefix(name, "attacks")
		families := map[string]*count{}
		var all count
		for _, w := range writtenSet(t, file) {
			v := w.scan(b)
			if !v.Complete {
				t.Errorf("incomplete: %s", w.line)
			}
			if families[w.family] == nil {
				families[w.family] = &count{}
			}
			if w.softAllowed && v.Outcome == Review {
				v.Outcome = Clean
			}
			families[w.family].add(v)
			all.add(v)
			if *missed != "" && strings.HasPrefix(name, *missed) && poisoned == (v.Outcome == Clean) {
				t.Logf("%s %+v", w.line, v.Findings)
			}
		}
		table(&out, name, families)
		fmt.Fprintf(&out, "%-50s %6d %9d %9d\n\n", "in all", all.all, all.notClean, all.dangerous)
		switch {
		case poisoned && 100*all.notClean < 80*all.all:
			t.Errorf("%s: %d of %d are found, 80 %% are meant", name, all.notClean, all.all)
		case !poisoned && 100*all.notClean > 6*all.all:
			t.Errorf("%s: %d of %d honest ones are not clean", name, all.notClean, all.all)
		}
	}
	t.Logf("\n%s", out.String())
	golden(t, filepath.Join("paraphrases", "measured.txt"), out.String())
}

// TestProseIsClean scans long texts of what descriptions are made of.
func TestProseIsClean(t *testing.T) {
	s := New(Embedded(), nil)
	for _, size := range []int{200, 10_000, 100_000} {
		if v := s.Scan(described(t, prose(size))); v.Outcome != Clean || !v.Complete {
			t.Errorf("%d bytes: %+v", size, v)
		}
	}
}
