package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWatchedFile: whatever way a file changes, it is noticed, and once; also where
// the system tells of nothing.
func TestWatchedFile(t *testing.T) {
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		path   string // of the file, in the directory of the test
		before func(t *testing.T, dir string)
		change []func(t *testing.T, dir string)
	}{
		"written in place": {"f", func(t *testing.T, dir string) { write(t, dir+"/f", "1") }, []func(*testing.T, string){
			func(t *testing.T, dir string) { write(t, dir+"/f", "22") },
		}},
		"another in its place": {"f", func(t *testing.T, dir string) { write(t, dir+"/f", "1") }, []func(*testing.T, string){
			func(t *testing.T, dir string) { write(t, dir+"/g", "2"); must(t, os.Rename(dir+"/g", dir+"/f")) },
			func(t *testing.T, dir string) { write(t, dir+"/g", "3"); must(t, os.Rename(dir+"/g", dir+"/f")) },
		}},
		"deleted and made again": {"f", func(t *testing.T, dir string) { write(t, dir+"/f", "1") }, []func(*testing.T, string){
			func(t *testing.T, dir string) { must(t, os.Remove(dir+"/f")) },
			func(t *testing.T, dir string) { write(t, dir+"/f", "1") },
		}},
		"what a link leads to": {"l", func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir+"/far", 0o700))
			write(t, dir+"/far/f", "1")
			must(t, os.Symlink(dir+"/far/f", dir+"/l"))
		}, []func(*testing.T, string){
			func(t *testing.T, dir string) { write(t, dir+"/far/f", "22") },
			func(t *testing.T, dir string) {
				write(t, dir+"/far/g", "3")
				must(t, os.Rename(dir+"/far/g", dir+"/far/f"))
			},
		}},
		"a link that leads elsewhere": {"l", func(t *testing.T, dir string) {
			write(t, dir+"/a", "1")
			write(t, dir+"/b", "1")
			must(t, os.Symlink(dir+"/a", dir+"/l"))
		}, []func(*testing.T, string){
			func(t *testing.T, dir string) {
				must(t, os.Symlink(dir+"/b", dir+"/l2"))
				must(t, os.Rename(dir+"/l2", dir+"/l"))
			},
			func(t *testing.T, dir string) { write(t, dir+"/b", "22") },
		}},
		"a link further up": {"up/f", func(t *testing.T, dir string) {
			for _, d := range []string{"/a", "/b"} {
				must(t, os.Mkdir(dir+d, 0o700))
				write(t, dir+d+"/f", d)
			}
			must(t, os.Symlink(dir+"/a", dir+"/up"))
		}, []func(*testing.T, string){
			func(t *testing.T, dir string) {
				must(t, os.Symlink(dir+"/b", dir+"/up2"))
				must(t, os.Rename(dir+"/up2", dir+"/up"))
			},
		}},
		"comes with its directory": {"later/deep/f", func(*testing.T, string) {}, []func(*testing.T, string){
			func(t *testing.T, dir string) {
				must(t, os.MkdirAll(dir+"/later/deep", 0o700))
				write(t, dir+"/later/deep/f", "1")
			},
			func(t *testing.T, dir string) { write(t, dir+"/later/deep/f", "22") },
			func(t *testing.T, dir string) { must(t, os.RemoveAll(dir+"/later")) },
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.before(t, dir)
			path := filepath.Join(dir, c.path)
			ctx, cancel := context.WithCancel(t.Context())
			told, ended := make(chan found, 10), make(chan bool)
			since := look(path)
			go func() {
				defer close(ended)
				watched{path: path, since: since, settle: 20 * time.Millisecond, poll: 100 * time.Millisecond, log: slog.New(slog.DiscardHandler)}.
					follow(ctx, func() { told <- look(path) })
			}()
			for i, change := range c.change {
				change(t, dir)
				select {
				case f := <-told:
					if !f.same(look(path)) {
						t.Errorf("change %d: it was told too early", i)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("change %d was not noticed", i)
				}
			}
			cancel()
			<-ended
			if len(told) > 0 {
				t.Error("nothing changed any more, and it was told")
			}
		})
	}
}

// TestWatchedSinceItWasRead: what changed before the watching began counts too.
func TestWatchedSinceItWasRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	since := look(path)
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	watched{path: path, since: since, settle: time.Millisecond, poll: time.Hour, log: slog.New(slog.DiscardHandler)}.follow(ctx, cancel)
}
