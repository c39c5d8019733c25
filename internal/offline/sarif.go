package offline

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// SARIF prints results in the Static Analysis Results Interchange Format 2.1.0
// (OASIS, 27 March 2020), each as it comes, the rules at the end. Only what is held
// or found is a result: no result is a pass.
type SARIF struct {
	out   *document
	rules []sarifRule
	index map[string]int
}

type (
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID    string         `json:"id"`
		Short sarifText      `json:"shortDescription"`
		Full  sarifText      `json:"fullDescription"`
		Help  sarifText      `json:"help"`
		Level sarifConfigure `json:"defaultConfiguration"`
	}
	sarifConfigure struct {
		Level string `json:"level"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   map[string]string `json:"properties,omitempty"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				StartLine  int   `json:"startLine"`
				ByteOffset int64 `json:"byteOffset"`
				ByteLength int64 `json:"byteLength"`
			} `json:"region"`
		} `json:"physicalLocation"`
		Logical []sarifLogical `json:"logicalLocations"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Full string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
)

const sarifHead = `{
  "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
  "version": "2.1.0",
  "runs": [{
  "results": [`

// NewSARIF begins a log.
func NewSARIF(w io.Writer) *SARIF {
	return &SARIF{out: begin(w, sarifHead), rules: []sarifRule{}, index: map[string]int{}}
}

// uri is where an input is, relative to where this program runs if it was named so.
func uri(in *Listing) string {
	if in.Name() == standardInput {
		return "stdin"
	}
	u := (&url.URL{Path: filepath.ToSlash(in.Name())}).String()
	if filepath.IsAbs(in.Name()) {
		u = "file:///" + strings.TrimPrefix(u, "/")
	}
	return u
}

// End ends the log. version is that of this program.
func (s *SARIF) End(version string) error {
	driver := struct {
		Driver sarifDriver `json:"driver"`
	}{sarifDriver{"Holdfast", version, s.rules}}
	if s.out.items > 0 {
		s.out.text("\n  ")
	}
	s.out.text("],\n  \"columnKind\": \"unicodeCodePoints\",\n  \"tool\": ")
	s.out.value(driver, "  ")
	s.out.text("\n  }]\n}\n")
	return s.out.err
}

// subject is the tool that a result is about, and where it stands.
type subject struct {
	in           *Listing
	server, name string
	start, end   int64
}

// result prints one result.
func (s *SARIF) result(r contract.Term, level, message, path string, about subject, detail string, properties map[string]string) error {
	i, known := s.index[r.Name]
	if !known {
		i = len(s.rules)
		s.index[r.Name] = i
		s.rules = append(s.rules, sarifRule{r.Name, sarifText{r.Label}, sarifText{r.Sentence}, sarifText{r.Sentence}, sarifConfigure{level}})
	}
	name := about.name
	if name == "" {
		name = "(no name)"
	}
	full := strings.Trim(about.server+"/"+name, "/")
	if path = strings.TrimPrefix(path, "/"); path != "" {
		full += "/" + path
	}
	var at sarifLocation
	at.Physical.Artifact.URI = uri(about.in)
	at.Physical.Region.StartLine = about.in.Line(about.start)
	at.Physical.Region.ByteOffset, at.Physical.Region.ByteLength = about.start, about.end-about.start
	at.Logical = []sarifLogical{{Name: name, Full: full, Kind: "function"}}
	sum := sha256.Sum256([]byte(full + "\x00" + r.Name + "\x00" + detail))
	return s.out.item(sarifResult{
		RuleID: r.Name, RuleIndex: i, Level: level, Message: sarifText{plainText(message)}, Locations: []sarifLocation{at},
		Fingerprints: map[string]string{"holdfast/v1": hex.EncodeToString(sum[:16])}, Properties: properties,
	})
}

// Compared prints what a comparison is held for, a result for each signal.
func (s *SARIF) Compared(c Compared) error {
	about := subject{c.In, c.Server, c.Name, c.Start, c.End}
	for _, signal := range c.Signals {
		var said []string
		path := ""
		for _, l := range c.Lines {
			if !slices.Contains(l.Signals, signal) {
				continue
			}
			path = l.Path
			said = append(said, tell(l))
		}
		message := displayed(c.Name) + " is held: " + strings.Join(said, " ")
		err := s.result(ruleOf(signal), "error", message, path, about, signal.String(),
			map[string]string{"signal": signal.String()})
		if err != nil {
			return err
		}
	}
	return nil
}

// Scanned prints what a scan found, a result for each finding, and one where not
// everything could be looked at.
func (s *SARIF) Scanned(v Scanned) error {
	about := subject{v.In, v.Server, v.Name, v.Start, v.End}
	unreadable := false
	for _, f := range v.Verdict.Findings {
		unreadable = unreadable || f.Check == Unreadable
		level, weight := "error", "which essentially never stands in an honest definition"
		if f.Tier == scan.Soft {
			level, weight = "warning", "which can stand in an honest definition too"
		}
		where := ""
		if f.Path != "" {
			where = " at " + f.Path
		}
		message := displayed(v.Name) + " needs a look: " + f.Check + where + ", " + weight + ". It reads: " + f.Evidence
		err := s.result(checkOf(f.Check), level, message, f.Path, about, f.Path+"\x00"+f.Evidence, map[string]string{"tier": TierWord(f.Tier)})
		if err != nil {
			return err
		}
	}
	if v.Verdict.Complete || unreadable {
		return nil
	}
	return s.result(incomplete, "warning", displayed(v.Name)+" could not be scanned completely, so that nobody can tell that it is clean.", "", about, "", nil)
}

// tell says a line in one sentence or two.
func tell(l delta.Line) string {
	switch {
	case l.Was != "" && l.Is != "":
		return l.Sentence + " It was " + l.Was + " and is " + l.Is + " now."
	case l.Is != "":
		return l.Sentence + " It is " + l.Is + " now."
	case l.Was != "":
		return l.Sentence + " It was " + l.Was + "."
	}
	return l.Sentence
}

func displayed(name string) string {
	if name == "" {
		return "A tool without a name"
	}
	return "The tool " + strconv.Quote(name)
}

// plainText makes a text of a message, in which braces are placeholders and
// brackets are links: SARIF 2.1.0 sections 3.11.5 and 3.11.6.
func plainText(s string) string {
	return strings.NewReplacer("{", "{{", "}", "}}", `\`, `\\`, "[", `\[`, "]", `\]`).Replace(s)
}
