//go:build unix

package upstream

import (
	"errors"
	"os/exec"
	"syscall"
)

// group is the process group of a program. Its id is the program's process id,
// which the system gives to no other process while the group has a member: a
// signal is sent only when it was just seen to have one.
type group struct{ id int }

// prepare has cmd start in a group of its own.
func (g *group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(cmd.SysProcAttr)
}

// adopt takes the group of the program that was started.
func (g *group) adopt(cmd *exec.Cmd) error {
	g.id = cmd.Process.Pid
	return nil
}

func (g *group) terminate() { g.signal(syscall.SIGTERM) }
func (g *group) kill()      { g.signal(syscall.SIGKILL) }
func (g *group) release()   {}

func (g *group) signal(s syscall.Signal) {
	if g.id > 1 && g.alive() {
		_ = syscall.Kill(-g.id, s)
	}
}

// alive reports whether the group has a member that is more than a zombie.
func (g *group) alive() bool {
	if err := syscall.Kill(-g.id, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	return !onlyZombies(g.id)
}
