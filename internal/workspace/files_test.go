package workspace_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

const acceptEdits = "acceptEdits"

func TestRead(t *testing.T) {
	long := strings.Repeat("x", 3000)
	r := newRig(t, setup{files: map[string]string{
		"a.txt": "one\ntwo\nthree", "empty": "", "long": long + "\nend\n", "dir/b.txt": "b\n",
		"crlf": "a\r\nb\r\n", "bin": "a\x00b", "many": strings.Repeat("line\n", 2500),
		"latin1": "caf\xe9\n", "utf16": "\xff\xfeh\x00i\x00\n\x00",
	}})
	r.call("Read", "file_path", "a.txt").ok("     1→one\n     2→two\n     3→three")
	r.call("Read", "file_path", r.path("dir/b.txt")).ok("     1→b")
	r.call("Read", "file_path", "a.txt", "offset", 2, "limit", 1).ok("     2→two", "(1 more line; go on with offset 3.)")
	r.call("Read", "file_path", "a.txt", "offset", 9).ok("only 3 lines")
	r.call("Read", "file_path", "empty").ok("empty")
	r.call("Read", "file_path", "crlf").ok("     1→a\n     2→b")
	r.call("Read", "file_path", "latin1").ok("     1→caf�")
	r.call("Read", "file_path", "utf16").ok("     1→hi")
	if text := r.call("Read", "file_path", "long").ok("cut here").text(); len(text) > 2100 {
		t.Errorf("a long line has %d bytes", len(text))
	}
	r.call("Read", "file_path", "many").ok("  2000→line", "500 more lines")
	r.call("Read", "file_path", "bin").fails("binary")
	r.call("Read", "file_path", "gone").fails("does not exist")
	r.call("Read", "file_path", "dir").fails("a folder")
	r.call("Read", "file_path", "/etc/passwd").refused(dispatch.BySandbox, "--add-dir")
	r.call("Read", "file_path", "../home/.config/holdfast/settings.json").refused(dispatch.BySandbox)
}

func TestReadLimitsAndImages(t *testing.T) {
	png := "\x89PNG\r\n\x1a\nrest"
	r := newRig(t, setup{files: map[string]string{"i.png": png, "big": ""}})
	r.must(os.Truncate(r.path("big"), 10<<20+1))
	a := r.call("Read", "file_path", "i.png").ok()
	if a.Content[0].Type != "image" || a.Content[0].MimeType != "image/png" || a.Content[0].Data != base64.StdEncoding.EncodeToString([]byte(png)) {
		t.Errorf("%+v", a.Content)
	}
	r.call("Read", "file_path", "big").fails("more than the 10485760")
}

