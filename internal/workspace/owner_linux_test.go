package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// withheld gives what was moved away.
func (r *rig) withheld() []string {
	r.t.Helper()
	all, err := filepath.Glob(filepath.Join(r.options.Folder, "withheld", "*"))
	r.must(err)
	return all
}

// running starts a command in the background, which ends when there is a file named stop,
// and waits until it made one named first.
func (r *rig) running(command string) {
	r.t.Helper()
	r.call("Bash", "command", command, "run_in_background", true).ok("bash_1")
	r.until("first")
}

// What the owner had is never moved away, however a command shuts and opens the folder
// that it lies in.
func TestOpenedAndShut(t *testing.T) {
	rootless(t)
	files := map[string]string{"src/.env": "S3CRET", "src/.npmrc": "mine", "src/.vscode/tasks.json": "{}", "src/z/.git/config": "[core]\n", "src/main.c": "mine", "conf/t": "mine"}
	r := newRig(t, setup{bash: true, user: `{"permissions":{"allow":["Bash"],"deny":["Read(.env)"]}}`, files: files})
	r.must(os.Symlink("../../conf/t", r.path("src/.vscode/t.json")))
	r.put("flip.py", "import os\nopen('first','w')\nwhile not os.path.exists('stop'):\n  for _ in range(2000): os.chmod('src',0); os.chmod('src',0o755)\n")
	r.running("python3 flip.py")
	for range 25 {
		if a := r.call("Bash", "command", "cat src/.env; echo evil | tee -a conf/t"); strings.Contains(a.text(), "S3CRET") {
			t.Errorf("%s", a.text())
		}
	}
	r.put("stop", "")
	r.ends("bash_1")
	r.must(os.Chmod(r.path("src"), 0o755))
	for name, text := range files {
		r.holds(name, text)
	}
	if all := r.withheld(); len(all) > 0 {
		t.Errorf("moved away: %v", all)
	}
	r.call("Bash", "command", "ls src").ok("main.c")
}

// What a command plants is moved away though it takes the rights to change its folder.
func TestPlantedAndShut(t *testing.T) {
	rootless(t)
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"repo/.git/HEAD": "x", "sub/a": "", "mine/a": ""}})
	r.must(os.Chmod(r.path("mine"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(r.path("mine"), 0o755) })
	a := r.call("Bash", "command", "mkdir repo/.git/hooks; echo evil | tee repo/.git/hooks/post-commit sub/.envrc .envrc; chmod 555 repo/.git/hooks repo/.git sub; "+
		"chmod 755 mine; echo evil | tee mine/.envrc; chmod 555 mine; chmod 555 .")
	t.Cleanup(func() { _ = os.Chmod(r.dir, 0o755) })
	for _, name := range []string{"repo/.git/hooks", "sub/.envrc", ".envrc", "mine/.envrc"} {
		r.absent(name)
	}
	if all := r.withheld(); len(all) != 4 {
		t.Errorf("kept: %v; %s", all, a.text())
	}
	if info, err := os.Stat(r.path("mine")); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("the owner's folder: %v, %v", info, err)
	}
	// What it shut and left is looked through before anything of it counts.
	r.call("Bash", "command", "mkdir repo/.git/hooks; echo evil | tee repo/.git/hooks/post-commit; chmod 0 repo/.git")
	r.must(os.Chmod(r.path("repo/.git"), 0o755))
	r.call("Bash", "command", "true").ok()
	r.absent("repo/.git/hooks/post-commit")
}

