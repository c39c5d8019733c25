package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Choose probes with this very policy, best sandbox first, and gives the one that holds.
// It fails (fault.Unavailable) when none does: nothing may then be run. A probe takes at
// most ten seconds.
func Choose(ctx context.Context, p Policy) (Sandbox, Diagnosis, error) {
	return choose(ctx, p, findBubblewrap)
}

func choose(ctx context.Context, p Policy, find func(Policy) (program, why string)) (Sandbox, Diagnosis, error) {
	if err := check(p, probeCommand(p)); err != nil {
		return nil, Diagnosis{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var d Diagnosis
	program, why := find(p)
	if why == "" {
		if why = probe(ctx, bubblewrap{program}, p); why == "" {
			d.Chosen = "bubblewrap"
			return bubblewrap{program}, d, nil
		}
	}
	d.Causes = append(d.Causes, "bubblewrap can't be used: "+why)
	if why = landlockLacks(p); why == "" {
		if why = probe(ctx, landlock{}, p); why == "" {
			d.Chosen = "landlock"
			return landlock{}, d, nil
		}
	}
	d.Causes = append(d.Causes, "Landlock can't be used: "+why)
	return nil, d, fault.New(fault.Unavailable, "no sandbox holds here: "+strings.Join(d.Causes, " "), "commands are not run without one, but under --sandbox off")
}

// findBubblewrap looks in the system's folders first. One that the peer could have
// written is not taken. Without one it says what to do.
func findBubblewrap(p Policy) (program, why string) {
	dirs := append([]string{"/usr/bin", "/usr/local/bin", "/bin"}, filepath.SplitList(os.Getenv("PATH"))...)
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		program, err := exec.LookPath(filepath.Join(dir, "bwrap"))
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(program)
		if err == nil && !inAny(real, p.Roots) && !inAny(real, p.Writable) {
			return real, ""
		}
	}
	return "", notInstalled
}

const notInstalled = "the program bwrap is not installed. Install it: apt install bubblewrap (or dnf, apk, pacman)."

func inAny(path string, dirs []string) bool {
	for _, dir := range dirs {
		if within(path, dir) {
			return true
		}
	}
	return false
}

// probeScript looks at a few promises from inside: what the kernel says of the process,
// its network, and that it can't read what it is given as arguments. It says nothing but
// what is wrong, and "held" at the end. A shell that is no bash will do.
const probeScript = `
fail() { echo "$1"; exit 1; }
command -v bash >/dev/null 2>&1 || fail "bash is not there: no folder of the PATH that commands have holds it, or that folder is hidden from them"
if [ "$1" = namespaces ]; then (: </proc/self/status) || fail "there is no /proc of its own"; fi
if (: </proc/self/status) 2>/dev/null; then
  while read -r name value rest; do
    case "$name" in
    CapEff:|CapPrm:|CapBnd:|CapInh:|CapAmb:) case "$value" in *[1-9a-f]*) [ "$1" = namespaces ] && fail "capabilities are left";; esac;;
    NoNewPrivs:) [ "$value" = 1 ] || fail "no_new_privs is not set";;
    Seccomp:) [ "$value" = 2 ] || fail "there is no seccomp filter";;
    esac
  done </proc/self/status
fi
if [ "$1" = namespaces ] && [ "$2" = none ]; then
  while read -r name rest; do
    case "$name" in Inter-*|face|lo:*) ;; *) fail "there is a network: $name";; esac
  done </proc/net/dev
fi
if (: >"$3") 2>/dev/null; then fail "the folder above the workspace can be written"; fi
shift 3
for f; do
  if [ -d "$f" ]; then
    if (cd "$f") 2>/dev/null && [ -n "$(echo "$f"/*)" ] && [ "$(echo "$f"/*)" != "$f/*" ]; then fail "a hidden folder can be read"; fi
  elif (read -r line <"$f" || [ -n "$line" ]) 2>/dev/null; then
    fail "a hidden file can be read"
  fi
done
echo held
`

// probed is how many hidden paths the probe tries: each is looked at anyway when a
// command starts.
const probed = 100

func probeCommand(p Policy) Command {
	c := Command{Args: []string{"/bin/sh", "-c", probeScript, "probe"}}
	if len(p.Roots) > 0 {
		c.Dir = p.Roots[0]
	}
	return c
}

// probe runs the real policy once. It gives the cause and the fix, in sentences, or
// nothing when all holds.
func probe(ctx context.Context, s Sandbox, p Policy) string {
	said, words, err := os.Pipe()
	if err != nil {
		return explain(s, err, "")
	}
	defer said.Close()
	c := probeCommand(p)
	c.Stdout, c.Stderr = words, words
	network := "host"
	if !p.Network {
		network = "none"
	}
	kind := "domain"
	if s.Name() == "bubblewrap" {
		kind = "namespaces"
	}
	above := filepath.Join(filepath.Dir(p.Roots[0]), ".holdfast-probe-"+strconv.Itoa(os.Getpid()))
	if inAny(above, p.Roots) || inAny(above, p.Writable) || s.Name() == "bubblewrap" && inTmp(above) {
		above = "/.holdfast-probe"
	}
	c.Args = append(c.Args, kind, network, above)
	hidden := append(append([]string{}, p.State...), p.Hidden...)
	c.Args = append(c.Args, hidden[:min(len(hidden), probed)]...)

	proc, startErr := s.Start(ctx, p, c)
	words.Close()
	var text bytes.Buffer
	if _, err := io.Copy(&text, io.LimitReader(said, 1<<16)); err != nil && startErr == nil {
		startErr = err
	}
	if startErr != nil {
		return explain(s, startErr, text.String())
	}
	exit, err := proc.Wait()
	if err != nil {
		return explain(s, err, text.String())
	}
	if exit.Code != 0 || strings.TrimSpace(text.String()) != "held" {
		return explain(s, fmt.Errorf("the probe ended with %d", exit.Code), text.String())
	}
	return ""
}

// inTmp reports whether a path lies in a folder that every child has its own of.
func inTmp(path string) bool { return inAny(path, freshFolders) }

// explain turns what failed into a cause and a fix.
func explain(s Sandbox, err error, words string) string {
	words = strings.TrimSpace(words)
	why := err.Error()
	if cause := errors.Unwrap(err); cause != nil {
		why += " (" + cause.Error() + ")"
	}
	for _, known := range knownCauses {
		if s.Name() == "bubblewrap" && known.when(words) {
			return known.says
		}
	}
	if words != "" {
		why += "; it said: " + strings.ReplaceAll(words, "\n", "; ")
	}
	return why + "."
}

// knownCauses are what keeps bubblewrap from working, by its own words and by the
// machine's settings, with what to do.
var knownCauses = []struct {
	when func(words string) bool
	says string
}{
	{
		func(w string) bool {
			return denied(w) && setting("kernel/apparmor_restrict_unprivileged_userns") == "1"
		},
		"AppArmor keeps programs without a profile from making user namespaces (Ubuntu 23.10 and later). Give bwrap a profile that allows userns, or: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0.",
	},
	{
		func(w string) bool { return denied(w) && setting("kernel/unprivileged_userns_clone") == "0" },
		"this kernel makes user namespaces for root alone. Allow them: sysctl -w kernel.unprivileged_userns_clone=1.",
	},
	{
		func(w string) bool { return denied(w) && setting("user/max_user_namespaces") == "0" },
		"the number of user namespaces is set to none. Allow them: sysctl -w user.max_user_namespaces=10000.",
	},
	{
		func(w string) bool { return (denied(w) || strings.Contains(w, "mount proc")) && inContainer() },
		"the container that this runs in keeps it from making namespaces or mounting /proc. Start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined (Docker, Podman), or run outside of one.",
	},
	{
		func(w string) bool { return strings.Contains(w, "Unknown option") },
		"this bubblewrap is too old: 0.7 or later is needed. Install a newer one.",
	},
}

func denied(words string) bool {
	for _, sign := range []string{"Operation not permitted", "Permission denied", "No permissions", "No space left", "Creating new namespace failed", "setting up uid map", "RTM_NEWADDR"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}

// setting reads a kernel setting; empty when there is none.
func setting(name string) string {
	value, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(value))
}

func inContainer() bool {
	for _, sign := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(sign); err == nil {
			return true
		}
	}
	return os.Getenv("container") != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}