func TestWrite(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"a.txt": "old\n", "run.sh": "#!/bin/sh\n", "crlf": "a\r\nb\r\n"}, mode: acceptEdits})
	a := r.call("Write", "file_path", "new/deep/f.txt", "content", "hi\n").ok("Created new/deep/f.txt")
	if a.Structured["created"] != true || a.Structured["bytes"] != 3.0 || a.Structured["file_path"] != "new/deep/f.txt" || a.Structured["change"] == "" {
		t.Errorf("%+v", a.Structured)
	}
	r.holds("new/deep/f.txt", "hi\n")
	r.call("Write", "file_path", "new/deep/f.txt", "content", "again\n").ok() // it is known: it was written here

	r.call("Write", "file_path", "a.txt", "content", "new\n").fails("was not read yet")
	r.holds("a.txt", "old\n")
	r.call("Read", "file_path", "a.txt").ok()
	r.put("a.txt", "other\n")
	r.call("Write", "file_path", "a.txt", "content", "new\n").fails("changed since")
	r.holds("a.txt", "other\n")
	r.call("Read", "file_path", "a.txt", "limit", 1).ok()
	r.call("Write", "file_path", "a.txt", "content", "new\n").ok("Wrote")
	r.holds("a.txt", "new\n")

	r.must(os.Chmod(r.path("run.sh"), 0o750))
	r.call("Read", "file_path", "run.sh").ok()
	r.call("Write", "file_path", "run.sh", "content", "#!/bin/bash\n").ok()
	if info, err := os.Stat(r.path("run.sh")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the mode is %v (%v)", info.Mode(), err)
	}
	r.call("Read", "file_path", "crlf").ok()
	r.call("Write", "file_path", "crlf", "content", "x\ny\n").ok()
	r.holds("crlf", "x\r\ny\r\n")
	if left, _ := filepath.Glob(r.path(".holdfast-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A denied Write leaves no file, and no folder on its way.
func TestDeniedWriteLeavesNothing(t *testing.T) {
	r := newRig(t, setup{})
	r.call("Write", "file_path", "new/f.txt", "content", "x").refused(dispatch.ByAsk, "permissions.allow", "--mode")
	r.absent("new")
	r = newRig(t, setup{mode: "bypassPermissions", trusted: true, contract: "version: 1\nrules:\n  - glob: \"*.lock\"\n    write: deny\n    owner: ops\n    reason: it is generated\n"})
	r.call("Write", "file_path", "new/a.lock", "content", "x").refused(dispatch.ByContract, "it is generated")
	r.absent("new")
	r.call("Write", "file_path", ".git/hooks/pre-commit", "content", "x").refused(dispatch.ByRules)
	r.absent(".git")
}

// An allow rule works with no change of mode.
func TestAllowRule(t *testing.T) {
	r := newRig(t, setup{user: `{"permissions":{"allow":["Edit(./src)"]}}`, files: map[string]string{"src/keep": ""}})
	r.call("Write", "file_path", "src/f.txt", "content", "x").ok()
	r.holds("src/f.txt", "x")
	r.call("Write", "file_path", "f.txt", "content", "x").refused(dispatch.ByAsk)
}

func TestEdit(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"a.txt": "a.b a.b\n", "crlf": "one\r\ntwo\r\n", "mixed": "a\r\nb\n", "latin1": "caf\xe9 au lait\n", "bom": "\xef\xbb\xbfhi\n", "utf16": "\xff\xfeh\x00i\x00"}, mode: acceptEdits})
	edit := func(file, from, to string, more ...any) answer {
		t.Helper()
		r.call("Read", "file_path", file).ok()
		return r.call("Edit", append([]any{"file_path", file, "old_string", from, "new_string", to}, more...)...)
	}
	r.call("Edit", "file_path", "a.txt", "old_string", "a", "new_string", "b").fails("was not read yet")
	edit("a.txt", "x", "y").fails("found 0 times")
	edit("a.txt", "a.b", "y").fails("found 2 times", "replace_all")
	edit("a.txt", "a?b", "y").fails("found 0 times")
	if a := edit("a.txt", "a.b", "$0", "replace_all", true).ok("Replaced 2"); a.Structured["replacements"] != 2.0 {
		t.Errorf("%+v", a.Structured)
	}
	r.holds("a.txt", "$0 $0\n")
	edit("crlf", "one\ntwo", "1\n2\n3").ok()
	r.holds("crlf", "1\r\n2\r\n3\r\n")
	edit("mixed", "b", "c").ok()
	r.holds("mixed", "a\r\nc\n")
	edit("latin1", "lait", "l").ok()
	r.holds("latin1", "caf\xe9 au l\n")
	edit("bom", "hi", "ho").ok()
	r.holds("bom", "\xef\xbb\xbfho\n")
	edit("utf16", "hi", "hö").ok()
	r.holds("utf16", "\xff\xfeh\x00\xf6\x00")
	r.call("Edit", "file_path", "gone", "old_string", "a", "new_string", "b").fails("does not exist")
	r.put("a.txt", "changed\n")
	r.call("Edit", "file_path", "a.txt", "old_string", "changed", "new_string", "b").fails("changed since")
	r.holds("a.txt", "changed\n")
}

