package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lookIn finds a program in the PATH of an environment, absolute entries only.
func lookIn(name string, env []string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if filepath.Base(name) != name {
		return "", errors.New("a program is named by its name or its absolute path")
	}
	var path string
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if file, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return file, nil
		}
	}
	return "", &os.PathError{Op: "find", Path: name, Err: os.ErrNotExist}
}
