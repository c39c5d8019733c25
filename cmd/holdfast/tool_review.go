package main

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/internal/admin"
)

// printReview shows what a person decides about: why it is held, and all that changed
// or, where nothing was approved before, all that it is.
func (a *app) printReview(r admin.Review) {
	t := r.Tool
	a.fields("tool", visible(t.Server+"/"+toolWord(t)), "class", classWord(r))
	a.printf("%s\n", hang("state  ", visible(t.Summary)))
	a.fields("approved", approvedWord(r), "live", r.Live.Digest, "incarnation", t.Incarnation)
	if t.Held != nil {
		a.printFindings(t.Held.Verdict.Findings)
	}
	a.printSignals(r)
	if r.WhyNot != "" {
		a.printf("%s\n", hang(a.style(red, "can't be approved:")+" ", visible(r.WhyNot)))
	}
	changed := r.Approved != nil && r.Approved.Digest != r.Live.Digest
	if changed && len(r.Lines) > 0 {
		a.printf("\n%s\n\n", a.style(bold, "What changed since it was approved:"))
		a.printReviewLines("", r.Lines)
		if len(r.AnchorLines) > 0 {
			a.printf("\n%s\n\n", a.style(bold, hang("", "And since "+anchorWord(r)+":")))
			a.printReviewLines("", r.AnchorLines)
		}
	}
	if len(r.Lines) == 0 || r.Live.Problem != "" || shortened(r.Lines) {
		a.printf("\n%s\n\n", a.style(bold, "The definition as it is now:"))
		a.printLines(pretty(r.Live))
	}
}

// classWord is the class that the tool has, and the one that an approval would give
// it: a change of it changes who may call.
func classWord(r admin.Review) string {
	if r.Approved == nil || r.LiveClass == r.Tool.Class {
		return r.Tool.Class
	}
	return r.Tool.Class + " → " + r.LiveClass + " if you approve this"
}

func anchorWord(r admin.Review) string {
	if g := r.AnchorBy; g != nil {
		return "what was vouched for last (" + g.Reason + ", " + actorWord(g.Actor) + ", " + clock(g.Time) + ")"
	}
	return "what was vouched for last"
}

func (a *app) printFindings(findings []admin.ScanFinding) {
	for _, f := range findings {
		word := a.style(red, "finding")
		if f.Accepted {
			word = "seen before"
		}
		a.printf("%s %s (%s): %s\n", word, visible(f.Check), f.Tier, visible(f.Label))
		a.printf("%s\n", exactly("        "+"at "+visible(f.Path)+": ", visible(f.Evidence)))
	}
}

// printSignals explains the signals of a hold that stand on no line and are no
// finding: of a comparison that is not shown, or of the scan as a whole.
func (a *app) printSignals(r admin.Review) {
	if r.Tool.Held == nil {
		return
	}
	told := map[string]bool{}
	for _, l := range slices.Concat(r.Lines, r.AnchorLines) {
		for _, s := range l.Signals {
			told[s] = true
		}
	}
	for _, s := range r.Tool.Held.Signals {
		if told[s.Signal] || strings.HasPrefix(s.Signal, "SCAN-FINDING:") {
			continue
		}
		a.printf("%s %s\n%s\n", a.style(yellow, "signal"), visible(s.Signal), hang("        ", visible(s.Explanation)))
	}
}

// printReviewLines shows what changed, fact by fact: what holds the change first.
func (a *app) printReviewLines(indent string, lines []admin.ReviewLine) {
	under := indent + "      "
	for _, l := range lines {
		word := "note"
		if len(l.Signals) > 0 {
			word = a.style(yellow, "HELD")
		}
		where := visible(l.Path)
		if where == "" {
			where = "the definition"
		}
		a.printf("%s%s  %s\n%s\n", indent, word, a.style(bold, where), hang(under, visible(l.Sentence)))
		for _, s := range l.Signals {
			a.printf("%s%s\n", under, a.style(yellow, visible(s)))
		}
		switch {
		case len(l.Runs) > 0:
			a.printf("%s\n", exactly(under, marked(l.Runs)))
			continue
		case len(l.Signals) > 0 && (l.Path == "annotations" || strings.HasPrefix(l.Path, "annotations/")):
			continue // a hint: the sentence has both values
		}
		if l.Was != "" {
			a.printf("%s\n", a.style(red, exactly(under+"- ", visible(l.Was))))
		}
		if l.Is != "" {
			a.printf("%s\n", a.style(green, exactly(under+"+ ", visible(l.Is))))
		}
	}
}

// marked writes a changed text in one, with what was taken out and what was put in
// between marks.
func marked(runs []admin.Run) string {
	var b strings.Builder
	for _, r := range runs {
		switch r.Kind {
		case "removed":
			b.WriteString("[-" + visible(r.Text) + "-]")
		case "added":
			b.WriteString("{+" + visible(r.Text) + "+}")
		default:
			b.WriteString(visible(r.Text))
		}
	}
	return b.String()
}

// shortened reports whether a line does not show all of what is new: then the whole
// is shown below.
func shortened(lines []admin.ReviewLine) bool {
	return slices.ContainsFunc(lines, func(l admin.ReviewLine) bool {
		return len(l.Runs) == 0 && strings.HasSuffix(l.Is, "…") || l.Path == "" && strings.HasPrefix(l.Sentence, "And ")
	})
}

// exactly breaks text at the width of a terminal behind a first column, and keeps
// every character of it, so that nothing can hide behind many spaces.
func exactly(first, text string) string {
	indent := utf8.RuneCountInString(first)
	var b strings.Builder
	b.WriteString(first)
	for runes := []rune(text); ; {
		room := max(width-indent, 20)
		if len(runes) <= room {
			b.WriteString(string(runes))
			return b.String()
		}
		end := room
		for end > room/2 && runes[end-1] != ' ' {
			end--
		}
		if runes[end-1] != ' ' {
			end = room
		}
		b.WriteString(string(runes[:end]) + "\n" + strings.Repeat(" ", indent))
		runes = runes[end:]
	}
}

func approvedWord(r admin.Review) string {
	if r.Approved == nil {
		return "never"
	}
	g := r.Tool.ApprovedBy
	if g == nil {
		return r.Approved.Digest
	}
	return r.Approved.Digest + "\n" + "\t" + g.Reason + ", " + actorWord(g.Actor) + ", " + clock(g.Time)
}

func (a *app) printLines(lines []string) {
	for _, l := range lines {
		a.printf("  %s\n", l)
	}
}

// pretty gives a definition as indented lines in the order its server sent, every
// invisible character escaped; inside JSON strings that is the same value.
func pretty(c admin.Contract) []string {
	v := jsontext.Value(c.Text)
	if c.Problem == "" && v.Indent(jsontext.WithIndent("  ")) == nil {
		return strings.Split(show(string(v), true), "\n")
	}
	return strings.Split(show(c.Text, true), "\n")
}
