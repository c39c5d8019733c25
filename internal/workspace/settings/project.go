package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// project is everything that was read for one directory, before it is settled what of
// it counts.
type project struct {
	given, dir, home string
	state            string
	own              []string // real paths
	layers           []*layer // strongest first
	contracts        []policy.Contract
	specs            []policy.ContractSpec
	digest           string // of what is the project's own; empty when nobody can have trusted it
	looks            bool   // the files that the project's hooks name are looked at
}

// open reads and checks every file, each once, and the trust store. The files that the
// hooks of a project name are looked at only where its trust depends on them, or for a
// review: what nobody ever trusted must not make a start read what it likes.
func open(o Options, review bool) (*project, trustStore, error) {
	p, err := locate(o)
	if err != nil {
		return nil, trustStore{}, err
	}
	store, err := readTrust(p.state)
	if err != nil {
		return nil, trustStore{}, err
	}
	p.looks = review || store.knows(p.dir)
	return p, store, p.read(o)
}

// read reads the files.
func (p *project) read(o Options) error {
	folder, err := openProject(p.dir)
	if err != nil {
		return err
	}
	if folder != nil {
		defer folder.Close()
	}
	var files []source
	for _, f := range []struct {
		layer  policy.Layer
		folder string // empty for the project's
		name   string
		limit  int64
	}{
		{policy.Managed, o.Managed, settingsName, maxSettings},
		{policy.User, o.Config, settingsName, maxSettings},
		{policy.ProjectLocal, "", localName, maxSettings},
		{policy.Project, "", settingsName, maxSettings},
		{policy.Project, "", contractName, maxContract},
		{policy.User, o.Config, contractName, maxContract},
	} {
		var s source
		if f.folder == "" {
			s, err = readProject(folder, f.layer, p.dir, f.name, f.limit)
		} else {
			s, err = readOwners(f.layer, filepath.Join(f.folder, f.name), f.limit)
			if real, err := (Disk{}).Real(s.path); err == nil {
				p.own = append(p.own, real) // where a link leads, too
			}
		}
		if err != nil {
			return err
		}
		files = append(files, s)
	}
	if err := p.checkRoot(p.dir, policy.Place{}); err != nil {
		return err
	}
	return p.parse(files[:4], files[4], files[5])
}

// parse makes layers and contracts of the files, and the digest of the project's.
func (p *project) parse(settings []source, contract, users source) error {
	for _, s := range settings {
		l, err := parseLayer(s, p.dir, p.home)
		if err != nil {
			return err
		}
		for n := range l.hooks {
			if !p.looks && !l.owned() {
				continue
			}
			files, err := namedFiles(l.hooks[n].Command, p.dir, p.home)
			if err != nil {
				return &Problem{At: l.hooks[n].At, fault: fault.Wrap(err, fault.BadInput,
					fmt.Sprintf("%s:%d: a file that the hook names can't be read: %s", s.path, l.hooks[n].At.Line, reason(err)), "Make it readable, or change the hook.")}
			}
			l.hooks[n].Files = files
		}
		p.layers = append(p.layers, l)
	}
	for _, c := range []struct {
		source
		folder string
	}{{contract, p.dir}, {users, ""}} {
		compiled, spec, err := c.compile(c.folder, p.home)
		if err != nil {
			return err
		}
		if compiled != nil {
			p.contracts = append(p.contracts, *compiled)
			p.specs = append(p.specs, *spec)
		}
	}
	if p.looks {
		p.digest = p.digestOf(append(slices.Clone(settings), contract))
	}
	return nil
}

// digestOf is what trust is given to: the project's own files and the scripts that its
// hooks name, byte for byte.
func (p *project) digestOf(files []source) string {
	h := sha256.New()
	note := func(kind, name string, sum [32]byte) { fmt.Fprintf(h, "%s %q %x\n", kind, name, sum) }
	for _, s := range files {
		if s.layer != policy.Project && s.layer != policy.ProjectLocal {
			continue
		}
		if s.present {
			note("file", filepath.Base(s.path), sha256.Sum256(s.data))
		}
	}
	for _, l := range p.layers {
		if l.owned() {
			continue
		}
		for _, hook := range l.hooks {
			for _, f := range hook.Files {
				switch {
				case f.Script && f.Missing:
					note("missing", f.Path, f.SHA256)
				case f.Script:
					note("script", f.Path, f.SHA256)
				}
			}
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// locate finds the directories and checks that they may be what they are.
func locate(o Options) (*project, error) {
	for _, required := range []struct{ what, value string }{
		{"directory", o.Dir},
		{"home directory", o.Home},
		{"folder of managed settings", o.Managed},
		{"folder of the user's settings", o.Config},
		{"state directory", o.State},
	} {
		if required.value == "" {
			return nil, problem(policy.Place{}, fault.BadInput, "", "there is no %s: nothing starts without it", required.what)
		}
	}
	given, dir, err := realFolder(o.Dir)
	if err != nil {
		return nil, problem(policy.Place{}, fault.NotFound, "Name a folder with -C.", "the workspace %s %s", o.Dir, err)
	}
	p := &project{given: given, dir: dir, state: o.State}
	for _, real := range []struct {
		path string
		into *string
	}{{o.Home, &p.home}, {o.State, &p.state}} {
		if *real.into, err = realPath(real.path); err != nil {
			return nil, problem(policy.Place{}, fault.BadInput, "", "%s can't be resolved: %s", real.path, reason(err))
		}
	}
	for _, path := range append([]string{o.State, o.Config, o.Managed}, o.Executables...) {
		real, err := realPath(path)
		if err != nil {
			return nil, problem(policy.Place{}, fault.BadInput, "", "%s can't be resolved: %s", path, reason(err))
		}
		p.own = append(p.own, real)
	}
	return p, nil
}

// realFolder gives a folder's absolute path as given, and its real one. The error is a
// sentence part.
func realFolder(path string) (given, real string, err error) {
	if given, err = filepath.Abs(path); err != nil {
		return "", "", fmt.Errorf("has no absolute path: %s", reason(err))
	}
	if real, err = filepath.EvalSymlinks(given); err != nil {
		return "", "", fmt.Errorf("can't be found: %s", reason(err))
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() {
		return "", "", fmt.Errorf("is no folder")
	}
	return given, real, nil
}

func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return Disk{}.Real(abs)
}

// checkRoot refuses a root that reaches what no agent may reach: everything, the home
// directory, or this program's own files.
func (p *project) checkRoot(dir string, at policy.Place) error {
	what := ""
	switch {
	case filepath.Dir(dir) == dir:
		what = "is the whole file system"
	case holds(dir, p.home):
		what = "is the home directory, or holds it"
	}
	for _, own := range p.own {
		if what == "" && (holds(dir, own) || holds(own, dir)) {
			what = "holds Holdfast's own files (" + own + "), or lies among them"
		}
	}
	if what == "" {
		return nil
	}
	return problem(at, fault.Forbidden, "Give the folder of one project.", "%s can't be given to an agent: it %s", dir, what)
}

// holds reports whether path is the folder or lies below it, by name or because the
// file system says so.
func holds(folder, path string) bool {
	info, err := os.Stat(folder)
	for {
		if path == folder {
			return true
		}
		if other, failed := os.Stat(path); err == nil && failed == nil && os.SameFile(info, other) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(x, y)
}
