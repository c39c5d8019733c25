package sandbox

import "context"

// Bubblewrap is the sandbox without the probe.
func Bubblewrap() Sandbox { return bubblewrap{"/usr/bin/bwrap"} }

// Landlock is the sandbox without the probe.
func Landlock() Sandbox { return landlock{} }

// ChooseWithoutBubblewrap is Choose where it is not installed.
func ChooseWithoutBubblewrap(ctx context.Context, p Policy) (Sandbox, Diagnosis, error) {
	return choose(ctx, p, func(Policy) (string, string) { return "", notInstalled })
}

// WatchGroup and WatchProcess put processes into the watchdog's care.
var (
	WatchGroup   = watching.group
	WatchProcess = watching.process
)

// FindBubblewrap is the program that Choose takes.
var FindBubblewrap = findBubblewrap
