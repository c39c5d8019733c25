package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
)

// Limits of Read.
const (
	maxFile     = 10 << 20 // bytes of a file that is read or changed
	usualLines  = 2000
	maxLine     = 2000 // characters of one line that are shown
	cutLine     = " ... (the line is longer and cut here)"
	numberWidth = 6
)

// read is the tool Read.
func (s *Server) read(in *judge.ReadInput, paths []policy.Resolved) result {
	var at spot
	var err error
	real := ""
	switch {
	case len(paths) == 1:
		real = paths[0].Real
		at, err = s.tree.find(paths[0], false)
	case len(paths) == 0:
		at, err = s.outputs.find(in.FilePath)
	default:
		err = errors.New("more than one file was judged")
	}
	if err != nil {
		return unopened(in.FilePath, err)
	}
	defer at.Close()
	f, info, err := at.openRegular()
	if err != nil {
		return unopened(in.FilePath, err)
	}
	defer f.Close()
	most := int64(maxFile)
	if real == "" {
		most = maxOutput + 1<<10
	}
	if info.Size() > most {
		return failure("%s has %d bytes, more than the %d that are read. Search in it with Grep, or let Bash show a part of it.", in.FilePath, info.Size(), most)
	}
	buf := contents.Get().(*bytes.Buffer)
	buf.Reset()
	defer contents.Put(buf) // nothing of the result lies in it
	raw, err := readInto(buf, f, info.Size(), most)
	if err != nil {
		return unopened(in.FilePath, err)
	}
	if real != "" {
		s.note(real, markOf(raw))
	}
	if mime := imageType(raw); mime != "" {
		return result{image: bytes.Clone(raw), mime: mime}
	}
	text, _, ok := decode(raw)
	if !ok {
		return failure("%s is a binary file, and those are not shown.", in.FilePath)
	}
	return number(text, in)
}

// unopened is the result of a file that can't be opened.
func unopened(path string, err error) result {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure("%s does not exist. Find files with Glob.", path)
	case errors.Is(err, errSwapped):
		return failure("%s was not opened: %v. Call again.", path, err)
	}
	return failure("%s can't be opened: %s.", path, plain(err))
}

// readAll reads a file of about size bytes; of a file that grows meanwhile over the
// limit it is an error.
func readAll(f io.Reader, size, most int64) ([]byte, error) {
	return readInto(new(bytes.Buffer), f, size, most)
}

// contents are what files were read into and may be again: most of what reading a large
// file costs is getting memory for it.
var contents = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readInto is readAll into an empty buffer, of which the result is a part.
func readInto(b *bytes.Buffer, f io.Reader, size, most int64) ([]byte, error) {
	b.Grow(int(size) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(f, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return b.Bytes(), err
}

// number gives the lines that were asked for with their numbers, as `cat -n` does.
func number(text []byte, in *judge.ReadInput) result {
	if len(text) == 0 {
		return result{text: "(The file is empty.)"}
	}
	first, limit := 1, usualLines
	if in.Offset != nil {
		first = max(*in.Offset, 1)
	}
	if in.Limit != nil {
		limit = *in.Limit
	}
	rest, at := text, 1
	for ; at < first && len(rest) > 0; at++ {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	if len(rest) == 0 {
		return result{text: fmt.Sprintf("(The file has only %s.)", fault.Plural(at-1, "line"))}
	}
	out := make([]byte, 0, min(len(rest), limit*100)+limit*4)
	for n := 0; n < limit && len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		out = appendNumber(out, at)
		out = appendLine(out, line)
		out = append(out, '\n')
		at++
	}
	if len(rest) > 0 {
		more := bytes.Count(rest, []byte("\n"))
		if rest[len(rest)-1] != '\n' {
			more++
		}
		out = fmt.Appendf(out, "(%s; go on with offset %d.)\n", fault.Plural(more, "more line"), at)
	}
	return result{text: string(out[:len(out)-1])}
}

func appendNumber(out []byte, n int) []byte {
	var b [20]byte
	digits := strconv.AppendInt(b[:0], int64(n), 10)
	for range numberWidth - len(digits) {
		out = append(out, ' ')
	}
	out = append(out, digits...)
	return append(out, "→"...)
}

// appendLine appends at most maxLine characters of a line.
func appendLine(out, line []byte) []byte {
	if len(line) <= maxLine || utf8.RuneCount(line) <= maxLine {
		return append(out, line...)
	}
	end := 0
	for range maxLine {
		_, n := utf8.DecodeRune(line[end:])
		end += n
	}
	return append(append(out, line[:end]...), cutLine...)
}

// mark is what a file's content was when it was read: a hash under a key of this process,
// which nobody can make another content for. It is compared with others of this process
// alone.
type mark uint64

var markKey = maphash.MakeSeed()

func markOf(raw []byte) mark { return mark(maphash.Bytes(markKey, raw)) }

// note remembers that a file was read, or written, with this content.
func (s *Server) note(real string, m mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[real] = m
}

// known gives the content that a file had when it was last read or written here.
func (s *Server) known(real string) (mark, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.seen[real]
	return m, ok
}
