//go:build linux

package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
)

// repository makes a repository on the machine, with one commit.
func (s *scene) repository(dir string) {
	s.Helper()
	s.need("git")
	s.write(dir+"/file", "x")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		s.git(dir, args...)
	}
}

func (s *scene) git(dir string, args ...string) string {
	s.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// gitTests are about repositories: commits work, and nothing that git runs later, or
// that leads it to what it runs, is changed.
var gitTests = []test{
	{"commits work", func(s *scene) {
		s.writing()
		s.repository(s.ws)
		said := s.bash(`echo y > new && git add new && git commit -q -m second && git log --oneline | wc -l && git checkout -q -b topic && git mv new newer && git commit -q -m third && git checkout -q - && git merge -q topic && git stash list && git tag v1 && git gc -q && echo DONE`)
		s.says(said, "DONE")
		s.says(s.git(s.ws, "log", "--oneline"), "third")
	}},
	{"what runs programs is not planted", func(s *scene) {
		s.writing()
		s.repository(s.ws)
		config := current(s, ".git/config")
		said := s.bash(`git config core.fsmonitor 'touch x'; git config --local core.hooksPath evil; echo '[core] pager = x' >> .git/config; rm -f .git/config; mv .git/config x
mv .git .git2; cp -r .git2 .git; git config core.pager x; rm -rf .git/hooks; echo evil > .git/hooks/pre-commit; mv .git/hooks x; ln -s /tmp .git/hooks
echo '* filter=x' > .git/info/attributes; mv .git/info x; touch .git/hooks/PWNED; git remote add evil ext::sh; cp /bin/true .git/config; git config --file .git/config a.b c`)
		s.holds(".git/config", config)
		s.absent(s.ws+"/.git/hooks/pre-commit", s.ws+"/.git/hooks/PWNED", s.ws+"/.git/info/attributes")
		if info, err := os.Lstat(s.ws + "/.git"); err != nil || !info.IsDir() {
			s.Errorf(".git is no folder any more:\n%s", said)
		}
	}},
	{"nested repositories, when they are named", func(s *scene) {
		s.writing()
		s.repository(s.ws + "/a/nested")
		s.write("b/.git", "gitdir: ../a/nested/.git\n")
		s.policy.ReadOnly = []string{s.ws + "/a/nested/.git", s.ws + "/b/.git"}
		config := current(s, "a/nested/.git/config")
		said := s.bash(`cd a/nested && echo y > y && git add y && git commit -q -m second && echo DONE; git config core.pager x; echo x > .git/hooks/post-commit
cd ../..; echo 'gitdir: /tmp/evil' > b/.git; rm -rf b; mv b c; mv a/nested x; mv a y; mv a/nested/.git z`)
		s.says(said, "DONE")
		s.holds("a/nested/.git/config", config)
		s.holds("b/.git", "gitdir: ../a/nested/.git\n")
		s.absent(s.ws + "/a/nested/.git/hooks/post-commit")
	}},
	{"modules and worktrees", func(s *scene) {
		s.writing()
		s.repository(s.ws)
		s.repository(s.ws + "/.git/modules/lib/deep")
		module := s.ws + "/.git/modules/lib/deep"
		for _, name := range []string{"config", "hooks/pre-commit", "info/attributes"} {
			s.write(module+"/"+name, "kept")
		}
		s.git(s.ws, "worktree", "add", "-q", "tree")
		s.policy.ReadOnly = []string{s.ws + "/tree/.git"}
		kept := map[string]string{}
		for _, name := range []string{".git/worktrees/tree/gitdir", ".git/worktrees/tree/commondir", "tree/.git"} {
			kept[name] = current(s, name)
		}
		said := s.bash(`cd tree && echo z > z && git add z && git commit -q -m in-tree && echo DONE; cd ..
cd .git/modules/lib/deep; for f in config hooks/pre-commit info/attributes; do echo PWNED > $f; rm -f $f; done; mv hooks x; cd ..; mv deep x; cd ..; mv lib x; cd ../..; mv .git/modules x
for f in .git/worktrees/tree/gitdir .git/worktrees/tree/commondir tree/.git; do echo /tmp/evil > $f; rm -f $f; done; mv .git/worktrees/tree x; mv .git/worktrees x`)
		s.says(said, "DONE")
		for _, name := range []string{"config", "hooks/pre-commit", "info/attributes"} {
			s.holds(module+"/"+name, "kept")
		}
		for name, text := range kept {
			s.holds(name, text)
		}
	}},
}

// current is what a file of the workspace holds now.
func current(s *scene, name string) string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.ws, name))
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}
