//go:build linux

package sandboxtest

import (
	"os"
	"strconv"
	"strings"
)

// limitTests are about what one command can take of the machine.
var limitTests = []test{
	{"processes", func(s *scene) {
		s.policy.Limits.Processes = 40
		said := s.python(`
n = 1
try:
    for i in range(500):
        if os.fork() == 0:
            import time; time.sleep(20); os._exit(0)
        n += 1
except OSError: pass
print("count", n)`)
		if n := counted(said); n > 41 && s.sandbox.Name() == "bubblewrap" {
			s.Errorf("%d processes run", n)
		}
	}},
	{"a fork bomb", func(s *scene) {
		s.policy.Limits.Processes = 60
		name := s.name("bomb")
		p, said := s.start(s.Context(), "bash", "-c", `echo STARTED; bomb() { bomb | bomb & }; bomb; sleep 0.5; : `+name)
		s.started(said)
		if n := len(left(name)); n > 80 {
			s.Errorf("%d processes run", n)
		}
		if _, err := p.Wait(); err != nil {
			s.Error(err)
		}
		s.gone(name)
	}},
	{"the size of a file", func(s *scene) {
		s.writing()
		s.policy.Limits.FileSize = 1 << 20
		s.bash(`head -c 3000000 /dev/zero > big; head -c 3000000 /dev/zero >> big; truncate -s 3000000 sparse`)
		for _, name := range []string{"big", "sparse"} {
			if info, err := os.Stat(s.ws + "/" + name); err == nil && info.Size() > 1<<20 {
				s.Errorf("%s has %d bytes", name, info.Size())
			}
		}
	}},
	{"memory", func(s *scene) {
		s.policy.Limits.Memory = 256 << 20
		s.silent(s.python(`
try:
    x = bytearray(600 << 20)
    print("TAKEN")
except MemoryError:
    print("REFUSED")`), "TAKEN")
	}},
	{"open files", func(s *scene) {
		s.policy.Limits.Files = 50
		s.says(s.python(`
fds = []
try:
    while len(fds) < 500: fds.append(os.open("/dev/null", os.O_RDONLY))
except OSError: pass
print("count", len(fds))`), "count 4")
	}},
	{"limits can't be raised, and no core is written", func(s *scene) {
		said := s.bash(`ulimit -c; ulimit -Hc; ulimit -c unlimited && echo RAISED; ulimit -n 1000000 && echo RAISED; ulimit -f unlimited && echo RAISED; ulimit -Hn; kill -SEGV $BASHPID`)
		s.silent(said, "RAISED")
		s.silent(said, "unlimited\n")
		s.absent(s.ws + "/core")
	}},
	{"what the private folders take", func(s *scene) {
		s.writing()
		said := s.bash(`for d in /tmp /var/tmp /dev/shm /run ~; do df -P $d | tail -1; done; head -c 100 /dev/zero > /dev/PWNED && echo DEV`)
		s.silent(said, "DEV")
		s.says(said, "tmpfs")
	}},
}

// counted is the number after "count".
func counted(said string) int {
	_, rest, _ := strings.Cut(said, "count ")
	n, err := strconv.Atoi(strings.TrimSpace(rest))
	if err != nil {
		return -1
	}
	return n
}
