// Package offline is what needs no daemon: it reads tool listings from files,
// compares two of them by the structural gate, scans one, and replays the versions
// of published servers through the law. It neither starts a program nor uses the
// network, and keeps in memory one definition at a time, beside the names.
//
// Specification: docs/design/offline.md.
package offline

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// source is the bytes of one input, readable at any place and more than once.
type source struct {
	name string // as a person gave it
	at   io.ReaderAt
	size int64
	free func()

	counted int64 // lineOf has counted up to here
	line    int
}

// standardInput is the name of what has none.
const standardInput = "standard input"

// openSource opens a file; "-" is stdin. What can't be read twice, as a pipe, is
// copied to a temporary file that nobody else can read and that has no name for long.
func openSource(path string, stdin io.Reader) (*source, error) {
	if path == "-" {
		if stdin == nil {
			return nil, fault.New(fault.BadInput, "there is no standard input to read", "Give the name of a file.")
		}
		return spool(standardInput, stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		f.Close()
		return nil, unreadable(path, err)
	case info.IsDir():
		f.Close()
		return nil, fault.New(fault.BadInput, fmt.Sprintf("%q is a folder, and a file with a tool listing is needed", path),
			"`holdfast replay` reads folders of listings.")
	case info.Mode().IsRegular():
		return &source{name: path, at: f, size: info.Size(), free: func() { f.Close() }}, nil
	}
	defer f.Close()
	return spool(path, f)
}

func unreadable(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.NotFound, fmt.Sprintf("there is no file %q", path), "")
	}
	why := err.Error()
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		why = p.Err.Error()
	}
	return fault.Wrap(err, fault.BadInput, fmt.Sprintf("%q can't be read: %s", path, why), "")
}

// inMemory is how much of a pipe is kept without a file.
const inMemory = 1 << 20 // bytes

// spool reads all of r.
func spool(name string, r io.Reader) (*source, error) {
	head, err := io.ReadAll(io.LimitReader(r, inMemory+1))
	if err != nil {
		return nil, unreadable(name, err)
	}
	if len(head) <= inMemory {
		return memory(name, head), nil
	}
	f, err := os.CreateTemp("", "holdfast-*.json")
	if err != nil {
		return nil, fault.Wrap(err, fault.Storage, fmt.Sprintf("%s is too long for memory, and no temporary file can be made", name), "See TMPDIR, or give a file.")
	}
	free := func() { f.Close(); os.Remove(f.Name()) }
	size, err := io.Copy(f, io.MultiReader(bytes.NewReader(head), r))
	if err != nil {
		free()
		return nil, fault.Wrap(err, fault.Storage, fmt.Sprintf("%s could not be copied to a temporary file", name), "See TMPDIR, or give a file.")
	}
	return &source{name: name, at: f, size: size, free: free}, nil
}

func memory(name string, raw []byte) *source {
	return &source{name: name, at: bytes.NewReader(raw), size: int64(len(raw)), free: func() {}}
}

// section reads the bytes from start to end.
func (s *source) section(start, end int64) *io.SectionReader {
	return io.NewSectionReader(s.at, start, end-start)
}

// contract reads the definition from start to end. One over contract.MaxBytes is
// never held in memory: why is what else is wrong with it, if anything.
func (s *source) contract(start, end int64, why string) (contract.Contract, error) {
	if size := end - start; size > contract.MaxBytes {
		hash := sha256.New()
		if _, err := io.Copy(hash, s.section(start, end)); err != nil {
			return contract.Contract{}, unreadable(s.name, err)
		}
		problem := fmt.Sprintf("it is too large: %d bytes, and %d is the limit", size, contract.MaxBytes)
		if why != "" {
			problem += "; and " + why
		}
		return contract.Restore(nil, contract.Digest("sha256:"+hex.EncodeToString(hash.Sum(nil))), problem)
	}
	raw := make([]byte, end-start)
	if _, err := s.at.ReadAt(raw, start); err != nil && (len(raw) > 0 || !errors.Is(err, io.EOF)) {
		return contract.Contract{}, fault.Wrap(err, fault.BadInput, fmt.Sprintf("%q changed while it was read, or can't be read any more", s.name), "Run it again.")
	}
	return contract.Parse(raw), nil
}

// lineOf gives the number of the line in which an offset stands, from 1. Offsets
// that rise cost one reading of the file in all.
func (s *source) lineOf(offset int64) int {
	if s.line == 0 || offset < s.counted {
		s.counted, s.line = 0, 1
	}
	r := bufio.NewReader(s.section(s.counted, offset))
	block := make([]byte, 32<<10)
	for {
		n, err := r.Read(block)
		s.line += bytes.Count(block[:n], []byte{'\n'})
		if err != nil {
			break
		}
	}
	s.counted = offset
	return s.line
}
