package sandbox

import (
	_ "github.com/elastic/go-seccomp-bpf"                    // placeholder
	_ "github.com/landlock-lsm/go-landlock/landlock"         // placeholder
	_ "github.com/landlock-lsm/go-landlock/landlock/syscall" // placeholder
)
