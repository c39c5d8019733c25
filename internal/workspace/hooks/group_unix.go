//go:build unix

package hooks

import (
	"os/exec"
	"sync"
	"syscall"
)

// group is a process group: the shell and all that it starts, but for what leaves it on
// purpose.
type group struct {
	mu sync.Mutex
	id int // 0 once its number may belong to another
}

func shell(text string) *exec.Cmd { return exec.Command("/bin/sh", "-c", text) }

func (g *group) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (g *group) adopt(cmd *exec.Cmd) { g.id = cmd.Process.Pid }

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.killLocked()
}

func (g *group) killLocked() {
	if g.id > 1 {
		_ = syscall.Kill(-g.id, syscall.SIGKILL)
	}
}

func (g *group) release() {}
