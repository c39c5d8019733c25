package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settle = 150 * time.Millisecond // how long a file must be still before it is read: editors write in steps
	poll   = 2 * time.Second        // how often it is looked at, whatever the system tells
)

// found is what stands at a path: which file, and how it was left. The zero found
// is nothing.
type found struct {
	at   string // with every link followed
	info os.FileInfo
}

func look(path string) found {
	at, err := filepath.EvalSymlinks(path)
	if err != nil {
		return found{}
	}
	info, err := os.Stat(at)
	if err != nil {
		return found{}
	}
	return found{at, info}
}

func (f found) same(g found) bool {
	if f.info == nil || g.info == nil {
		return f.info == nil && g.info == nil
	}
	return f.at == g.at && os.SameFile(f.info, g.info) && f.info.Size() == g.info.Size() && f.info.ModTime().Equal(g.info.ModTime())
}

// watched is one file that is followed: through links, when another is put in its
// place, when it goes, and when it comes, be it with its directory.
type watched struct {
	path         string
	since        found // how it was when it was read last
	settle, poll time.Duration
	log          *slog.Logger
}

// follow calls changed after each change, in its own goroutine, until ctx ends. The
// system tells of changes in the directories of the path and of what it links to;
// what it does not tell of (a link further up, a directory that was not there, a
// file system without notices) is found by looking now and then.
func (w watched) follow(ctx context.Context, changed func()) {
	var told chan fsnotify.Event // nil, which never tells, without a watcher
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		told = watcher.Events
		go func() { // an event that was lost is found by looking
			for range watcher.Errors {
			}
		}()
	} else {
		w.log.Debug("the system does not tell of changes: the configuration file is looked at now and then", "reason", plain(err))
	}
	now := time.NewTicker(w.poll)
	defer now.Stop()
	still := time.NewTimer(0)
	<-still.C
	last := w.since // as changed knows it
	next := last    // as it was seen last
	w.listen(watcher, next)
	for first := true; ; first = false {
		if !first {
			select {
			case <-ctx.Done():
				return
			case <-told:
			case <-now.C:
			case <-still.C:
				if f := look(w.path); f.same(next) && !f.same(last) {
					last = f
					changed()
				}
			}
		}
		f := look(w.path)
		if !f.same(next) || first && !f.same(last) {
			next = f
			still.Reset(w.settle)
		}
		w.listen(watcher, f)
	}
}

// listen sees to it that the directories are watched that matter now. To watch one
// again is nothing.
func (w watched) listen(watcher *fsnotify.Watcher, f found) {
	if watcher == nil {
		return
	}
	for _, path := range []string{w.path, f.at} {
		if path != "" {
			_ = watcher.Add(filepath.Dir(path)) // where it can't be, the looking is left
		}
	}
}
