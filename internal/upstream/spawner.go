package upstream

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts programs from one thread that lives as long as the pool. On Linux
// a program is to be killed when its parent dies, and the system takes the thread
// that started it for the parent: a thread of Go's own may end earlier.
type spawner struct {
	jobs chan spawnJob
	done chan struct{}
	once sync.Once
}

type spawnJob struct {
	cmd   *exec.Cmd
	group *group
	err   chan error
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan spawnJob), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread() // the thread itself goes on
	for {
		select {
		case j := <-s.jobs:
			j.err <- launch(j)
		case <-s.done:
			return
		}
	}
}

func launch(j spawnJob) error {
	j.group.prepare(j.cmd)
	if err := j.cmd.Start(); err != nil {
		return err
	}
	if err := j.group.adopt(j.cmd); err != nil {
		_ = j.cmd.Process.Kill()
		_ = j.cmd.Wait()
		return err
	}
	return nil
}

func (s *spawner) start(cmd *exec.Cmd, g *group) error {
	j := spawnJob{cmd, g, make(chan error, 1)}
	s.jobs <- j
	return <-j.err
}

// close is called when nothing that was started is left.
func (s *spawner) close() { s.once.Do(func() { close(s.done) }) }
