package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sync"
	"time"
)

// ledger is the least that an audit can be: a line a call, appended to a file, which
// is on the disk before write returns. Calls at the same time share a wait for the
// disk.
type ledger struct {
	f *os.File

	mu      sync.Mutex
	lines   []byte
	next    *commit // of the lines that wait; nil: none do
	writing sync.Mutex
}

// commit is one wait for the disk.
type commit struct {
	once sync.Once
	err  error
}

func openLedger(name string) (*ledger, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return &ledger{f: f}, err
}

func (l *ledger) close() { _ = l.f.Close() } // every line is on the disk

func (l *ledger) write(tool string, arguments []byte) error {
	line := fmt.Sprintf("{\"time\":%q,\"tool\":%q,\"arguments\":\"%x\"}\n", time.Now().UTC().Format(time.RFC3339Nano), tool, sha256.Sum256(arguments))
	l.mu.Lock()
	l.lines = append(l.lines, line...)
	if l.next == nil {
		l.next = &commit{}
	}
	c := l.next
	l.mu.Unlock()
	l.writing.Lock() // whoever is first writes for all that wait with it
	defer l.writing.Unlock()
	c.once.Do(func() {
		l.mu.Lock()
		lines := l.lines
		l.lines, l.next = nil, nil
		l.mu.Unlock()
		if _, c.err = l.f.Write(lines); c.err == nil {
			c.err = syncData(l.f)
		}
	})
	return c.err
}