// What lies where a session could not look before its command began is not the command's.
func TestBlindBefore(t *testing.T) {
	rootless(t)
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"src/.npmrc": "mine", "src/.vscode/tasks.json": "{}"}})
	r.must(os.Chmod(r.path("src"), 0))
	r.running("touch first; while ! test -e stop; do sleep 0.01; done; echo evil | tee src/.envrc")
	r.must(os.Chmod(r.path("src"), 0o755))
	r.call("Bash", "command", "echo evil | tee src/.envrc src/.npmrc")
	r.put("stop", "")
	r.ends("bash_1")
	r.call("Bash", "command", "true").ok()
	r.holds("src/.npmrc", "mine")
	r.holds("src/.vscode/tasks.json", "{}")
	r.absent("src/.envrc")
	if all := r.withheld(); len(all) > 0 {
		t.Errorf("moved away: %v", all)
	}
}

// The mode of a folder is set by what it is, not by its name, for a command can put a
// link there.
func TestModesOfSwappedFolders(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{".npmrc": "mine"}})
	r.must(os.Chmod(r.path(".npmrc"), 0o600))
	r.put("flip.py", "import ctypes,os\nl=ctypes.CDLL(None)\nos.mkdir('x',0o700); os.symlink('.npmrc','l'); os.chmod('x',0o377)\nopen('first','w')\nwhile not os.path.exists('stop'):\n  for _ in range(500): l.renameat2(-100,b'x',-100,b'l',2)\n")
	r.running("python3 flip.py")
	for range 20 {
		r.call("Bash", "command", "chmod 0377 x || chmod 0377 l; true")
	}
	r.put("stop", "")
	r.ends("bash_1")
	if info, err := os.Stat(r.path(".npmrc")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A protected link that leads elsewhere is another, though it has the same inode, size
// and time.
func TestReplacedLinks(t *testing.T) {
	s := setup{bash: true, user: allowBash, files: map[string]string{"envs/a": "mine", "hk/x": "", "repo/.git/HEAD": "x"}}
	r := newRig(t, s)
	r.must(os.Symlink("envs/a", r.path(".envrc")))
	r.must(os.Symlink("../../hk", r.path("repo/.git/hooks")))
	r.call("Bash", "command", "true").ok()
	r.put("x.py", `import os
def swap(n, to):
    st=os.lstat(n); os.unlink(n)
    for i in range(500):
        os.symlink(to, "%s-%d" % (n,i))
        if os.lstat("%s-%d" % (n,i)).st_ino==st.st_ino: break
    os.rename("%s-%d" % (n,i), n)
    os.utime(n, ns=(st.st_atime_ns,st.st_mtime_ns), follow_symlinks=False)
swap(".envrc","envs/b"); swap("repo/.git/hooks","../../ev")
`)
	r.call("Bash", "command", "python3 x.py")
	r.absent(".envrc")
	r.absent("repo/.git/hooks")
	r.holds("envs/a", "mine")

	// The same when the session dies.
	r.must(os.Symlink("envs/a", r.path(".envrc")))
	r.call("Bash", "command", "rm -f x.py").ok()
	r.crashed()
	var was, is unix.Stat_t
	r.must(unix.Lstat(r.path(".envrc"), &was))
	r.must(os.Remove(r.path(".envrc")))
	r.must(os.Symlink("envs/b", r.path(".envrc")))
	r.must(unix.Lstat(r.path(".envrc"), &is))
	r.open(s)
	r.absent(".envrc")
	t.Logf("the inode was used again: %v", was.Ino == is.Ino)
}

// What can't be kept whole is not removed: it stays, is told, and no command reaches it.
func TestAwayToAnotherDisk(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	other, err := os.MkdirTemp("/dev/shm", "holdfast-")
	if err != nil {
		t.Skip("SKIPPED: there is no other disk: " + err.Error())
	}
	t.Cleanup(func() { _ = os.RemoveAll(other) })
	o := r.options
	o.Session, o.Folder = "another", filepath.Join(other, "session")
	r = r.second(o)
	r.call("Bash", "command", "mkdir -p .vscode/a .idea; echo kept | tee .vscode/a/b; ln -s b .vscode/a/link; mkfifo .vscode/a/pipe; chmod 0 .vscode/a; truncate -s 70M .idea/big; echo kept | tee .idea/small")
	r.absent(".vscode")
	kept, err := filepath.Glob(filepath.Join(o.Folder, "withheld", "*", "a", "*"))
	if err != nil || len(kept) != 3 {
		t.Errorf("kept: %v, %v", kept, err)
	}
	r.holds(".idea/small", "kept\n")
	a := r.call("Bash", "command", "cat .idea/small; rm -rf .idea")
	a.says("STILL THERE", ".idea")
	if strings.Contains(a.text(), "kept") {
		t.Errorf("it was reached: %s", a.text())
	}
	r.holds(".idea/small", "kept\n")
}

// Nothing is done to what the links of a command lead to.
func TestLinksOfCommands(t *testing.T) {
	r := newRig(t, setup{bash: true, user: `{"permissions":{"allow":["Bash"],"deny":["Edit(*.env)"]}}`, files: map[string]string{
		"src/main.c": "mine", "src/b.c": "mine", "repo/.git/HEAD": "x", "repo/.git/hooks/x": "mine", ".vscode/tasks.json": "{}",
	}})
	r.must(os.Symlink("../way", r.path(".vscode/link")))
	r.must(os.Symlink("src/b.c", r.path("way")))
	r.call("Bash", "command", "ln -s src/main.c x.env; ln -s src .idea; mkdir .husky; ln -s ../src/main.c .husky/y; ln src/main.c .envrc; ln -s ../../src repo/.git/info; rm way; ln -s src/main.c way")
	r.call("Bash", "command", "echo more | tee -a src/main.c").ok()
	r.holds("src/main.c", "minemore\n")
	r.holds("src/b.c", "mine")
	for _, name := range []string{"x.env", ".idea", ".husky", ".envrc", "repo/.git/info", "way"} {
		r.absent(name)
	}
	r.holds("repo/.git/hooks/x", "mine")
}

// What a protected link leads to, below protected folders too, and what has the file of
// a protected one by another name is held as well.
func TestHeldElsewhere(t *testing.T) {
	files := map[string]string{
		"scripts/pre-commit": "mine", "scripts/post": "mine", "conf/tasks.json": "mine", "conf/npmrc": "mine", "hk/a": "mine", "deep/x": "mine",
		"repo/.git/hooks/own": "mine", ".vscode/a/b": "{}", "env.shared": "S3CRET", "free": "mine", ".gitignore": "ign\n", "ign/c": "mine",
	}
	r := newRig(t, setup{bash: true, user: `{"permissions":{"allow":["Bash","Edit(**)"],"deny":["Read(.env)"]}}`, files: files})
	for link, target := range map[string]string{
		"repo/.git/hooks/pre-commit": "../../../scripts/pre-commit", ".vscode/tasks.json": "../conf/tasks.json", ".npmrc": "conf/npmrc",
		".vscode/a/way": "../../way", "way": "./hk/../way2", "way2": r.path("hk"), "hk/onward": "../deep/x",
		"repo/.git/hooks/gone": "../../../made/later", ".idea": "made2", ".husky": "..", ".claude": ".", ".cursor": "/etc/hostname",
	} {
		r.must(os.Symlink(target, r.path(link)))
	}
	for name, of := range map[string]string{"repo/.git/hooks/post": "scripts/post", ".env": "env.shared", ".vscode/a/c": "ign/c"} {
		r.must(os.Link(r.path(of), r.path(name)))
	}
	held := []string{"scripts/pre-commit", "scripts/post", "conf/tasks.json", "conf/npmrc", "hk/a", "deep/x", "ign/c"}
	for _, name := range held {
		r.call("Read", "file_path", name).ok()
	}
	for _, name := range append([]string{"hk/new", "made/later", "made2"}, held...) {
		r.call("Write", "file_path", name, "content", "evil").refused(dispatch.ByRules, "leads to, or another name")
	}
	r.call("Write", "file_path", "scripts/other", "content", "x").ok()
	a := r.call("Bash", "command", "for f in "+strings.Join(held, " ")+" free; do echo evil | tee -a $f; done; cat env.shared; echo evil | tee hk/new; mkdir made; echo evil | tee made/later made2; rm way2; ln -s scripts way2")
	if strings.Contains(a.text(), "S3CRET") {
		t.Errorf("%s", a.text())
	}
	for _, name := range held {
		r.holds(name, "mine")
	}
	r.holds("free", "mineevil\n")
	for _, name := range []string{"hk/new", "made/later", "made2", "way2"} {
		r.absent(name)
	}

	// What the owner leads elsewhere later is known at the next write.
	r.must(os.Symlink("../free", r.path(".vscode/late")))
	time.Sleep(2100 * time.Millisecond) // what is known of links counts so long
	r.call("Read", "file_path", "free").ok()
	r.call("Edit", "file_path", "free", "old_string", "mine", "new_string", "evil").refused(dispatch.ByRules, "leads to")
}

// What a link of the owner's leads to is not taken for a command's when it comes back: a
// command of a session that does not know the link can have moved it away for a while.
func TestMovedAwayAndBack(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"conf/t": "mine", ".vscode/x": ""}})
	r.must(os.Symlink("../conf/t", r.path(".vscode/link")))
	r.call("Bash", "command", "true").ok()
	r.must(os.Rename(r.path("conf"), r.path("away")))
	r.running("touch first; while ! test -e stop; do sleep 0.01; done")
	r.must(os.Rename(r.path("away"), r.path("conf")))
	r.put("stop", "")
	r.ends("bash_1")
	r.holds("conf/t", "mine")
	r.call("Bash", "command", "echo evil | tee conf/t")
	r.holds("conf/t", "mine")

	// Nor when the session dies.
	s := setup{bash: true, user: allowBash}
	r = newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"away/t": "mine", ".vscode/x": ""}})
	r.must(os.Symlink("../conf/t", r.path(".vscode/link")))
	time.Sleep(30 * time.Millisecond) // the times of files are coarse
	r.crashed()
	r.must(os.Rename(r.path("away"), r.path("conf")))
	r.open(s)
	r.holds("conf/t", "mine")
	if all := r.withheld(); len(all) > 0 {
		t.Errorf("moved away: %v", all)
	}
}

