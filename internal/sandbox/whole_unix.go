//go:build unix && !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

// whole is a process group. What leaves its group is not ended with it: this system
// tells no parent of its orphans.
type whole struct{ id int }

func (w *whole) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (w *whole) adopt(cmd *exec.Cmd) error {
	w.id = cmd.Process.Pid
	return nil
}

func (w *whole) kill() { _ = syscall.Kill(-w.id, syscall.SIGKILL) } // all may have ended

func (w *whole) release() {}
