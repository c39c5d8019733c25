package main

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/internal/admin"
)

// printReview shows what a person decides about.
func (a *app) printReview(r admin.Review) {
	t := r.Tool
	a.fields(
		"tool", visible(t.Server+"/"+toolWord(t)), "state", visible(t.Summary), "class", t.Class,
		"approved", approvedWord(r), "live", r.Live.Digest, "incarnation", t.Incarnation,
	)
	if t.Held != nil {
		for _, s := range t.Held.Signals {
			a.printf("%s %s  %s\n", a.style(yellow, "signal"), visible(s.Signal), a.style(dim, visible(s.Explanation)))
		}
		for _, f := range t.Held.Verdict.Findings {
			a.printf("%s %s (%s) at %s: %s\n", a.style(red, "finding"), visible(f.Check), f.Tier, visible(f.Path), visible(f.Evidence))
		}
	}
	if r.WhyNot != "" {
		a.printf("%s %s\n", a.style(red, "can't be approved:"), visible(r.WhyNot))
	}
	a.printf("\n")
	live := pretty(r.Live)
	if r.Approved == nil || r.Approved.Digest == r.Live.Digest {
		a.printLines(live)
		return
	}
	a.printf("%s\n%s\n", a.style(red, "--- approved"), a.style(green, "+++ live"))
	for _, l := range difference(pretty(*r.Approved), live, 3) {
		switch l[0] {
		case '-':
			a.printf("%s\n", a.style(red, l))
		case '+':
			a.printf("%s\n", a.style(green, l))
		default:
			a.printf("%s\n", l)
		}
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

// difference gives the lines of a and b marked "- ", "+ " or "  ", with some lines
// of context and "…" for what is left out in between.
func difference(a, b []string, context int) []string {
	marked := diffLines(a, b)
	keep := make([]bool, len(marked))
	for i, l := range marked {
		if l[0] == ' ' {
			continue
		}
		for j := max(0, i-context); j <= min(len(marked)-1, i+context); j++ {
			keep[j] = true
		}
	}
	var out []string
	skipped := false
	for i, l := range marked {
		if !keep[i] {
			skipped = true
			continue
		}
		if skipped {
			out, skipped = append(out, "  …"), false
		}
		out = append(out, l)
	}
	if skipped {
		out = append(out, "  …")
	}
	return out
}

// maxDiffCells bounds the table of the comparison: beyond it everything is shown
// as taken away and added, which is true too.
const maxDiffCells = 4 << 20

// diffLines is the longest common subsequence.
func diffLines(a, b []string) []string {
	var out []string
	if len(a)*len(b) > maxDiffCells {
		for _, l := range a {
			out = append(out, "- "+l)
		}
		for _, l := range b {
			out = append(out, "+ "+l)
		}
		return out
	}
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[(i+1)*width+j] >= common[i*width+j+1]):
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}
