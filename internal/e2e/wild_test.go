//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// wildCalls is how many calls of nonsense and malice are made.
const wildCalls = 10_000

// TestWildCallsLeaveTheHostAlone makes calls with arguments put together at random from
// hostile pieces, on servers whose rules allow all that rules can allow, and compares
// the host outside the workspace before and after.
func TestWildCallsLeaveTheHostAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of commands are run")
	}
	t.Parallel()
	needSandbox(t)
	bin := holdfastBinary(t)
	a := newAttempt(t, escape{Setup: `mkdir -p src d "$H/.ssh" "$OUT/x"; echo a > src/a.txt; ln -s ../out out; ln -s src s
		echo secret > "$H/.ssh/id_rsa"; echo o > "$OUT/o"; git init -q .; mkfifo fifo; echo x > .env`}, bin, lure{mark: "MARK-wild"})
	a.setUp()
	outside := []string{a.home, a.out, "/etc", "/opt", "/srv", "/boot", "/usr/local", "/dev/shm", "/var/spool", "/var/lib"}
	before := snapshot(t, outside, filepath.Join(a.home, ".local/state/holdfast"))

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := &wild{rand.New(rand.NewPCG(seed, 1)), a}
	a.start()
	answered := 0
	for i := range wildCalls {
		tool, args := r.call()
		name, _ := json.Marshal(tool)
		answer := a.server.ask("tools/call", `{"name":`+string(name)+`,"arguments":`+args+`}`)
		if answer == nil {
			t.Fatalf("call %d: the server is gone after %s %s\n%s", i, tool, args, clip(a.server.stderr.Bytes()))
		}
		if bytes.Contains(answer, []byte(`"result"`)) {
			answered++
		}
	}
	if alive, _ := a.server.state(); alive != "1" {
		t.Fatal("the server does not answer any more")
	}
	a.server.close()
	if answered < wildCalls/3 {
		t.Errorf("only %d of %d calls were well-formed enough to be judged: the generator tries too little", answered, wildCalls)
	}
	after := snapshot(t, outside, filepath.Join(a.home, ".local/state/holdfast"))
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			t.Errorf("%s: was %q, is %q", name, before[name], after[name])
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			t.Errorf("%s: gone", name)
		}
	}
}

// snapshot says of everything below the folders what a change of it would change.
func snapshot(t *testing.T, folders []string, but string) map[string]string {
	t.Helper()
	// Caches of tools that may run at the same time on this machine.
	busy := []string{"/var/lib/apt", "/var/lib/dpkg"}
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, home)
		for _, cache := range []string{".cache", "go", ".npm", ".config/go", ".local"} {
			busy = append(busy, filepath.Join(home, cache))
		}
	}
	all := map[string]string{}
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // what can't be seen can't be compared
			}
			if name == but || slices.Contains(busy, name) {
				return fs.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // gone meanwhile
			}
			if info.IsDir() { // its entries are compared themselves
				all[name] = info.Mode().String()
				return nil
			}
			target, _ := os.Readlink(name)
			all[name] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano(), target)
			return nil
		})
	}
	return all
}

// wild makes calls.
type wild struct {
	*rand.Rand
	a *attempt
}

func (w *wild) of(list ...string) string { return list[w.IntN(len(list))] }

func (w *wild) path() string {
	var b strings.Builder
	b.WriteString(w.of("", "", "", "/", "./", "../", w.a.ws+"/", w.a.out+"/", w.a.home+"/", "~/", "/proc/self/root/", "/proc/self/cwd/", "/dev/fd/", "//"))
	for range 1 + w.IntN(4) {
		b.WriteString(w.of("src", "a.txt", "out", "s", "..", ".", ".git", "hooks", "config", ".env", "fifo", "d", "o", ".ssh", "id_rsa", ".GIT", "ｓrc", "a\u0301", "\u200b", "*", "new", ".holdfast", "etc", "passwd", "x"))
		b.WriteString(w.of("/", "/", "/", "//", "", "\x00", "\n", "/./"))
	}
	return strings.TrimSuffix(b.String(), w.of("/", "~"))
}

func (w *wild) command() string {
	word := func() string {
		return w.of("touch", "rm", "-rf", "cp", "mv", "ln", "-s", "mkdir", "-p", "chmod", "777", "cat", "echo", "x", "tee", "dd", "of="+w.path(), "sh", "-c", "eval", "env", "xargs", "find", ".", "-delete", "git", "init", "tar", "kill", "-9", "1", "$$", "$PPID", "mount", "python3", "sed", "-i", "s/a/b/", "truncate", "-s0", "install", "rsync", w.path(), w.path(), w.path(), w.path(),
			"$(echo "+w.a.out+")", "{a,b}", "'"+w.path()+"'", "\"$HOME\"", "~", "$x", "\\"+w.path())
	}
	var b strings.Builder
	for range 1 + w.IntN(4) {
		for range 1 + w.IntN(5) {
			b.WriteString(word() + " ")
		}
		b.WriteString(w.of("; ", "&& ", "|| ", "| ", "& ", "\n", "> "+w.path()+"; ", ">> "+w.path()+" ", "< "+w.path()+" ", "<<< x ", ") ", "( ", "}; ", "{ ", "<<E\n$(touch "+w.path()+")\nE\n", "`touch "+w.path()+"` "))
	}
	return b.String()
}

func (w *wild) text() string {
	return w.of("", "a", "b", "x\ny\n", strings.Repeat("z", w.IntN(5000)), "\x00", "\u202e", "${HOME}", w.path())
}

// call gives a tool and the text of its arguments, right in form most of the time.
func (w *wild) call() (tool, args string) {
	values := map[string]any{}
	// Commands cost most and are a fifth.
	switch tool = w.of("Read", "Read", "Write", "Write", "Edit", "Grep", "Glob", "Glob", "Bash", "Bash"); tool {
	case "Read":
		values["file_path"] = w.path()
		if w.IntN(4) == 0 {
			values["offset"] = w.IntN(10) - 3
		}
	case "Write":
		values["file_path"], values["content"] = w.path(), w.text()
	case "Edit":
		values["file_path"], values["old_string"], values["new_string"] = w.path(), w.text(), w.text()
		values["replace_all"] = w.IntN(2) == 0
	case "Grep":
		values["pattern"] = w.of("a", ".", "(", "--pre=sh", "-f/etc/passwd", w.text())
		if w.IntN(2) == 0 {
			values["path"] = w.path()
		}
	case "Glob":
		values["pattern"] = w.of("**/*", "*", "../*", "/etc/*", "{a,b}", "[", w.path())
		if w.IntN(2) == 0 {
			values["path"] = w.path()
		}
	case "Bash":
		values["command"] = w.command()
		values["timeout"] = 2000
	}
	if w.IntN(20) == 0 { // a key too many, or of another type
		values[w.of("path", "file_path", "command", "x", "timeout", "__proto__")] = []any{nil, 1e300, "x", true, map[string]any{}}[w.IntN(5)]
	}
	raw, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	args = string(raw)
	if w.IntN(50) == 0 {
		args = w.of(`[]`, `null`, `""`, args[:len(args)-1]+`,"command":"touch `+w.a.out+`/PWNED"}`, `{"file_path":"a","file_path":"../out/o"}`)
	}
	return tool, args
}
