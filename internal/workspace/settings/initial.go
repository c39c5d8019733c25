package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// firstContract is what a project begins with. It denies what nearly every project
// wants denied, and shows every key.
const firstContract = `# What no agent may do with the files of this project, whatever the settings allow.
# A contract can only tighten. Patterns are those of .gitignore, without "!"; the most
# restrictive rule that matches wins. ` + "`holdfast contract check`" + ` checks this file.
version: 1

# What holds where no rule names a path: read, write, execute: allow, ask or deny.
# defaults:
#   write: ask

rules:
  - glob: ".env*"
    read: deny
    write: deny
    reason: "holds secrets"

  # - glob: "migrations/**"
  #   write: ask
  #   owner: "the database team"
  #   reason: "migrations are reviewed"
  # - glob: "scripts/deploy.sh"
  #   execute: deny
`

// InitContract begins a contract in the project at dir, and gives its path. It fails
// when there is one.
func InitContract(dir string) (string, error) {
	_, real, err := realFolder(dir)
	if err != nil {
		return "", problem(policy.Place{}, fault.NotFound, "Name a folder with -C.", "the project %s %s", dir, err)
	}
	path := filepath.Join(real, projectFolder, contractName)
	failed := func(err error) error {
		return fault.Wrap(err, fault.Storage, path+" can't be written: "+reason(err), "")
	}
	if err := os.Mkdir(filepath.Join(real, projectFolder), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", failed(err)
	}
	folder, err := openProject(real)
	if err != nil {
		return "", err
	}
	if folder == nil {
		return "", failed(fs.ErrNotExist)
	}
	defer folder.Close()
	f, err := folder.OpenFile(contractName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return "", fault.New(fault.Exists, "there is a contract already: "+path, "Edit it, or remove it first.")
	}
	if err != nil {
		return "", failed(err)
	}
	_, err = f.WriteString(firstContract)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", failed(err)
	}
	return path, nil
}

// ReadContracts reads and checks the contracts that count at a directory: the
// project's first, then the user's.
func ReadContracts(o Options) ([]policy.ContractSpec, error) {
	p, _, err := open(o, false)
	if err != nil {
		return nil, err
	}
	return p.specs, nil
}