// A write through a link changes its target; a hard link's other name keeps what it had.
func TestWriteThroughLinks(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"real/a": "x", "hard": "x"}, mode: acceptEdits})
	r.must(os.Symlink("real/a", r.path("link")))
	r.must(os.Link(r.path("hard"), r.path("other")))
	r.call("Read", "file_path", "link").ok()
	r.call("Write", "file_path", "link", "content", "y").ok()
	r.holds("real/a", "y")
	if info, err := os.Lstat(r.path("link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is none any more")
	}
	r.call("Read", "file_path", "hard").ok()
	r.call("Write", "file_path", "hard", "content", "y").ok()
	r.holds("other", "x")
}

// While links and folders are swapped under the calls, nothing is read or written but
// what was judged.
func TestSwappedLinks(t *testing.T) {
	r := newRig(t, setup{
		files: map[string]string{"open/f": "public", "secret/f": "SECRET"}, mode: acceptEdits,
		user: `{"permissions":{"deny":["Read(secret)"]}}`,
	})
	outside := filepath.Join(filepath.Dir(r.dir), "outside")
	r.must(os.MkdirAll(outside, 0o755))
	r.must(os.WriteFile(filepath.Join(outside, "f"), []byte("SECRET"), 0o600))
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			to := []string{"secret", outside}[i%2]
			_ = os.Rename(r.path("open"), r.path("away"))
			_ = os.Symlink(to, r.path("open"))
			_ = os.Remove(r.path("open"))
			_ = os.Rename(r.path("away"), r.path("open"))
		}
	})
	for i := range 300 {
		if a := r.call("Read", "file_path", "open/f"); strings.Contains(a.text(), "SECRET") {
			t.Fatalf("call %d read what may not be read", i)
		}
		r.call("Write", "file_path", fmt.Sprintf("open/new%d", i%5), "content", "x")
		if a := r.call("Glob", "pattern", "**"); strings.Contains(a.text(), "outside") {
			t.Fatalf("call %d looked outside: %s", i, a.text())
		}
	}
	close(stop)
	swapping.Wait()
	for _, dir := range []string{outside, r.path("secret")} {
		list, err := os.ReadDir(dir)
		r.must(err)
		if len(list) != 1 {
			t.Errorf("%s was written to: %v", dir, list)
		}
	}
}

// Calls that change one file follow each other: none is lost.
func TestEditsAreSerialised(t *testing.T) {
	var lines strings.Builder
	for i := range 20 {
		fmt.Fprintf(&lines, "line %d.\n", i)
	}
	r := newRig(t, setup{files: map[string]string{"n": lines.String()}, mode: acceptEdits})
	r.call("Read", "file_path", "n").ok()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			r.call("Edit", "file_path", "n", "old_string", fmt.Sprintf("line %d.", i), "new_string", fmt.Sprintf("done %d.", i)).ok()
		})
	}
	all.Wait()
	if b, _ := os.ReadFile(r.path("n")); strings.Contains(string(b), "line") {
		t.Errorf("an edit was lost: %s", b)
	}
}

// What a call changed is written down, and taken back.
func TestLedgerOfWrites(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"a.txt": "old\n", ".env": "KEY=1\n"}, mode: acceptEdits})
	r.call("Read", "file_path", "a.txt").ok()
	id := r.call("Write", "file_path", "a.txt", "content", "new\n").ok().Structured["change"].(string)
	e, err := r.ledger.Entry(id)
	r.must(err)
	if len(e.Changes) != 1 || e.Tool != "Write" || e.Ended.IsZero() || e.Changes[0].Before.Kind != ledger.File || !e.Changes[0].Before.Kept {
		t.Fatalf("%+v", e)
	}
	if b, err := r.ledger.Content(e.Changes[0].Before); err != nil || string(b) != "old\n" {
		t.Errorf("%q, %v", b, err)
	}
	r.must(filepath.WalkDir(filepath.Join(r.o.State, "ledger"), func(path string, d os.DirEntry, _ error) error {
		if info, err := d.Info(); err == nil && !d.IsDir() && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return nil
	}))
	r.call("Read", "file_path", filepath.Join(r.o.State, "ledger", "changes", id+".json")).refused(dispatch.BySandbox)
}
