package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// TrustLock is the name of the file in the state directory that is locked while the
// trust store is changed. It is the first that is made there, and stays.
const TrustLock = "trust.lock"

const (
	trustName    = "trust.json"
	trustVersion = 1
	maxTrust     = 4 << 20         // bytes
	lockWait     = 5 * time.Second // for another process to finish its change
	lockPause    = 10 * time.Millisecond
)

// TrustedProject is one entry of the trust store: a directory by its real path, and
// what its own settings, contract and hook scripts were when it was trusted.
type TrustedProject struct {
	Path   string    `json:"path"`
	Digest string    `json:"digest"`
	At     time.Time `json:"trusted_at"`
}

// trustStore is the file as a whole.
type trustStore struct {
	Version  int              `json:"version"`
	Projects []TrustedProject `json:"projects"`
}

// holds reports whether a directory is trusted with just this digest.
func (t trustStore) holds(dir, digest string) bool {
	return slices.ContainsFunc(t.Projects, func(p TrustedProject) bool { return p.Path == dir && p.Digest == digest })
}

// knows reports whether a directory is trusted with any digest.
func (t trustStore) knows(dir string) bool {
	return slices.ContainsFunc(t.Projects, func(p TrustedProject) bool { return p.Path == dir })
}

// readTrust reads the store. One that is not there trusts nothing; one that is there
// and can't be understood is an error, for what was trusted can't be known then.
func readTrust(state string) (trustStore, error) {
	path := filepath.Join(state, trustName)
	t := trustStore{Version: trustVersion}
	damaged := func(why string) (trustStore, error) {
		return trustStore{}, problem(policy.Place{File: path}, fault.Corrupt, "Put a copy of it back, or remove it and trust the projects again.", "the trust store %s is damaged: %s", path, why)
	}
	before, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return damaged(reason(err))
	case before.Mode()&fs.ModeSymlink != 0:
		return damaged(errIsLink.Error())
	case runtime.GOOS != "windows" && before.Mode().Perm()&0o022 != 0:
		return damaged("others may write it")
	}
	data, err := readRegular(before, maxTrust, func() (*os.File, error) { return openNow(path) })
	if err != nil {
		return damaged(reason(err))
	}
	t = trustStore{} // the file must say all itself
	if err := strictJSON(data, &t); err != nil {
		return damaged(err.Error())
	}
	if t.Version != trustVersion {
		return damaged(fmt.Sprintf("it is of version %d, and this program knows version %d", t.Version, trustVersion))
	}
	for n, p := range t.Projects {
		if !filepath.IsAbs(p.Path) || !strings.HasPrefix(p.Digest, "sha256:") || len(p.Digest) != len("sha256:")+64 {
			return damaged(fmt.Sprintf("its entry %d is none", n+1))
		}
	}
	return t, nil
}

// strictJSON reads one object: no key twice, none unknown, nothing behind.
func strictJSON(data []byte, into any) error {
	if v := jsontext.Value(data).Clone(); len(v) == 0 || v.Canonicalize() != nil {
		return errors.New("it is no JSON")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New("it does not hold what a trust store holds")
	}
	return nil
}

// changeTrust changes the store, alone among all processes.
func changeTrust(state string, change func(*trustStore) error) error {
	storage := func(err error) error {
		return fault.Wrap(err, fault.Storage, "the trust store in "+state+" can't be changed: "+reason(err), "")
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return storage(err)
	}
	lock, err := os.OpenFile(filepath.Join(state, TrustLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return storage(err)
	}
	defer lock.Close() // and the lock with it
	for deadline := time.Now().Add(lockWait); ; time.Sleep(lockPause) {
		if err = lockFile(lock); err == nil {
			break
		}
		if !errors.Is(err, errLocked) {
			return storage(err)
		}
		if time.Now().After(deadline) {
			return fault.New(fault.Unavailable, "another process is changing the trust store in "+state, "Try again.")
		}
	}
	t, err := readTrust(state)
	if err != nil {
		return err
	}
	if err := change(&t); err != nil {
		return err
	}
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return storage(err)
	}
	if err := replaceFile(filepath.Join(state, trustName), append(data, '\n')); err != nil {
		return storage(err)
	}
	return nil
}

// replaceFile writes a file that only its owner may read, in one step.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Review is what a project's own files ask for, to be read before it is trusted. It is
// bound to the bytes that were read: Trust trusts these, and no later ones.
type Review struct {
	Dir     string // real path
	Trusted bool   // already, just as it is
	Grants  []Grant
	digest  string
	state   string
}

// Grant is one thing that counts only in a trusted project.
type Grant struct {
	Kind string // "allow", "defaultMode", "additionalDirectories", "hook", "script", "sandbox"
	What string
	At   policy.Place
}

// ReadReview reads a project without trusting it.
func ReadReview(o Options) (*Review, error) {
	p, store, err := open(o, true)
	if err != nil {
		return nil, err
	}
	r := &Review{Dir: p.dir, Trusted: store.holds(p.dir, p.digest), digest: p.digest, state: p.state}
	for _, l := range p.layers {
		if !l.owned() {
			r.Grants = append(r.Grants, l.grants()...)
		}
	}
	return r, nil
}

// Trust writes down that the project is trusted as it was read.
func (r *Review) Trust(now time.Time) error {
	return changeTrust(r.state, func(t *trustStore) error {
		t.Projects = slices.DeleteFunc(t.Projects, func(p TrustedProject) bool { return p.Path == r.Dir })
		t.Projects = append(t.Projects, TrustedProject{Path: r.Dir, Digest: r.digest, At: now.UTC().Truncate(time.Second)})
		slices.SortFunc(t.Projects, func(a, b TrustedProject) int { return strings.Compare(a.Path, b.Path) })
		return nil
	})
}

// ListTrusted gives the trusted projects, by path.
func ListTrusted(state string) ([]TrustedProject, error) {
	t, err := readTrust(state)
	return t.Projects, err
}

// Distrust takes the trust from a directory, by its path as given or its real one; it
// need not exist any more. It fails when it was not trusted.
func Distrust(state, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	real, err := Disk{}.Real(abs)
	if err != nil {
		real = abs
	}
	return changeTrust(state, func(t *trustStore) error {
		before := len(t.Projects)
		t.Projects = slices.DeleteFunc(t.Projects, func(p TrustedProject) bool { return p.Path == abs || p.Path == real })
		if len(t.Projects) == before {
			return fault.New(fault.NotFound, abs+" is not trusted", "`holdfast trust --list` lists what is.")
		}
		return nil
	})
}
