package workspace_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/workspace"
)

func TestGitLeads(t *testing.T) {
	got := workspace.GitLeads("[core]\n\thooksPath = scripts/gh # mine\n\tfsmonitor = true\n[include] path = \"../tools/git config\"\n[includeIf \"gitdir:x\"]\n path=c\\\nd\n" +
		"; path = no\n[core] fsmonitor = ./watch\nattributesFile = ~/attrs\n[alias]\nx = !sh\n[core\nhooksPath")
	if want := "[scripts/gh ../tools/git config cd ./watch]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// What the owner's git configuration leads to is held as it is itself.
func TestWhereGitConfigLeads(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\thooksPath = scripts/gh\n[include]\n\tpath = ../tools/gitconfig\n",
		"scripts/gh/pre-commit": "mine\n", "tools/gitconfig": "mine\n", "tools/other": "free\n",
	}})
	r.call("Bash", "command", "echo evil | tee -a scripts/gh/pre-commit tools/gitconfig tools/other; echo evil > scripts/gh/post-commit; mv scripts/gh x")
	r.holds("scripts/gh/pre-commit", "mine\n")
	r.holds("tools/gitconfig", "mine\n")
	r.holds("tools/other", "free\nevil\n")
	r.absent("scripts/gh/post-commit")
}

// Data names are names of modules and worktrees too.
func TestModulesNamedAsData(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/modules/lib/objects/config": "mine\n", ".git/modules/lib/objects/HEAD": "x\n", ".git/worktrees/refs/commondir": "../..\n",
	}})
	r.call("Bash", "command", "echo evil | tee -a .git/modules/lib/objects/config .git/worktrees/refs/commondir; mkdir .git/modules/lib/objects/hooks; echo evil > .git/modules/lib/objects/hooks/post-commit")
	r.holds(".git/modules/lib/objects/config", "mine\n")
	r.holds(".git/worktrees/refs/commondir", "../..\n")
	r.absent(".git/modules/lib/objects/hooks/post-commit")
}

// A link that is put aside by one command, and brought back by the next, leads to what it led to.
func TestLinksPutAside(t *testing.T) {
	r := newRig(t, setup{bash: true, user: `{"permissions":{"allow":["Bash"],"deny":["Read(.env)"]}}`, files: map[string]string{
		"conf/npmrc": "mine\n", "conf/vsc/tasks.json": "mine\n", "conf/secret": "S3CRET\n", "old": "evil\n",
	}})
	for link, to := range map[string]string{".npmrc": "conf/npmrc", ".vscode": "conf/vsc", ".env": "conf/secret", ".yarnrc": "conf/yarnrc"} {
		r.must(os.Symlink(to, r.path(link)))
	}
	r.call("Read", "file_path", "conf/secret").refused(dispatch.ByRules, "may not be read")
	r.call("Bash", "command", "mv .npmrc k1; mv .vscode k2; mv .env k3; mv .yarnrc k4")
	a := r.call("Bash", "command", "echo evil | tee conf/npmrc conf/vsc/tasks.json; cat conf/secret; mv old conf/yarnrc; mv k1 .npmrc; mv k2 .vscode; mv k3 .env; mv k4 .yarnrc")
	if strings.Contains(a.text(), "S3CRET") {
		t.Error(a.text())
	}
	r.holds("conf/npmrc", "mine\n")
	r.holds("conf/vsc/tasks.json", "mine\n")
	r.absent("conf/yarnrc")
}
