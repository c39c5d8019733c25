package sandbox

// Bubblewrap is the sandbox without the probe.
func Bubblewrap() Sandbox { return bubblewrap{"/usr/bin/bwrap"} }

// Landlock is the sandbox without the probe.
func Landlock() Sandbox { return landlock{} }
