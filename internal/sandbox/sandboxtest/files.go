//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// fileTests are about what can be read and written outside of masks.
var fileTests = []test{
	{"the workspace is written", func(s *scene) {
		s.writing()
		s.bash(`echo hello > a; mkdir -p d/e; echo hello > d/e/f; mv a b; chmod 700 b`)
		s.holds("b", "hello\n")
		s.holds("d/e/f", "hello\n")
	}},
	{"nothing outside is written", func(s *scene) {
		kept := s.write(s.out+"/kept", "kept")
		s.bash(`touch ` + s.out + `/PWNED ` + s.ws + `/../PWNED /PWNED /etc/PWNED /usr/PWNED /sys/PWNED
echo x >> /etc/ld.so.preload; cp /bin/true ` + s.out + `/PWNED; ln -s ` + s.out + ` o; touch o/PWNED; mkdir ` + s.out + `/PWNED
chmod 777 ` + s.out + `; touch ` + s.out + `/PWNED; rm -f ` + kept + `; echo PWNED > ` + kept + `; mv ` + kept + ` x; ln ` + kept + ` h && echo PWNED > h
exec 9<` + s.ws + `; touch /proc/self/fd/9/../PWNED /proc/self/root/etc/PWNED /proc/1/root/etc/PWNED /proc/self/cwd/../PWNED; true`)
		s.absent(s.out+"/PWNED", filepath.Dir(s.ws)+"/PWNED", "/PWNED", "/etc/PWNED", "/usr/PWNED", "/sys/PWNED")
		s.holds(kept, "kept")
	}},
	{"read-only mode writes nothing", func(s *scene) {
		s.policy.Mode = sandbox.ModeReadOnly
		kept, more := s.write("kept", "kept"), s.out+"/more"
		s.write(more+"/kept", "kept")
		s.policy.Writable = []string{more}
		said := s.bash(`cat kept; echo x > PWNED; echo x > kept; rm -rf kept; mv kept PWNED; touch ` + more + `/PWNED; cat ` + more + `/kept`)
		s.says(said, "kept")
		s.absent(s.ws+"/PWNED", more+"/PWNED")
		s.holds(kept, "kept")
	}},
	{"read-only mode hides and keeps what it is told", func(s *scene) {
		s.policy.Mode = sandbox.ModeReadOnly
		s.policy.Hidden = []string{s.write("a/secret", mark), filepath.Dir(s.write("b/keys/k", mark))}
		s.policy.ReadOnly = []string{s.write("c", "kept")}
		s.unseen(s.bash(`cat a/secret b/keys/k; ls b/keys; cat c; grep -r . .; mv a x; cat x/secret`), s.policy.Hidden[0], s.ws+"/b/keys/k")
		s.holds("c", "kept")
	}},
	{"temporary folders are private and gone after", func(s *scene) {
		s.writing()
		for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
			host, err := os.CreateTemp(dir, "holdfast-test-")
			if err != nil {
				continue // not on this machine, or not to be written
			}
			host.Close()
			s.write(host.Name(), mark)
			s.Cleanup(func() { os.Remove(host.Name()) })
			s.unseen(s.bash(`cat ` + host.Name() + `; rm -f ` + host.Name() + `; echo x > ` + dir + `/holdfast-PWNED && cat ` + dir + `/holdfast-PWNED`))
			s.holds(host.Name(), mark)
			s.absent(dir + "/holdfast-PWNED")
		}
		s.silent(s.bash(`cat /tmp/holdfast-PWNED && echo LEFT`), "LEFT")
	}},
	{"/run has no sockets of the machine", func(s *scene) {
		s.silent(s.bash(`ls /run/user /run/dbus /run/docker.sock /run/systemd /var/run/docker.sock 2>/dev/null && echo SOCKETS`), "SOCKETS")
	}},
	{"secrets of the home directory", func(s *scene) {
		for _, name := range homeSecrets {
			s.write(s.home+"/"+name, mark)
		}
		said := s.bash(`cd ~; for f in ` + strings.Join(homeSecrets, " ") + `; do cat "$f" ` + s.home + `/"$f"; done 2>/dev/null
find ` + s.home + ` -type f -not -path ` + s.ws + `'/*' -exec cat {} + 2>/dev/null
cd ` + s.ws + `; ln -s ` + s.home + `/.ssh/id_rsa k; cat k; cp k k2; ln ` + s.home + `/.ssh/id_rsa h; cat h; cat /proc/self/root` + s.home + `/.ssh/id_rsa`)
		s.unseen(said)
	}},
	{"the account's own home directory, wherever HOME leads", func(s *scene) {
		home, err := os.UserHomeDir()
		if err != nil {
			s.Skip("there is none")
		}
		f, err := os.CreateTemp(home, ".holdfast-test-")
		if err != nil {
			s.Skip("it can't be written")
		}
		s.Cleanup(func() { os.Remove(f.Name()) })
		f.Close()
		s.write(f.Name(), mark)
		s.unseen(s.bash(`cat ` + f.Name()))
	}},
	{"the home directory can be written, and it is gone after", func(s *scene) {
		s.writing()
		said := s.bash(`mkdir -p ~/.npm/_cacache ~/.cache/go-build && echo x > ~/.npm/_cacache/x && echo x > ~/.profile && cat ~/.npm/_cacache/x && echo CACHED`)
		s.says(said, "CACHED")
		s.absent(s.home+"/.npm", s.home+"/.cache", s.home+"/.profile")
		s.silent(s.bash(`cat ~/.npm/_cacache/x && echo LEFT`), "LEFT")
	}},
	{"tool folders are seen, and not written", func(s *scene) {
		tool := s.write(s.home+"/.cargo/bin/tool", "#!/bin/sh\necho RAN\n")
		module := s.write(s.home+"/go/pkg/mod/m@v1/m.go", "package m")
		if err := os.Chmod(tool, 0o755); err != nil {
			s.Fatal(err)
		}
		s.write(s.home+"/.cargo/credentials.toml", mark)
		said := s.bash(`~/.cargo/bin/tool; cat ~/go/pkg/mod/m@v1/m.go; cat ~/.cargo/credentials.toml
echo PWNED > ~/.cargo/bin/tool; rm -f ~/go/pkg/mod/m@v1/m.go; mv ~/.cargo/bin ~/.cargo/bin2; touch ~/.cargo/bin/PWNED`)
		s.says(said, "RAN")
		s.says(said, "package m")
		s.unseen(said)
		s.holds(tool, "#!/bin/sh\necho RAN\n")
		s.holds(module, "package m")
		s.absent(s.home + "/.cargo/bin/PWNED")
	}},
	{"readable and writable folders", func(s *scene) {
		s.writing()
		shown := s.write(s.home+"/.config/tool/settings", "shown")
		s.write(s.home+"/.config/other/settings", mark)
		more := s.out + "/more"
		s.write(more+"/x", "x")
		s.policy.Readable, s.policy.Writable = []string{filepath.Dir(shown)}, []string{more}
		said := s.bash(`cat ` + shown + `; cat ~/.config/other/settings; echo PWNED > ` + shown + `; echo new > ` + more + `/new`)
		s.says(said, "shown")
		s.unseen(said)
		s.holds(shown, "shown")
		s.holds(more+"/new", "new\n")
	}},
	{"a second root, and a root in a root", func(s *scene) {
		s.writing()
		second, inner := s.out+"/second", s.ws+"/inner"
		s.write(second+"/x", "x")
		s.write(inner+"/x", "x")
		s.policy.Roots = append(s.policy.Roots, second, inner)
		s.policy.Hidden = []string{s.write(inner+"/a/secret", mark)}
		s.unseen(s.bash(`echo new > `+second+`/new; echo new > inner/new; cat inner/a/secret; mv inner/a b; cat b/secret; mv inner c; cat c/a/secret`), s.policy.Hidden[0])
		s.holds(second+"/new", "new\n")
		s.holds(inner+"/new", "new\n")
	}},
	{"this program's state, whatever else says", func(s *scene) {
		inside := filepath.Dir(s.write("state/s", mark))
		s.write(s.state+"/s", mark)
		s.policy.State = append(s.policy.State, inside)
		s.policy.Readable, s.policy.Writable = []string{s.state, s.state + "/s"}, []string{inside, s.state}
		s.unseen(s.bash(`cat `+s.state+`/s state/s; ls `+s.state+` state; touch `+s.state+`/PWNED state/PWNED; mv state x; cat x/s; rm -rf state`), inside+"/s")
		s.absent(s.state+"/PWNED", inside+"/PWNED")
		s.holds("state/s", mark)
	}},
	{"secrets of the machine", func(s *scene) {
		s.silent(s.bash(`cat /etc/shadow /etc/ssh/ssh_host_*_key /etc/sudoers 2>/dev/null | grep -q . && echo READ`), "READ")
	}},
}

// homeSecrets are files that no command sees. The last ones lie beside tool folders.
var homeSecrets = []string{
	".ssh/id_rsa", ".aws/credentials", ".gnupg/private-keys-v1.d/k.key", ".npmrc", ".docker/config.json", ".kube/config", ".config/gh/hosts.yml",
	".config/gcloud/credentials.db", ".azure/accessTokens.json", ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".git-credentials", ".netrc", ".pypirc",
	".mozilla/firefox/x/logins.json", ".config/google-chrome/Default/Cookies", ".config/holdfast/settings.json", ".claude.json", ".claude/.credentials.json", "other-project/.env",
	".vault-token", ".terraform.d/credentials.tfrc.json", ".local/share/keyrings/login.keyring", ".cache/x", ".gitconfig", ".yarnrc", ".bashrc",
	".cargo/credentials.toml", ".cargo/credentials", ".cargo/config.toml", ".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".nuget/NuGet.Config", ".npm/_cacache/x", ".local/state/x", ".nvm/.npmrc",
}
