package workspace

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/sandbox"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
)

// Limits of Grep.
const (
	maxMatchLine = 500      // characters of one line that are shown
	maxEvent     = 16 << 20 // bytes of one line of ripgrep's answer
	maxResults   = 20_000   // lines, files or counts that are looked at
	grepTimeout  = 60 * time.Second
)

type counted struct {
	File  string `json:"file"`
	Count int    `json:"count"`
}

// found is the structured result of Grep.
type found struct {
	Mode      string    `json:"mode"`
	Files     []string  `json:"files,omitempty"`
	Counts    []counted `json:"counts,omitempty"`
	Content   *string   `json:"content,omitempty"`
	LeftOut   int       `json:"left_out"`
	Truncated bool      `json:"truncated"`
}

// grep is the tool Grep. Where there is a sandbox ripgrep runs in it too, with what may
// not be read masked: a link that is put in its way leads nowhere, and a pattern can't be
// tried on what is left out.
func (s *Server) grep(ctx context.Context, in *judge.GrepInput, paths []policy.Resolved) result {
	if ok, why := s.o.Search.Offered(); !ok {
		return failure("Grep is not offered: %s", why)
	}
	if len(paths) != 1 {
		return failure("Nothing was searched: not one path was judged.")
	}
	// ripgrep would wait at a FIFO that it is told to read, until its time is over.
	if info, err := os.Lstat(paths[0].Real); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return failure("%s is neither a file nor a folder, and is not searched.", in.Path)
	}
	v := s.look(false, nil)
	ctx, cancel := context.WithTimeout(ctx, grepTimeout)
	defer cancel()
	g := &grepping{s: s, in: in, mode: in.OutputMode, counts: map[string]int{}}
	if g.mode == "" {
		g.mode = "files_with_matches"
	}
	complaint, err := s.ripgrep(ctx, v, append(g.flags(), "--", paths[0].Real), g.read)
	switch {
	case err != nil:
		return failure("Nothing was searched: %s", sentence(err))
	case ctx.Err() != nil:
		return failure("The search was given up: it took longer than %s. Search in a smaller folder.", grepTimeout)
	case complaint != "" && len(g.order) == 0:
		return failure("ripgrep refused the search: %s", complaint)
	}
	return g.result(v.leftOut(paths[0].Real))
}

// ripgrep runs rg, in the sandbox where there is one.
func (s *Server) ripgrep(ctx context.Context, v *survey, args []string, take func(io.Reader)) (complaint string, err error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer outR.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		_ = outW.Close()
		return "", err
	}
	defer errR.Close()
	wait, kill, err := s.startSearch(ctx, v, args, outW, errW)
	_, _ = outW.Close(), errW.Close()
	if err != nil {
		return "", err
	}
	said := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(errR, 4<<10))
		_, _ = io.Copy(io.Discard, errR)
		said <- strings.TrimSpace(string(b))
	}()
	take(outR)
	kill()
	wait()
	return <-said, nil
}

func (s *Server) startSearch(ctx context.Context, v *survey, args []string, out, errs *os.File) (wait, kill func(), err error) {
	args = append([]string{s.o.Search.program}, args...)
	if box := s.o.Shell.box; box != nil {
		p := s.o.Shell.base
		p.Mode, p.Network, p.Unix, p.Writable = sandbox.ModeReadOnly, false, false, nil
		p.Hidden, p.ReadOnly = v.hidden, v.readOnly
		proc, err := box.Start(ctx, p, sandbox.Command{Args: args, Dir: s.o.Roots[0], Stdout: out, Stderr: errs})
		if err != nil {
			return nil, nil, err
		}
		return func() { _, _ = proc.Wait() }, proc.Kill, nil
	}
	// Without a sandbox there is no Bash either, that could put a link in its way.
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir, c.Stdout, c.Stderr, c.Env = s.o.Roots[0], out, errs, []string{"PATH=" + os.Getenv("PATH")}
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	return func() { _ = c.Wait() }, func() { _ = c.Process.Kill() }, nil
}

// grepping is one search.
type grepping struct {
	s      *Server
	in     *judge.GrepInput
	mode   string
	order  []string // files with matches, as they came
	counts map[string]int
	lines  []string
	group  string // the file of the last line
	lastNo int
	more   bool // not all of it was read
}

