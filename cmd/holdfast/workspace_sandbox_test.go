package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func offers(t *testing.T, s *mcp.ClientSession, tool string) bool {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list.Tools {
		if l.Name == tool {
			return true
		}
	}
	return false
}

// Without a sandbox commands run only where nothing could hold them anyway.
func TestWorkspaceSandboxOff(t *testing.T) {
	p := newProject(t, map[string]string{"a": "x\n"})
	p.user(`{"permissions":{"allow":["Bash"]}}`)
	s := p.connect("--sandbox", "off")
	if !offers(t, s, "Bash") {
		t.Fatalf("Bash is not offered\n%s", p.err)
	}
	wants(t, p.banner(), "OFF")
	if text, failed := callTool(t, s, "Bash", args{"command": "cat a"}); failed || text != "x\n" {
		t.Errorf("%q", text)
	}
	for name, deny := range map[string]string{"Read": `"Read(.env)"`, "Edit": `"Edit(a)"`, "Write": `"Write"`} {
		p := newProject(t, map[string]string{"a": "x\n"})
		p.user(`{"permissions":{"allow":["Bash"],"deny":[` + deny + `]}}`)
		s := p.connect("--sandbox", "off")
		if offers(t, s, "Bash") {
			t.Errorf("with a deny on %s, Bash is offered", name)
		}
		wants(t, p.banner(), "Bash is not offered")
		if text, failed := callTool(t, s, "Bash", args{"command": "touch made"}); !failed {
			t.Errorf("%q", text)
		}
		leftNothing(t, filepath.Join(p.dir, "made"))
	}
	p = newProject(t, map[string]string{".holdfast/settings.json": `{"sandbox":{"mode":"off"}}`})
	if out, err := p.serving().Output(); err == nil && strings.Contains(p.err.String(), "OFF") {
		t.Errorf("a project switched the sandbox off: %s", out)
	}
}

// Where no sandbox can be had, Bash is not offered, and the banner says why.
func TestWorkspaceWithoutASandbox(t *testing.T) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("bubblewrap is not installed, so it can't be taken away")
	}
	p := newProject(t, nil)
	p.user(`{"permissions":{"allow":["Bash"]}}`)
	real := p.serving()
	hide := `mount --bind /dev/null "$0" && exec "$@"`
	c := exec.Command("unshare", append([]string{"-m", "sh", "-c", hide, bwrap}, real.Args...)...)
	if out, err := exec.Command("unshare", "-m", "sh", "-c", hide, bwrap, "true").CombinedOutput(); err != nil {
		t.Skipf("BUBBLEWRAP CAN'T BE TAKEN AWAY HERE, SO THIS IS NOT TESTED: %s", out)
	}
	c.Env, c.Stderr = real.Env, real.Stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: c}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.err)
	}
	defer s.Close()
	if offered := offers(t, s, "Bash"); offered && !strings.Contains(p.banner(), "landlock") {
		t.Errorf("Bash is offered\n%s", p.err)
	} else if !offered {
		wants(t, p.banner(), "Bash is not offered", "bubblewrap")
		callTool(t, s, "Bash", args{"command": "touch made"})
		leftNothing(t, filepath.Join(p.dir, "made"))
	}
}
