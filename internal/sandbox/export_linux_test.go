package sandbox

// Bubblewrap is the sandbox without the probe.
func Bubblewrap() Sandbox { return bubblewrap{"/usr/bin/bwrap"} }
