//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// kernelTests are about the system calls that are refused and the kernel's own files.
// The numbers are those of x86-64; on another processor the cases that use them are
// passed over.
var kernelTests = []test{
	{"ptrace and the memory of others", func(s *scene) {
		s.calls("EPERM", map[string]string{
			"ptrace": "101, 0, 0, 0, 0", "process_vm_readv": "310, os.getppid(), 0, 0, 0, 0, 0", "process_vm_writev": "311, os.getppid(), 0, 0, 0, 0, 0",
			"pidfd_getfd": "438, 0, 0, 0", "kcmp": "312, os.getpid(), os.getppid(), 0, 0, 0",
		})
	}},
	{"keys", func(s *scene) {
		s.calls("EPERM", map[string]string{"keyctl": "250, 0, 0, 0, 0", "add_key": "248, b'user', b'x', b'y', 1, -4", "request_key": "249, b'user', b'x', 0, 0"})
	}},
	{"mounts and roots", func(s *scene) {
		s.calls("EPERM", map[string]string{
			"mount": "165, b'none', b'/tmp', b'tmpfs', 0, 0", "umount2": "166, b'/tmp', 2", "pivot_root": "155, b'/', b'/'", "chroot": "161, b'/tmp'", "setns": "308, 0, 0",
			"fsopen": "430, b'tmpfs', 0", "open_tree": "428, -100, b'/', 1", "move_mount": "429, 0, b'', 0, b'', 0", "mount_setattr": "442, -100, b'/', 0, 0, 0", "fspick": "433, -100, b'/', 0",
			"open_by_handle_at": "304, -100, 0, 0", "name_to_handle_at": "303, -100, b'/', 0, 0, 0",
		})
	}},
	{"the kernel", func(s *scene) {
		s.calls("EPERM", map[string]string{
			"bpf": "321, 0, 0, 0", "perf_event_open": "298, 0, 0, -1, -1, 0", "userfaultfd": "323, 1", "init_module": "175, 0, 0, b''", "finit_module": "313, 0, b'', 0", "delete_module": "176, b'x', 0",
			"kexec_load": "246, 0, 0, 0, 0", "kexec_file_load": "320, 0, 0, 0, b'', 0", "reboot": "169, 0, 0, 0, 0", "syslog": "103, 2, 0, 0", "swapon": "167, b'/x', 0", "acct": "163, 0",
			"sethostname": "170, b'x', 1", "settimeofday": "164, 0, 0", "personality": "135, 0x4000000",
		})
		s.calls("ENOSYS", map[string]string{"io_uring_setup": "425, 1, 0", "io_uring_enter": "426, 0, 0, 0, 0, 0", "io_uring_register": "427, 0, 0, 0, 0", "clone3": "435, 0, 0"})
	}},
	{"namespaces", func(s *scene) {
		calls := map[string]string{}
		for name, flag := range map[string]int{"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000, "cgroup": 0x2000000} {
			calls["unshare "+name] = fmt.Sprintf("272, %#x", flag)
			calls["clone "+name] = fmt.Sprintf("56, %#x, 0, 0, 0, 0", flag|int(syscall.SIGCHLD))
			calls["clone with noise "+name] = fmt.Sprintf("56, %#x, 0, 0, 0, 0", 0x100000000|flag|int(syscall.SIGCHLD))
		}
		s.calls("EPERM", calls)
		s.silent(s.bash(`unshare -Ur id -u && echo NESTED; unshare -m true && echo NESTED; bwrap --unshare-all --ro-bind / / true && echo NESTED`), "NESTED")
	}},
	{"keys for a terminal", func(s *scene) {
		s.calls("EPERM", map[string]string{"TIOCSTI": "16, 0, 0x5412, b'x'", "TIOCSTI with noise": "16, 0, 0x100005412, b'x'", "TIOCLINUX": "16, 0, 0x541c, b'x'"})
		s.silent(s.bash(`exec 3<>/dev/tty && echo TERMINAL; ls /dev/pts/[0-9]* && echo TERMINAL`), "TERMINAL")
	}},
	{"programs that would run as their owner are not made", func(s *scene) {
		s.writing()
		s.write("f", "kept")
		s.calls("EPERM", map[string]string{
			"chmod": "90, b'f', 0o4755", "chmod with noise": "90, b'f', 0x100000000 | 0o2755", "fchmod": "91, os.open('f', 0), 0o6755", "fchmodat": "268, -100, b'f', 0o2755",
			"fchmodat2": "452, -100, b'f', 0o4755, 0", "creat": "85, b'PWNED', 0o4755", "mknod": "133, b'PWNED', 0o104755, 0", "mknodat": "259, -100, b'PWNED', 0o102755, 0",
			"open": "2, b'PWNED', 0o101, 0o4755", "openat": "257, -100, b'PWNED', 0o101, 0o2755", "openat without a name": "257, -100, b'.', 0o20200002, 0o4755",
		})
		s.calls("ENOSYS", map[string]string{"openat2": "437, -100, b'PWNED', 0, 24"})
		said := s.bash(`cp $(type -P id) suid; chmod u+s suid; chmod 6755 suid; chmod g+s suid; install -m 4755 suid suid2; mkdir d; chmod 1777 d; chmod 700 f && echo CHANGED
python3 -c 'import os; os.open("f", os.O_RDONLY, 0o4755); os.close(os.open("new", os.O_CREAT, 0o640)); print("OPENED")'
find . -perm /6000`)
		s.silent(said, "./")
		s.absent(s.ws + "/PWNED")
		s.says(said, "OPENED")
		if s.sandbox.Name() == "bubblewrap" {
			s.says(said, "CHANGED")
		}
	}},
	{"attributes of files are not set", func(s *scene) {
		s.writing()
		s.write("f", "kept")
		said := s.python(`
import os, errno
for how in (lambda: os.setxattr("f", "user.a", b"1"), lambda: os.setxattr("f", "system.posix_acl_access", b"\2\0\0\0"), lambda: os.removexattr("f", "user.a")):
    try:
        how(); print("SET")
    except OSError as e:
        print("SET" if e.errno not in (errno.EOPNOTSUPP, errno.EPERM) else "refused")
`)
		s.silent(said, "SET")
		s.says(said, "refused")
		if s.sandbox.Name() == "bubblewrap" {
			s.says(s.bash(`cp -a f g && cp -r --preserve=mode f h && tar cf - f | tar xf - -C /tmp && echo COPIED`), "COPIED")
		}
	}},
	{"foreign system calls", func(s *scene) {
		s.calls("ENOSYS", map[string]string{"x32 getpid": "0x40000027"})
		if runtime.GOARCH != "amd64" {
			return
		}
		said := s.python(`
import mmap
code = bytes([0x53, 0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x5b, 0xc3])  # getpid by int 0x80
m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
m.write(code)
f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
print("result", f())`)
		if !strings.Contains(said, "result -38") {
			s.says(said, "result -") // or it was killed, or the kernel has no such gate
		}
	}},
	{"the kernel's files", func(s *scene) {
		// What is written is what is there: should it be written after all, nothing comes of it.
		said := s.bash(`for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/vm/swappiness /proc/sys/fs/file-max /proc/sys/kernel/hostname /proc/mtrr /sys/kernel/mm/transparent_hugepage/defrag; do
[ -e $f ] && v=$(cat $f) && echo "$v" > $f && echo "WROTE $f"; done; echo h > /proc/sysrq-trigger && echo WROTE; echo none > /sys/power/state && echo WROTE; (exec 3>>/proc/sys/kernel/core_pattern) && echo WROTE
for f in /sys/kernel/uevent_helper /sys/fs/cgroup/*/release_agent /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs; do (exec 3>>$f) && echo WROTE; done 2>/dev/null
for f in /dev/mem /dev/kmem /dev/port /dev/sda /dev/vda /dev/kvm /dev/fuse /dev/kmsg; do (exec 3<$f) && echo DEVICE; done 2>/dev/null; head -c 1 /proc/kcore /proc/kmsg && echo KERNEL
mknod d b 8 0 && head -c 1 d && echo DEVICE; mknod d2 c 1 1 && head -c 1 d2 && echo DEVICE; mkfifo fifo && echo x > fifo & cat fifo`)
		for _, word := range []string{"WROTE", "DEVICE", "KERNEL"} {
			s.silent(said, word)
		}
	}},
	{"programs that are set to run as their owner", func(s *scene) {
		id, err := exec.LookPath("id")
		if err != nil {
			s.Skip("there is no id")
		}
		text, err := os.ReadFile(id)
		if err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(s.ws+"/suid", text, 0o755); err != nil {
			s.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(s.ws+"/suid", 65534, 65534); err != nil {
				s.Skip("the owner can't be changed here")
			}
		}
		if err := os.Chmod(s.ws+"/suid", 0o755|os.ModeSetuid|os.ModeSetgid); err != nil {
			s.Fatal(err)
		}
		s.silent(s.bash(`./suid; echo; ./suid -u`), "euid=")
	}},
}

// calls makes system calls and looks at their errors. None may have an effect, and none
// may give another error: a fault of its arguments would mean that it was looked at.
func (s *scene) calls(want string, calls map[string]string) {
	s.Helper()
	if runtime.GOARCH != "amd64" {
		s.Skip("the numbers of the calls are not known for this processor")
	}
	var script strings.Builder
	for name, args := range calls {
		// In a child, for a clone that works would go on twice.
		fmt.Fprintf(&script, "r = call(%s)\nif r == 0 and %q.startswith('clone'): os._exit(0)\nprint(%q, errno.errorcode.get(-r, r), flush=True)\n", args, name, name)
	}
	said := s.python(script.String())
	for name := range calls {
		s.says(said, name+" "+want+"\n")
	}
}
