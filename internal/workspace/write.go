package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

type written struct {
	FilePath string `json:"file_path"`
	Created  bool   `json:"created"`
	Bytes    int    `json:"bytes"`
	Change   string `json:"change"`
}

type edited struct {
	FilePath     string `json:"file_path"`
	Replacements int    `json:"replacements"`
	Bytes        int    `json:"bytes"`
	Change       string `json:"change"`
}

// write is the tool Write.
func (s *Server) write(ctx context.Context, id string, in *judge.WriteInput, paths []policy.Resolved) result {
	c, problem := s.change(ctx, in.FilePath, paths)
	if problem != nil {
		return *problem
	}
	defer c.done()
	content := []byte(in.Content)
	if c.there {
		if refused := c.mayChange(); refused != nil {
			return *refused
		}
		if _, f, ok := decode(c.raw); ok {
			content = f.encode(content)
		}
	}
	change, err := c.replace(ledger.Entry{Call: id, Tool: "Write", What: c.to.Real}, content)
	if err != nil {
		return unwritten(in.FilePath, err)
	}
	did := "Wrote"
	if !c.there {
		did = "Created"
	}
	return result{
		text:       fmt.Sprintf("%s %s (%s).", did, in.FilePath, fault.Plural(len(content), "byte")),
		structured: written{s.shown(c.to.Real), !c.there, len(content), change},
	}
}

// edit is the tool Edit.
func (s *Server) edit(ctx context.Context, id string, in *judge.EditInput, paths []policy.Resolved) result {
	c, problem := s.change(ctx, in.FilePath, paths)
	if problem != nil {
		return *problem
	}
	defer c.done()
	if !c.there {
		return failure("%s does not exist. Create it with Write.", in.FilePath)
	}
	if refused := c.mayChange(); refused != nil {
		return *refused
	}
	text, f, ok := decode(c.raw)
	if !ok {
		return failure("%s is a binary file, and those are not edited.", in.FilePath)
	}
	old, replacement := in.OldString, in.NewString
	if f.crlf {
		old, replacement = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(replacement, "\r\n", "\n")
	}
	n := bytes.Count(text, []byte(old))
	switch {
	case old == "":
		return failure("old_string is empty: it must be a text that stands in %s.", in.FilePath)
	case old == replacement:
		return failure("old_string and new_string are the same: nothing would change.")
	case n == 0:
		return failure("old_string was found 0 times in %s. It must be there exactly, with its blanks and line breaks; read the file again.", in.FilePath)
	case n > 1 && !in.ReplaceAll:
		return failure("old_string was found %d times in %s. Give more of what stands around the place that is meant, or set replace_all.", n, in.FilePath)
	case len(text)+n*(len(replacement)-len(old)) > maxFile:
		return failure("%s would have more than %d bytes then, which is the most that is written.", in.FilePath, maxFile)
	}
	content := f.encode(bytes.ReplaceAll(text, []byte(old), []byte(replacement)))
	change, err := c.replace(ledger.Entry{Call: id, Tool: "Edit", What: c.to.Real}, content)
	if err != nil {
		return unwritten(in.FilePath, err)
	}
	return result{
		text:       fmt.Sprintf("Replaced %d of %d in %s.", n, n, in.FilePath),
		structured: edited{s.shown(c.to.Real), n, len(content), change},
	}
}

// shown is a real path as results have it: relative to the workspace where it lies in it.
func (s *Server) shown(real string) string {
	if rel, err := filepath.Rel(s.o.Roots[0], real); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return real
}

func unwritten(path string, err error) result {
	if errors.Is(err, errSwapped) {
		return failure("%s was not written: %v. Read it again.", path, err)
	}
	return failure("%s was not written: %v.", path, err)
}

// changing is one file while it is changed: nobody else here changes it meanwhile.
type changing struct {
	s     *Server
	given string
	to    policy.Resolved
	there bool
	info  fs.FileInfo
	raw   []byte
	leave func()
}

// change waits for its turn at a file and reads what is there.
func (s *Server) change(ctx context.Context, given string, paths []policy.Resolved) (*changing, *result) {
	if len(paths) != 1 {
		r := failure("%s was not written: not one path was judged.", given)
		return nil, &r
	}
	c := &changing{s: s, given: given, to: paths[0]}
	var err error
	if c.leave, err = s.enter(ctx, c.to.Real); err != nil {
		r := failure("%s was not written: the call was given up while another one changed the file.", given)
		return nil, &r
	}
	if err := c.look(); err != nil {
		c.done()
		r := unwritten(given, err)
		return nil, &r
	}
	return c, nil
}

