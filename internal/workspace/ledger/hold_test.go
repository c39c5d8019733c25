package ledger

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// A Hold is alive until it is released or its process leaves it.
func TestHold(t *testing.T) {
	l, _ := newLedger(t)
	held := Held{Session: "s", Roots: []string{"/p"}, Paths: map[string]uint64{"/p/.envrc": 7}}
	h, err := l.Hold(held)
	if err != nil {
		t.Fatal(err)
	}
	all, err := l.Left()
	if err != nil || len(all) != 1 || !all[0].Alive || all[0].Paths["/p/.envrc"] != 7 {
		t.Fatalf("%+v, %v", all, err)
	}
	h.Leave()
	h.Release() // too late
	if all, err = l.Left(); err != nil || len(all) != 1 || all[0].Alive || all[0].Last.IsZero() {
		t.Fatalf("%+v, %v", all, err)
	}
	l.Forget(all[0])
	h, _ = l.Hold(held)
	h.Release()
	if all, err = l.Left(); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	l.Close()
	if _, err := l.Hold(held); fault.KindOf(err) != fault.Storage {
		t.Errorf("%v", err)
	}
	if _, err := l.Left(); fault.KindOf(err) != fault.Storage {
		t.Errorf("%v", err)
	}
}
