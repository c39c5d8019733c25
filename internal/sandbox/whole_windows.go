package sandbox

import (
	"errors"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// whole is a job: everything that a process in it starts is in it too, and ends when
// its handle is closed, be it by the end of this process.
type whole struct{ job windows.Handle }

func (w *whole) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &windows.SysProcAttr{HideWindow: true} }

func (w *whole) adopt(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return errors.Join(err, windows.CloseHandle(job))
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err != nil {
		return errors.Join(err, windows.CloseHandle(job))
	}
	err = errors.Join(windows.AssignProcessToJobObject(job, process), windows.CloseHandle(process))
	if err != nil {
		return errors.Join(err, windows.CloseHandle(job))
	}
	w.job = job
	return nil
}

func (w *whole) kill() { _ = windows.TerminateJobObject(w.job, 1) } // all may have ended

func (w *whole) release() { _ = windows.CloseHandle(w.job) }
