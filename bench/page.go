package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// columns of a case, for the terminal and the page.
var columns = []string{"", "p50", "p99", "calls/s", "CPU a call", "RSS", "p50 ×", "p99 ×", "calls/s ×", "p50 × SDK", "calls/s × SDK", "p50 × record", "calls/s × record"}

func (f figures) cells() []string {
	return []string{
		f.name, short(f.p50), short(f.p99), fmt.Sprintf("%.0f", f.rate), short(f.cpu), size(int(f.rss)),
		times(f.direct.p50), times(f.direct.p99), times(f.direct.rate), times(f.forward.p50), times(f.forward.rate), times(f.record.p50), times(f.record.rate),
	}
}

func times(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", v)
}

// short is a duration with three digits.
func short(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	}
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// size is a number of bytes with its unit.
func size(n int) string {
	switch {
	case n == 0:
		return "-"
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%d KB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1000_000)
}

func printCase(w io.Writer, o outcome) {
	fmt.Fprintf(w, "\n%s, %s\n", o.transport, size(o.payload))
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join(columns, "\t")+"\t")
	for _, f := range o.figures {
		fmt.Fprintln(t, strings.Join(f.cells(), "\t")+"\t")
	}
	_ = t.Flush() // to a terminal, as all of fmt here
}

// Marks in the page between which the figures stand.
var begin, end = []byte("<!-- figures: written by make bench BENCHFLAGS=-write -->\n"), []byte("<!-- end of figures -->\n")

// titles are the transports as the page names them.
var titles = map[string]string{"http": "HTTP", "stdio": "stdio"}

// writePage renews the figures in the page and leaves its text alone.
func writePage(name string, p plan, cases []outcome) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(page, begin)
	_, after, ok2 := bytes.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s does not have the lines %q and %q, between which the figures stand", name, bytes.TrimSpace(begin), bytes.TrimSpace(end))
	}
	var b bytes.Buffer
	b.Write(before)
	b.Write(begin)
	fmt.Fprintf(&b, "\n%s, %s/%s, %d processors, %d rounds, %d calls at a time for calls/s.\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), p.rounds, p.concurrent)
	for _, o := range cases {
		fmt.Fprintf(&b, "\n### %s, %s\n\n| %s |\n|%s\n", titles[o.transport], size(o.payload),
			strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
		for _, f := range o.figures {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(f.cells(), " | "))
		}
	}
	b.WriteByte('\n')
	b.Write(end)
	b.Write(after)
	return os.WriteFile(name, b.Bytes(), 0o644)
}
