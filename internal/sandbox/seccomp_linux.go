package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refusedCalls are answered with EPERM. Names that an architecture does not have are
// passed over: it has no such call.
var refusedCalls = []string{
	// other processes
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
	// keys
	"add_key", "request_key", "keyctl",
	// mounts, roots and namespaces
	"mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "open_tree_attr",
	"move_mount", "mount_setattr", "statmount", "listmount", "listns", "setns", "name_to_handle_at", "open_by_handle_at",
	// the kernel
	"bpf", "perf_event_open", "userfaultfd", "init_module", "finit_module", "delete_module", "create_module", "query_module", "get_kernel_syms",
	"kexec_load", "kexec_file_load", "reboot", "syslog", "lookup_dcookie", "nfsservctl", "_sysctl", "sysfs", "uselib", "vm86", "vm86old", "modify_ldt",
	"iopl", "ioperm", "acct", "swapon", "swapoff", "quotactl", "quotactl_fd", "vhangup", "fanotify_init",
	// the clock and the names of the machine
	"settimeofday", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex", "stime", "sethostname", "setdomainname",
	// placing memory of others
	"move_pages", "migrate_pages", "mbind", "set_mempolicy", "set_mempolicy_home_node", "get_mempolicy",
}

// absentCalls are answered with ENOSYS, so that programs take the older way. Of clone3
// the flags, and of openat2 the mode, lie in memory, where a filter can't see them.
var absentCalls = []string{"clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register"}

// attributeCalls are answered as by a disk that knows no attributes, which programs put up
// with: among these are lists that let other accounts in, and nothing looks for those.
var attributeCalls = []string{"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat"}

// modeCalls give a file the mode in the argument of that number.
var modeCalls = []struct {
	name string
	arg  uint32
}{
	{"chmod", 1}, {"fchmod", 1}, {"fchmodat", 2}, {"fchmodat2", 2}, {"creat", 1}, {"mknod", 1}, {"mknodat", 2},
}

// openCalls give a file that they make the mode in the argument after their flags, which
// are the argument of that number. Without such a file that argument is noise.
var openCalls = []struct {
	name string
	arg  uint32
}{
	{"open", 1}, {"openat", 2},
}

// The kernel's words that a filter compares with. Only the low half of an argument is
// compared where the kernel takes an int: the upper half is noise that the caller sets.
const (
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	socketTypeMask = 0xf
	asItsOwner     = unix.S_ISUID | unix.S_ISGID // runs with other rights than who runs it
	makesFile      = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	argOffset      = 16 // of the first argument in struct seccomp_data
	archOffset     = 4

	fsIocFSSetXattr = 0x401c5820 // FS_IOC_FSSETXATTR
)

// personalities are those that change nothing but the name of the machine or the
// placing of memory; 0xffffffff asks for the present one.
var personalities = []uint32{0, 0x8, 0x20000, 0x20008, 0x40000, 0xffffffff}

// filters are those of bubblewrap, by Policy.Unix: they are always the same.
var filters = map[bool]func() ([]byte, error){
	false: sync.OnceValues(func() ([]byte, error) { return filter(false) }),
	true:  sync.OnceValues(func() ([]byte, error) { return filter(true) }),
}

// rules are a part of the filter that looks at arguments.
type rules []bpf.Instruction

// filter is the seccomp filter of every confined child, as the kernel reads it.
func filter(unixSockets bool, more ...func(*arch.Info) rules) ([]byte, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("there is no list of system calls for this processor: %w", err)
	}
	all := rules{
		// The library's own program lets foreign architectures pass.
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		refuse(unix.ENOSYS),
	}
	all = append(all, argumentRules(info, unixSockets)...)
	for _, m := range more {
		all = append(all, m(info)...)
	}
	general := seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls: []seccomp.SyscallGroup{
			{Names: known(info, refusedCalls), Action: errno(unix.EPERM)},
			{Names: known(info, absentCalls), Action: errno(unix.ENOSYS)},
			{Names: known(info, attributeCalls), Action: errno(unix.EOPNOTSUPP)},
		},
	}
	rest, err := general.Assemble()
	if err != nil {
		return nil, fmt.Errorf("the list of system calls can't be assembled: %w", err)
	}
	return encode(append(all, rest...))
}

