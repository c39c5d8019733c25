package ledger

import (
	"io/fs"
	"reflect"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// A Hold is alive until it is released or its process leaves it.
func TestHold(t *testing.T) {
	l, _ := newLedger(t)
	held := Held{Session: "s", Roots: []string{"/p"}, Since: 5, Dark: []string{"/p/\xfc"}, Paths: map[string]Mark{"/p/b\xfcro/.envrc": {Kind: fs.ModeSymlink, Device: 1, Inode: 7, Born: 9, Target: "\xff"}}}
	h, err := l.Hold(held)
	if err != nil {
		t.Fatal(err)
	}
	all, err := l.Left()
	if err != nil || len(all) != 1 || !all[0].Alive || !reflect.DeepEqual(all[0].Held, held) {
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

// What another version of this program wrote down is passed over: taken for this one's,
// it would say that nothing was there.
func TestHoldOfAnotherForm(t *testing.T) {
	l, _ := newLedger(t)
	for _, text := range []string{"", "{", `{"session":"s","roots":["/p"],"paths":{"/p/.envrc":7}}`, `{"form":3,"session":"s"}`} {
		if err := l.running.WriteFile("s-1.json", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := l.Left(); err != nil || len(all) != 0 {
			t.Errorf("%s: %+v, %v", text, all, err)
		}
	}
}

func TestMarks(t *testing.T) {
	m := Mark{Kind: fs.ModeSymlink, Device: 1, Inode: 2, Born: 3, Target: "a"}
	for other, want := range map[Mark]bool{
		m: true, {Kind: m.Kind, Inode: 2, Target: "a"}: true,
		{Kind: 0, Device: 1, Inode: 2, Born: 3, Target: "a"}:      false,
		{Kind: m.Kind, Device: 2, Inode: 2, Born: 3, Target: "a"}: false,
		{Kind: m.Kind, Device: 1, Inode: 3, Born: 3, Target: "a"}: false,
		{Kind: m.Kind, Device: 1, Inode: 2, Born: 4, Target: "a"}: false,
		{Kind: m.Kind, Device: 1, Inode: 2, Born: 3, Target: "b"}: false,
	} {
		if m.Is(other) != want || other.Is(m) != want {
			t.Errorf("%+v", other)
		}
	}
}
