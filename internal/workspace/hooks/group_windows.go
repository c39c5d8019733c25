package hooks

import (
	"os/exec"

	"golang.org/x/sys/windows"
)

// group is a job object: what a hook starts is in its job. Best effort: what it starts
// before it is put there stays outside.
type group struct{ job windows.Handle }

func shell(text string) *exec.Cmd { return exec.Command("cmd.exe", "/d", "/s", "/c", text) }

func (g *group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &windows.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func (g *group) adopt(cmd *exec.Cmd) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, process)
		windows.CloseHandle(process)
	}
	if err != nil {
		windows.CloseHandle(job)
		return
	}
	g.job = job
}

func (g *group) wait(cmd *exec.Cmd) error { return cmd.Wait() }

func (g *group) kill() {
	if g.job != 0 {
		windows.TerminateJobObject(g.job, 1)
	}
}

func (g *group) release() {
	if g.job != 0 {
		windows.CloseHandle(g.job)
		g.job = 0
	}
}

// keepDescriptors has nothing to do: on Windows only what is named is inherited.
func keepDescriptors() {}
