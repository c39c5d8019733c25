package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// chooseAndSay is the role that looks for a sandbox where there may be none.
func chooseAndSay() int {
	var p sandbox.Policy
	if err := json.Unmarshal([]byte(os.Getenv("POLICY")), &p); err != nil {
		fmt.Println(err)
		return 1
	}
	s, d, err := sandbox.Choose(context.Background(), p)
	fmt.Println("chosen:", d.Chosen)
	fmt.Println("causes:", strings.Join(d.Causes, " | "))
	fmt.Println("kind:", fault.KindOf(err), s == nil)
	return 0
}

func TestChooseTakesBubblewrap(t *testing.T) {
	needBubblewrap(t)
	for _, hidden := range []int{0, 3, 300} {
		for _, change := range []func(*sandbox.Policy){
			func(*sandbox.Policy) {},
			func(p *sandbox.Policy) { p.Mode = sandbox.ModeReadOnly },
			func(p *sandbox.Policy) { p.Network, p.Unix = true, true },
		} {
			p := policy(t, hidden)
			change(&p)
			s, d, err := sandbox.Choose(t.Context(), p)
			if err != nil || s.Name() != "bubblewrap" || d.Chosen != "bubblewrap" || len(d.Causes) > 0 {
				t.Errorf("%d hidden: %v %+v %v", hidden, s, d, err)
			}
		}
	}
}

// TestChooseWhereNamespacesAreRefused looks for a sandbox within one, where there can't
// be another: for most policies there is none, and the reasons are said.
func TestChooseWhereNamespacesAreRefused(t *testing.T) {
	needBubblewrap(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	try := func(p sandbox.Policy) string {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		outer := p
		outer.Network = false
		outer.Readable = []string{filepath.Dir(program)}
		outer.Env = []string{"PATH=/usr/bin:/bin", roleVar + "=choose", "POLICY=" + string(text)}
		out, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		proc, err := sandbox.Bubblewrap().Start(t.Context(), outer, sandbox.Command{Args: []string{program}, Dir: p.Roots[0], Stdout: out, Stderr: out})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proc.Wait(); err != nil {
			t.Fatal(err)
		}
		said, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.TrimSpace(said))
	}
	said := try(policy(t, 1))
	for _, want := range []string{"chosen: \n", "bubblewrap can't be used: ", "Landlock can't be used: ", "kind: unavailable true"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in:\n%s", want, said)
		}
	}
	t.Log(said)
}

func TestChooseRefusesAPolicyThatSaysNothing(t *testing.T) {
	s, d, err := sandbox.Choose(t.Context(), sandbox.Policy{})
	if fault.KindOf(err) != fault.BadInput || s != nil || d.Chosen != "" {
		t.Errorf("%v %+v %v", s, d, err)
	}
}

// TestChooseWithoutBubblewrap shows when Landlock is good enough.
func TestChooseWithoutBubblewrap(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*sandbox.Policy)
		hidden int
		chosen string
		cause  string
	}{
		{"what can be written", func(p *sandbox.Policy) { p.Network = true }, 0, "", "modes and times"},
		{"no network", func(p *sandbox.Policy) { p.Mode = sandbox.ModeReadOnly }, 0, "", "loopback"},
		{"unix sockets", func(p *sandbox.Policy) { p.Mode, p.Network, p.Unix = sandbox.ModeReadOnly, true, true }, 0, "", "unix sockets"},
		{"hidden files", func(p *sandbox.Policy) { p.Mode, p.Network = sandbox.ModeReadOnly, true }, 2, "", "hide"},
		{"read-only with the machine's network", func(p *sandbox.Policy) { p.Mode, p.Network = sandbox.ModeReadOnly, true }, 0, "landlock", "apt install bubblewrap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := policy(t, c.hidden)
			c.change(&p)
			s, d, err := sandbox.ChooseWithoutBubblewrap(t.Context(), p)
			if c.chosen == "landlock" && strings.Contains(strings.Join(d.Causes, " "), "this kernel") {
				t.Skip("this kernel has no Landlock that will do")
			}
			if d.Chosen != c.chosen || (err == nil) != (c.chosen != "") || !strings.Contains(strings.Join(d.Causes, " "), c.cause) {
				t.Errorf("%v %+v %v", s, d, err)
			}
			if err != nil && (s != nil || fault.KindOf(err) != fault.Unavailable) {
				t.Errorf("%v %v", s, err)
			}
		})
	}
}

// TestBubblewrapOfThePeer shows that a bwrap is not taken from where the peer writes.
func TestBubblewrapOfThePeer(t *testing.T) {
	needBubblewrap(t)
	p := policy(t, 0)
	if err := os.WriteFile(p.Roots[0]+"/bwrap", []byte("#!/bin/sh\ntouch PWNED\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", p.Roots[0]+":.:"+os.Getenv("PATH"))
	s, _, err := sandbox.Choose(t.Context(), p)
	if err != nil || s.Name() != "bubblewrap" {
		t.Errorf("%v %v", s, err)
	}
	if found, why := sandbox.FindBubblewrap(p); why != "" || strings.HasPrefix(found, p.Roots[0]) {
		t.Errorf("%q %s", found, why)
	}
}