// flags are ripgrep's arguments. What the peer sent stands behind a "=" and can't be
// taken for an option.
func (g *grepping) flags() []string {
	in := g.in
	f := []string{"--no-config", "--json", "--hidden", "--no-require-git", "--no-messages", "--glob=!.git", "--regexp=" + in.Pattern}
	if in.IgnoreCase {
		f = append(f, "--ignore-case")
	}
	if in.Multiline {
		f = append(f, "--multiline", "--multiline-dotall")
	}
	if in.Glob != "" {
		f = append(f, "--glob="+in.Glob)
	}
	if in.Type != "" {
		f = append(f, "--type="+in.Type)
	}
	switch g.mode {
	case "files_with_matches":
		return append(f, "--max-count=1")
	case "count":
		return f
	}
	for flag, n := range map[string]*int{"--after-context=": in.After, "--before-context=": in.Before, "--context=": in.Context} {
		if n != nil {
			f = append(f, fmt.Sprint(flag, min(*n, maxResults)))
		}
	}
	return append(f, "--sort=path")
}

// event is one line of ripgrep's answer.
type event struct {
	Type string `json:"type"`
	Data struct {
		Path   words `json:"path"`
		Lines  words `json:"lines"`
		Number int   `json:"line_number"`
	} `json:"data"`
}

// words are a text, or bytes that are none.
type words struct {
	Text  string `json:"text"`
	Bytes []byte `json:"bytes"`
}

func (w words) String() string {
	if w.Bytes != nil {
		return string(w.Bytes)
	}
	return w.Text
}

// read takes ripgrep's answer.
func (g *grepping) read(r io.Reader) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 64<<10), maxEvent)
	for scanner.Scan() {
		var e event
		if json.Unmarshal(scanner.Bytes(), &e) != nil || e.Type != "match" && e.Type != "context" {
			continue
		}
		if path := e.Data.Path.String(); g.s.o.Policy.Readable(path, path) {
			g.take(path, e)
		}
		if len(g.lines)+len(g.order) >= maxResults {
			g.more = true
			return
		}
	}
	g.more = g.more || scanner.Err() != nil && !errors.Is(scanner.Err(), os.ErrDeadlineExceeded)
}

func (g *grepping) take(path string, e event) {
	if e.Type == "match" {
		if g.counts[path]++; g.counts[path] == 1 {
			g.order = append(g.order, path)
		}
	}
	if g.mode != "content" {
		return
	}
	gap := g.in.After != nil || g.in.Before != nil || g.in.Context != nil
	if gap && g.group != "" && (g.group != path || e.Data.Number != g.lastNo+1) {
		g.lines = append(g.lines, "--")
	}
	number, mark := e.Data.Number, ":"
	if e.Type == "context" {
		mark = "-"
	}
	for line := range strings.Lines(e.Data.Lines.String()) {
		line = string(first([]byte(strings.TrimRight(line, "\r\n")), maxMatchLine))
		if g.in.LineNumbers == nil || *g.in.LineNumbers {
			line = fmt.Sprint(number, mark, line)
		}
		g.lines = append(g.lines, g.s.shown(path)+mark+line)
		g.lastNo = number
		number++
	}
	g.group = path
}

// result gives what was found, within the limits that were asked for.
func (g *grepping) result(left int) result {
	f := found{Mode: g.mode, LeftOut: left, Truncated: g.more}
	var lines []string
	switch g.mode {
	case "content":
		lines = window(g.lines, g.in, &f.Truncated)
		text := strings.Join(lines, "\n")
		if cut := first([]byte(text), maxShown); len(cut) < len(text) {
			text, f.Truncated = string(cut), true
		}
		f.Content = &text
		lines = nil
		if text != "" {
			lines = strings.Split(text, "\n")
		}
	case "count":
		slices.Sort(g.order)
		for _, p := range window(g.order, g.in, &f.Truncated) {
			f.Counts = append(f.Counts, counted{g.s.shown(p), g.counts[p]})
			lines = append(lines, fmt.Sprintf("%s:%d", g.s.shown(p), g.counts[p]))
		}
	default:
		slices.Sort(g.order)
		for _, p := range window(g.order, g.in, &f.Truncated) {
			f.Files = append(f.Files, g.s.shown(p))
		}
		lines = f.Files
	}
	return result{text: listed(lines, "Nothing was found.", f.Truncated, left), structured: f}
}

// window is what is between offset and head_limit.
func window(all []string, in *judge.GrepInput, truncated *bool) []string {
	if in.Offset != nil {
		all = all[min(*in.Offset, len(all)):]
	}
	if in.HeadLimit != nil && *in.HeadLimit > 0 && len(all) > *in.HeadLimit {
		all, *truncated = all[:*in.HeadLimit], true
	}
	return all
}

// listed is the text of search results, and of what is not among them.
func listed(lines []string, none string, truncated bool, left int) string {
	if len(lines) == 0 {
		lines = []string{none}
	}
	lines = slices.Clone(lines)
	for i, line := range lines {
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' }) {
			lines[i] = strconv.Quote(line) // a name may hold a line break, and look like two
		}
	}
	if truncated {
		lines = append(lines, "(There are more results.)")
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("(Left out: %s that may not be read.)", fault.Plural(left, "path")))
	}
	return strings.Join(lines, "\n")
}
