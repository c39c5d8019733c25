//go:build unix && !linux

package hooks

import (
	"os/exec"
	"syscall"
)

// wait waits for the shell's end.
func (g *group) wait(cmd *exec.Cmd) error { return cmd.Wait() }

// keepDescriptors keeps a child from inheriting what this process inherited itself.
func keepDescriptors() {
	for fd := 3; fd < 256; fd++ {
		syscall.CloseOnExec(fd)
	}
}