// What was planted where nobody could look in the end is not taken over when it is seen.
func TestPlantedInTheDark(t *testing.T) {
	rootless(t)
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"src/.npmrc": "mine"}})
	o := r.options
	o.Session, o.Folder = "another", o.Folder+"-2"
	other := r.second(o)
	// The other session's command keeps the folder shut when this one's ends.
	r.put("flip.py", "import os\nopen('ready','w')\nwhile not os.path.exists('stop'):\n  for _ in range(2000): os.chmod('src',0)\n")
	r.running("touch first; while ! test -e plant; do sleep 0.01; done; echo evil | tee src/.envrc; touch planted; while ! test -e go; do sleep 0.01; done")
	other.call("Bash", "command", "python3 flip.py & while ! test -e go; do sleep 0.01; done; wait", "run_in_background", true).ok("bash_1")
	r.must(os.Chmod(r.path("src"), 0o755))
	r.until("ready")
	for range 500 {
		_ = os.Chmod(r.path("src"), 0o755)
		if f, err := os.OpenFile(r.path("src/.envrc"), os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_ = f.Close()
			break
		}
	}
	time.Sleep(50 * time.Millisecond) // the times of files are coarse
	r.put("plant", "")
	r.put("go", "")
	r.ends("bash_1")
	for range 3 {
		r.call("Bash", "command", "true")
	}
	r.put("stop", "")
	other.ends("bash_1")
	for range 3 {
		r.call("Bash", "command", "true")
		other.call("Bash", "command", "true")
	}
	r.holds("src/.npmrc", "mine")
	r.absent("src/.envrc")
}