// when adds what is done on one call. Its body falls through to what comes next.
func (r *rules) when(info *arch.Info, call string, body ...bpf.Instruction) {
	number, ok := info.SyscallNames[call]
	if !ok {
		return
	}
	*r = append(*r,
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: uint8(len(body))})
	*r = append(*r, body...)
}

// argumentRules refuse calls by what they ask for.
func argumentRules(info *arch.Info, unixSockets bool) rules {
	var r rules
	r.when(info, "ioctl", arg(1), equal(unix.TIOCSTI, 2), equal(unix.TIOCLINUX, 1), skip(1), refuse(unix.EPERM))
	// Such a file would outlast the sandbox, where the machine heeds its mode.
	for _, call := range modeCalls {
		r.when(info, call.name, arg(call.arg), anyOf(asItsOwner), refuse(unix.EPERM))
	}
	for _, call := range openCalls {
		r.when(info, call.name, arg(call.arg), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: makesFile, SkipFalse: 3},
			arg(call.arg+1), anyOf(asItsOwner), refuse(unix.EPERM))
	}
	r.when(info, "clone", arg(0), anyOf(newNamespaces), refuse(unix.EPERM))
	r.when(info, "unshare", arg(0), anyOf(newNamespaces|unix.CLONE_NEWTIME), refuse(unix.EPERM))

	odd := rules{arg(0)}
	for i, p := range personalities {
		odd = append(odd, equal(p, uint8(len(personalities)-i)))
	}
	r.when(info, "personality", append(odd, refuse(unix.EPERM))...)
	r.when(info, "socket", socketRule(unixSockets)...)
	if !unixSockets {
		// A pair of datagram sockets can be connected anew, to any path.
		r.when(info, "socketpair", arg(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: socketTypeMask},
			equal(unix.SOCK_STREAM, 2), equal(unix.SOCK_SEQPACKET, 1), refuse(unix.EPERM))
	}
	return r
}

// landlockRules refuse what namespaces keep away, or what Landlock does not look at.
func landlockRules(info *arch.Info) rules {
	var r rules
	for _, call := range changing {
		r.when(info, call, refuse(unix.EPERM))
	}
	for call, n := range ownOnly {
		r.when(info, call, arg(n), equal(0, 1), refuse(unix.EPERM))
	}
	r.when(info, "ioctl", arg(1), equal(unix.FS_IOC_SETFLAGS, 2), equal(fsIocFSSetXattr, 1), skip(1), refuse(unix.EPERM))
	return r
}

// socketRule lets pass INET, INET6, route netlink and, when told, unix sockets.
func socketRule(unixSockets bool) rules {
	families := []uint32{unix.AF_INET, unix.AF_INET6}
	if unixSockets {
		families = append(families, unix.AF_UNIX)
	}
	rule := rules{arg(0)}
	for i, family := range families {
		rule = append(rule, equal(family, uint8(len(families)-i+3)))
	}
	return append(rule,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_NETLINK, SkipTrue: 2},
		arg(2), equal(unix.NETLINK_ROUTE, 1),
		refuse(unix.EPERM))
}

func arg(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: argOffset + 8*n, Size: 4} }

func equal(val uint32, then uint8) bpf.Instruction {
	return bpf.JumpIf{Cond: bpf.JumpEqual, Val: val, SkipTrue: then}
}

// anyOf skips one instruction unless one of the bits is set.
func anyOf(bits uint32) bpf.Instruction {
	return bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: bits, SkipFalse: 1}
}

func skip(n uint32) bpf.Instruction { return bpf.Jump{Skip: n} }

func errno(e unix.Errno) seccomp.Action { return seccomp.Action(unix.SECCOMP_RET_ERRNO | uint32(e)) }

func refuse(e unix.Errno) bpf.Instruction { return bpf.RetConstant{Val: uint32(errno(e))} }

func known(info *arch.Info, names []string) []string {
	var have []string
	for _, name := range names {
		if _, ok := info.SyscallNames[name]; ok {
			have = append(have, name)
		}
	}
	return have
}

// encode gives an array of struct sock_filter, in the machine's own byte order.
func encode(program []bpf.Instruction) ([]byte, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("the seccomp filter can't be assembled: %w", err)
	}
	var out bytes.Buffer
	for _, i := range raw {
		if err := binary.Write(&out, binary.NativeEndian, unix.SockFilter{Code: i.Op, Jt: i.Jt, Jf: i.Jf, K: i.K}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