func (c *changing) done() { c.leave() }

// look reads what is at the path.
func (c *changing) look() error {
	at, err := c.s.tree.find(c.to, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer at.Close()
	f, info, err := at.openRegular()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > maxFile {
		return fmt.Errorf("it has %d bytes, more than the %d of a file that is changed", info.Size(), maxFile)
	}
	c.there, c.info = true, info
	c.raw, err = readAll(f, info.Size(), maxFile)
	return err
}

// mayChange holds a file that is there against what was read of it on this connection.
func (c *changing) mayChange() *result {
	var r result
	switch known, ok := c.s.known(c.to.Real); {
	case !ok:
		r = failure("%s was not read yet. Read it before it is changed.", c.given)
	case known != markOf(c.raw):
		r = failure("%s was changed since it was read. Read it again before it is changed.", c.given)
	default:
		return nil
	}
	return &r
}

// replace writes the change down and carries it out: a temporary file, its bytes on the
// disk, a rename. It gives the id of the change.
func (c *changing) replace(e ledger.Entry, content []byte) (id string, err error) {
	if len(content) > maxFile {
		return "", fmt.Errorf("it has %d bytes, more than the %d that are written", len(content), maxFile)
	}
	s := c.s
	mode := fs.FileMode(0)
	before := ledger.State{Kind: ledger.Absent}
	if c.there {
		mode = c.info.Mode().Perm()
		if before, err = s.o.Ledger.Keep(c.raw, mode, s.o.Policy.Readable(c.to.Real, c.to.Real)); err != nil {
			return "", err
		}
	}
	after := ledger.Describe(content, mode)
	e.Session = s.o.Session
	e.Changes = append(s.missing(c.to), ledger.Change{Path: c.to.Real, Before: before, After: after})
	d, err := s.o.Ledger.Begin(e)
	if err != nil {
		return "", err
	}
	if err := c.put(content); err != nil {
		d.Drop()
		return "", err
	}
	s.note(c.to.Real, markOf(content))
	// It is done: what can't be completed in the ledger is there as it was begun.
	_ = d.End(func(e *ledger.Entry) {})
	return d.ID(), nil
}

// missing gives the folders that have to be made for a path, as changes.
func (s *Server) missing(p policy.Resolved) []ledger.Change {
	var made []ledger.Change
	for dir := filepath.Dir(p.Real); len(dir) > len(s.tree.paths[p.Root]); dir = filepath.Dir(dir) {
		at, err := s.tree.find(policy.Resolved{Real: dir, Root: p.Root}, false)
		if err == nil {
			_, err = at.Lstat(at.name)
			_ = at.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append([]ledger.Change{{Path: dir, Before: ledger.State{Kind: ledger.Absent}, After: ledger.State{Kind: ledger.Folder}}}, made...)
	}
	return made
}

// put writes the file.
func (c *changing) put(content []byte) error {
	at, err := c.s.tree.find(c.to, true)
	if err != nil {
		return err
	}
	defer at.Close()
	temporary := ".holdfast-" + rand.Text() + ".tmp"
	f, err := at.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && c.there {
		sameOwner(f, c.info)
		err = f.Chmod(c.info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = c.still(at)
	}
	if err == nil {
		err = at.Rename(temporary, at.name)
	}
	if err != nil {
		_ = at.Remove(temporary)
		return err
	}
	syncFolder(at.Root)
	return nil
}

// still reports whether what is at the path is what was looked at.
func (c *changing) still(at spot) error {
	now, err := at.Lstat(at.name)
	switch {
	case !c.there && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !c.there || !os.SameFile(now, c.info) || now.Size() != c.info.Size() || !now.ModTime().Equal(c.info.ModTime()):
		return errSwapped
	}
	return nil
}

// syncFolder makes a rename durable, where the system can.
func syncFolder(r *os.Root) {
	if d, err := r.Open("."); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// turn is the queue at one file.
type turn struct {
	free  chan struct{} // holds one while nobody is at it
	users int
}

// enter waits for the turn at a file.
func (s *Server) enter(ctx context.Context, real string) (leave func(), err error) {
	s.mu.Lock()
	t := s.busy[real]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		s.busy[real] = t
	}
	t.users++
	s.mu.Unlock()
	gone := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(s.busy, real)
		}
	}
	select {
	case <-t.free:
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
	return func() {
		t.free <- struct{}{}
		gone()
	}, nil
}
