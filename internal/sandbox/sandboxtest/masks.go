//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// maskTests are about what is hidden or kept within the workspace.
var maskTests = []test{
	{"hidden files are not read", func(s *scene) {
		secrets := []string{s.write(".env", mark), s.write("a/b/.env.local", mark)}
		s.policy.Hidden = secrets
		said := s.bash(`cat .env .e* ` + s.ws + `/.env a/b/.env.local; cp .env x; cp -r . /tmp/c; cat /tmp/c/.env /tmp/c/a/b/.env.local
tar cf - . | cat; dd if=.env; find . -name '.env*' -exec cat {} +; grep -r . .; chmod 644 .env; cat .env; chmod -R 777 a; cat a/b/.env.local
ln .env h; cat h; ln -s .env l; cat l; mv .env y; cat y; cat /proc/self/root` + s.ws + `/.env /proc/1/root` + s.ws + `/.env /proc/self/cwd/.env
exec 3<.env; cat <&3; python3 -c "print(open('.env').read())"; bash -c 'source .env'; : < .env; rm -f .env; cat .env; umount .env; cat .env; unshare -Urm sh -c 'umount .env; cat .env'`)
		s.unseen(said, secrets...)
		s.holds(".env", mark)
		s.holds("a/b/.env.local", mark)
	}},
	{"hidden files are not written", func(s *scene) {
		s.writing()
		secret := s.write("a/.env", mark)
		s.policy.Hidden = []string{secret}
		s.bash(`echo PWNED > a/.env; echo PWNED >> a/.env; rm -rf a; mv a b; truncate -s0 a/.env; chmod 777 a/.env; touch a/.env; rmdir a; mkdir a; echo PWNED > a/.env`)
		s.holds("a/.env", mark)
	}},
	{"hidden folders are not read, and their parents not moved", func(s *scene) {
		s.write("keys/k", mark)
		s.write("a/b/c/keys/deep/k", mark)
		s.policy.Hidden = []string{s.ws + "/keys", s.ws + "/a/b/c/keys"}
		said := s.bash(`ls keys && echo LISTED; cat keys/k; mv keys k2; cat k2/k; cp -r keys k3; mv a x; cat x/b/c/keys/deep/k; mv a/b y; cat y/c/keys/deep/k; mv a/b/c z; cat z/keys/deep/k
chmod 777 keys; ls keys && echo LISTED; cat a/b/c/keys/deep/k; rm -rf a keys; cd keys && echo LISTED; touch keys/PWNED; exec 4<keys; cat /proc/self/fd/4/k`)
		s.unseen(said, s.ws+"/keys/k", s.ws+"/a/b/c/keys/deep/k")
		s.silent(said, "LISTED")
		s.holds("keys/k", mark)
		s.holds("a/b/c/keys/deep/k", mark)
		s.absent(s.ws + "/keys/PWNED")
	}},
	{"what lies beside a mask is free", func(s *scene) {
		s.writing()
		s.policy.Hidden = []string{s.write("a/b/.env", mark)}
		s.policy.ReadOnly = []string{s.write("a/c/kept", "kept")}
		s.bash(`echo new > a/b/new; mv a/b/new a/b/newer; mkdir a/d; mv a/b/newer a/d/; rm -rf a/e; echo x > a/c/x`)
		s.holds("a/d/newer", "new\n")
		s.holds("a/c/x", "x\n")
	}},
	{"read-only files and folders stay as they are", func(s *scene) {
		s.writing()
		s.policy.ReadOnly = []string{s.write(".mcp.json", "kept"), filepath.Dir(s.write("a/.vscode/tasks.json", "kept")), s.write("scripts/guard.sh", "kept")}
		said := s.bash(`cat .mcp.json a/.vscode/tasks.json scripts/guard.sh
for f in .mcp.json a/.vscode/tasks.json scripts/guard.sh; do echo PWNED > $f; echo PWNED >> $f; rm -f $f; mv $f x; cp /bin/true $f; ln -sf /bin/true $f; truncate -s0 $f; chmod 777 $f; touch $f; ln $f h && echo PWNED > h; sed -i s/kept/PWNED/ $f; done
mv a b; mv a/.vscode x; rm -rf a scripts .vscode; mv scripts s2; mkdir -p scripts; echo PWNED > scripts/guard.sh; touch a/.vscode/PWNED; umount .mcp.json; mount -o remount,rw .mcp.json; echo PWNED > .mcp.json`)
		if strings.Count(said, "kept") < 3 {
			s.Errorf("what is read-only can't be read:\n%s", said)
		}
		s.holds(".mcp.json", "kept")
		s.holds("a/.vscode/tasks.json", "kept")
		s.holds("scripts/guard.sh", "kept")
		s.absent(s.ws + "/a/.vscode/PWNED")
	}},
	{"a hidden file in a read-only folder, and the reverse", func(s *scene) {
		s.writing()
		s.write("ro/sub/secret", mark)
		s.write("hid/ro/x", mark)
		s.policy.ReadOnly = []string{s.ws + "/ro", s.ws + "/hid/ro"}
		s.policy.Hidden = []string{s.ws + "/ro/sub/secret", s.ws + "/hid"}
		s.unseen(s.bash(`cat ro/sub/secret hid/ro/x; mv ro x; mv hid y; cat x/sub/secret y/ro/x; touch ro/PWNED`), s.ws+"/ro/sub/secret", s.ws+"/hid/ro/x")
		s.absent(s.ws + "/ro/PWNED")
	}},
	{"what is not there is passed over", func(s *scene) {
		s.writing()
		s.write("x", "x")
		s.policy.Hidden = []string{s.ws + "/none", s.ws + "/none/deeper", s.ws + "/x/below-a-file"}
		s.policy.ReadOnly = s.policy.Hidden
		s.says(s.bash(`cat x && echo RAN`), "xRAN")
		s.absent(s.ws + "/none")
	}},
	{"links are held where they lead", func(s *scene) {
		s.writing()
		s.write("secrets/real", mark)
		s.write("conf/real", "kept")
		s.write(s.out+"/plain", "plain")
		for name, to := range map[string]string{".env": "secrets/real", ".npmrc": "conf/real", "loop": "loop", "up": ".", "out": s.out + "/plain", "dangling": "none"} {
			if err := os.Symlink(to, s.ws+"/"+name); err != nil {
				s.Fatal(err)
			}
		}
		s.policy.Hidden = []string{s.ws + "/.env", s.ws + "/loop", s.ws + "/up", s.ws + "/out", s.ws + "/dangling"}
		s.policy.ReadOnly = []string{s.ws + "/.npmrc"}
		said := s.bash(`cat .env secrets/real; mv secrets x; cat x/real; echo PWNED > .npmrc; echo PWNED > conf/real; rm conf/real; mv conf y; echo RAN`)
		s.unseen(said, s.ws+"/secrets/real")
		s.says(said, "RAN")
		s.holds("conf/real", "kept")
	}},
	{"names with every kind of character", func(s *scene) {
		for i, name := range []string{"a b", "new\nline", "-n", "--bind", "é", "e\u0301", `q"'\`, "*", "\x01\x7f", "\xff\xfe", strings.Repeat("n", 255)} {
			s.policy.Hidden = append(s.policy.Hidden, s.write(fmt.Sprintf("%d/%s/%s", i, name, name), mark))
		}
		s.unseen(s.bash(`grep -r . .; find . -type f -exec cat {} +`), s.policy.Hidden...)
	}},
}

// onceTests are about masks too, and long: where the folders lie makes no difference.
var onceTests = []test{
	{"thousands of masks", func(s *scene) {
		s.writing()
		for i := range 2500 {
			s.policy.Hidden = append(s.policy.Hidden, s.write(fmt.Sprintf("d%d/e%d/f%d", i%40, i%7, i), mark))
		}
		s.policy.ReadOnly = []string{s.write("kept/kept", "kept")}
		said := s.bash(`exec 2>/dev/null; grep -rh canary . ; mv d1 x; mv d2/e1 y; cat x/*/*; echo PWNED > kept/kept; rm -rf d3; cat /proc/*/root` + s.ws + `/d*/e*/* /proc/*/cwd/d*/e*/*; (exec 3<>/proc/1/mem) && echo MEMORY; ls /proc/1/ && echo MEMORY; ls -d /proc/1/root/. && echo MEMORY; umount d1/e1/f1; grep Cap /proc/self/status; echo new > new; echo RAN`)
		s.unseen(said, s.policy.Hidden...)
		s.says(said, "RAN")
		s.silent(said, "MEMORY")
		s.says(said, "CapEff:\t0000000000000000")
		s.holds("kept/kept", "kept")
		s.holds("new", "new\n")
	}},
	{"folders swapped for links while it starts", swapped},
}

// swapped lets someone swap a folder with masks for links, again and again, while
// commands start: a mount must never be of another thing. (What is moved away before
// the plan is made is not there under its name: that is for who names what is hidden.)
func swapped(s *scene) {
	s.write(s.home+"/.ssh/secret", mark)
	s.policy.Hidden = []string{s.write("a/b/secret", "hidden")}
	s.policy.ReadOnly = []string{s.write("a/b/kept", "kept")}
	done, stopped := make(chan struct{}), make(chan struct{})
	up, err := filepath.Rel(s.ws+"/a", s.home+"/.ssh")
	if err != nil {
		s.Fatal(err)
	}
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = os.Rename(s.ws+"/a/b", s.ws+"/a/c")
			_ = os.Symlink(up, s.ws+"/a/b")
			_ = os.Remove(s.ws + "/a/b")
			_ = os.Rename(s.ws+"/a/c", s.ws+"/a/b")
		}
	}()
	defer func() { close(done); <-stopped }()
	ran := 0
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		said, err := os.CreateTemp(s.TempDir(), "said")
		if err != nil {
			s.Fatal(err)
		}
		p, err := s.sandbox.Start(s.Context(), s.policy, sandbox.Command{Args: []string{"bash", "-c", `cat a/b/secret a/c/secret ~/.ssh/secret; ls -a ~`}, Dir: s.ws, Stdout: said, Stderr: said})
		switch {
		case fault.KindOf(err) == fault.Unavailable:
		case err != nil:
			s.Fatal(err)
		default:
			if _, err := p.Wait(); err != nil {
				s.Fatal(err)
			}
			ran++
			if text := content(said); strings.Contains(text, mark) {
				s.Errorf("a swap told a secret:\n%s", text)
			}
		}
		said.Close()
	}
	s.Logf("%d ran", ran)
}
