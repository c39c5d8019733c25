//go:build unix

package settings_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// soon fails when a start hangs.
func soon(t *testing.T, o settings.Options) (*settings.Settings, error) {
	t.Helper()
	type answer struct {
		s   *settings.Settings
		err error
	}
	done := make(chan answer, 1)
	go func() {
		s, err := settings.Load(o)
		done <- answer{s, err}
	}()
	select {
	case a := <-done:
		return a.s, a.err
	case <-time.After(10 * time.Second):
		t.Fatal("the start hangs")
		return nil, nil
	}
}

// TestFilesThatCantBeRead: whatever stands in the place of a file that could hold a
// deny keeps the server from starting.
func TestFilesThatCantBeRead(t *testing.T) {
	makes := map[string]func(path string) error{
		"a FIFO":          func(p string) error { return syscall.Mkfifo(p, 0o644) },
		"a folder":        func(p string) error { return os.Mkdir(p, 0o755) },
		"a socket":        socket,
		"a dangling link": func(p string) error { return os.Symlink("nowhere", p) },
		"a loop":          func(p string) error { return os.Symlink(filepath.Base(p), p) },
		"a device":        func(p string) error { return os.Symlink("/dev/zero", p) },
		"what is closed": func(p string) error {
			if os.Geteuid() == 0 {
				return errors.ErrUnsupported // root reads everything
			}
			return os.WriteFile(p, []byte("{}"), 0)
		},
	}
	for _, file := range []string{managedFile, userFile, userContract, projectFile, localFile, contractFile} {
		for what, makeIt := range makes {
			t.Run(file+" is "+what, func(t *testing.T) {
				o, base := world(t, nil)
				path := filepath.Join(base, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := makeIt(path); errors.Is(err, errors.ErrUnsupported) {
					t.Skip(err)
				} else if err != nil {
					t.Fatal(err)
				}
				if s, err := soon(t, o); err == nil {
					t.Fatalf("it starts: %+v", s)
				} else if at := settings.PlaceOf(err); at.File != path {
					t.Errorf("%v at %+v", err, at)
				}
				if _, err := settings.ReadReview(o); err == nil {
					t.Error("it can be trusted")
				}
			})
		}
	}
}

// socket makes a socket with a short name beside, for its address must be short.
func socket(path string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	defer os.RemoveAll(short)
	at := filepath.Join(short, "s")
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: at}); err != nil {
		return err
	}
	return os.Rename(at, path)
}

// TestProjectFolder: a project's settings are not reached through links.
func TestProjectFolder(t *testing.T) {
	for name, makeIt := range map[string]func(base string) error{
		"the folder is a link":       func(b string) error { return os.Symlink("../out", filepath.Join(b, "ws/.holdfast")) },
		"it is a link inside":        func(b string) error { return os.Symlink("src", filepath.Join(b, "ws/.holdfast")) },
		"it is a dangling link":      func(b string) error { return os.Symlink("nowhere", filepath.Join(b, "ws/.holdfast")) },
		"it is a file":               func(b string) error { return os.WriteFile(filepath.Join(b, "ws/.holdfast"), nil, 0o644) },
		"it is a FIFO":               func(b string) error { return syscall.Mkfifo(filepath.Join(b, "ws/.holdfast"), 0o644) },
		"the settings are a link":    func(b string) error { return link(b, "settings.json") },
		"local settings are a link":  func(b string) error { return link(b, "settings.local.json") },
		"the contract is a link":     func(b string) error { return link(b, "contract.yaml") },
		"a link to the user's files": func(b string) error { return os.Symlink("../home/.config/holdfast", filepath.Join(b, "ws/.holdfast")) },
	} {
		o, base := world(t, map[string]string{"ws/src/settings.json": "{}", "out/settings.json": "{}", "home/.config/holdfast/x": ""})
		if err := makeIt(base); err != nil {
			t.Fatal(err)
		}
		if _, err := soon(t, o); err == nil {
			t.Errorf("%s: it starts", name)
		}
	}
}

func link(base, name string) error {
	return errors.Join(os.Mkdir(filepath.Join(base, "ws/.holdfast"), 0o755), os.Symlink("../src/settings.json", filepath.Join(base, "ws/.holdfast", name)))
}

// TestUsersSettingsMayBeALink: into a folder of dotfiles, which is then as protected.
func TestUsersSettingsMayBeALink(t *testing.T) {
	o, base := world(t, map[string]string{"home/dot/holdfast.json": `{"permissions": {"deny": ["Read(x)"]}}`, "home/.config/holdfast/x": ""})
	real := filepath.Join(base, "home/dot/holdfast.json")
	if err := os.Symlink(real, filepath.Join(base, userFile)); err != nil {
		t.Fatal(err)
	}
	s := load(t, o)
	if len(s.Rules) != 1 || !slices.Contains(s.Own, real) {
		t.Errorf("rules %s, own %v", rules(s), s.Own)
	}
}

// TestDamagedTrustStore: what was trusted can't be known then, so nothing starts.
func TestDamagedTrustStore(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	for name, text := range map[string]string{
		"empty":       "",
		"cut":         `{"version":1,"projects":[`,
		"null":        "null",
		"list":        "[]",
		"no version":  "{}",
		"other one":   `{"version":2,"projects":[]}`,
		"unknown key": `{"version":1,"projects":[],"all":true}`,
		"twice":       `{"version":1,"projects":[],"projects":[]}`,
		"behind":      `{"version":1,"projects":[]}{}`,
		"relative":    `{"version":1,"projects":[{"path":"ws","digest":"` + digest + `","trusted_at":"2026-01-01T00:00:00Z"}]}`,
		"no digest":   `{"version":1,"projects":[{"path":"/ws","digest":"","trusted_at":"2026-01-01T00:00:00Z"}]}`,
		"bad time":    `{"version":1,"projects":[{"path":"/ws","digest":"` + digest + `","trusted_at":"yesterday"}]}`,
		"no UTF-8":    "{\"version\":1,\"projects\":[{\"path\":\"/\xff\"}]}",
	} {
		o, _ := world(t, nil)
		storeFile(t, o, text, 0o600)
		if _, err := settings.Load(o); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("%s: start: %v", name, err)
		}
		if _, err := settings.ReadReview(o); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("%s: review: %v", name, err)
		}
		if _, err := settings.ListTrusted(o.State); err == nil {
			t.Errorf("%s: it is listed", name)
		}
		if err := settings.Distrust(o.State, o.Dir); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("%s: distrust: %v", name, err)
		}
		if data, err := os.ReadFile(filepath.Join(o.State, "trust.json")); err != nil || string(data) != text {
			t.Errorf("%s: it was changed", name)
		}
	}
	o, _ := world(t, nil)
	storeFile(t, o, `{"version":1,"projects":[]}`, 0o666)
	if _, err := settings.Load(o); fault.KindOf(err) != fault.Corrupt {
		t.Errorf("others may write it: %v", err)
	}
	for name, makeIt := range map[string]func(path string) error{
		"FIFO":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"link":   func(p string) error { return os.Symlink("/dev/null", p) },
	} {
		o, _ := world(t, nil)
		if err := errors.Join(os.MkdirAll(o.State, 0o700), makeIt(filepath.Join(o.State, "trust.json"))); err != nil {
			t.Fatal(err)
		}
		if _, err := soon(t, o); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func storeFile(t *testing.T, o settings.Options, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(o.State, "trust.json")
	if err := errors.Join(os.MkdirAll(o.State, 0o700), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

// TestTrustWhatWasShown: what is changed between reading and saying yes is not trusted.
func TestTrustWhatWasShown(t *testing.T) {
	o, base := world(t, map[string]string{projectFile: `{"permissions": {"allow": ["Bash(make)"]}}`})
	r, err := settings.ReadReview(o)
	if err != nil || len(r.Grants) != 1 || r.Grants[0].What != "Bash(make)" {
		t.Fatalf("%+v, %v", r, err)
	}
	lay(t, base, projectFile, `{"permissions": {"allow": ["Bash"]}}`)
	if err := r.Trust(time.Now()); err != nil {
		t.Fatal(err)
	}
	if load(t, o).Trusted {
		t.Error("what nobody saw is trusted")
	}
	info, err := os.Stat(filepath.Join(o.State, "trust.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	entries, _ := os.ReadDir(o.State)
	if len(entries) != 2 {
		t.Errorf("left over: %v", entries)
	}
}

// TestDistrust works on what is there no more, too.
func TestDistrust(t *testing.T) {
	o, base := world(t, nil)
	trust(t, o)
	if err := os.RemoveAll(filepath.Join(base, "ws")); err != nil {
		t.Fatal(err)
	}
	if err := settings.Distrust(o.State, o.Dir); err != nil {
		t.Error(err)
	}
	if err := settings.Distrust(o.State, o.Dir); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the second time: %v", err)
	}
	if all, err := settings.ListTrusted(o.State); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestProcessesTrustTogether: many processes that trust at once lose nothing.
func TestProcessesTrustTogether(t *testing.T) {
	if dir := os.Getenv("HOLDFAST_TEST_TRUST"); dir != "" {
		o, _ := world(t, nil)
		o.State = dir
		trust(t, o)
		return
	}
	state := t.TempDir()
	const processes = 6
	var running []*exec.Cmd
	for range processes {
		c := exec.Command(os.Args[0], "-test.run=^TestProcessesTrustTogether$")
		c.Env = append(os.Environ(), "HOLDFAST_TEST_TRUST="+state)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, c)
	}
	for _, c := range running {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	if all, err := settings.ListTrusted(state); err != nil || len(all) != processes {
		t.Errorf("%d of %d are trusted: %v", len(all), processes, err)
	}
}

// TestSwappedWhileRead: a file that is swapped again and again is read as one of its
// versions, or is an error; never as anything else.
func TestSwappedWhileRead(t *testing.T) {
	o, base := world(t, map[string]string{projectFile: `{"permissions": {"deny": ["Read(a)"]}}`, "out/evil.json": `{"permissions": {"deny": ["Read(evil)"]}}`})
	path := filepath.Join(base, projectFile)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			temporary := filepath.Join(base, fmt.Sprintf("ws/.holdfast/t%d", n))
			if n%2 == 0 {
				_ = os.Symlink(filepath.Join(base, "out/evil.json"), temporary)
			} else {
				_ = os.WriteFile(temporary, []byte(`{"permissions": {"deny": ["Read(b)"]}}`), 0o644)
			}
			_ = os.Rename(temporary, path)
		}
	}()
	for range 300 {
		s, err := soon(t, o)
		if err == nil && rules(s) != "project Read(a)" && rules(s) != "project Read(b)" {
			t.Fatalf("rules %q", rules(s))
		}
	}
	close(stop)
	<-stopped
}

func TestReal(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lay(t, base, "d/f", "")
	for name, to := range map[string]string{
		"up": "d/../d", "abs": base + "/d", "loop": "loop", "l1": "l2", "l2": "l1", "dang": "d/new/x", "out": "/none/x", "dots": "d/./.././d/f", "d/back": "..",
	} {
		if err := os.Symlink(to, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"d/f": "d/f", "up/f": "d/f", "abs/f": "d/f", "dang": "d/new/x", "dang/y": "d/new/x/y", "dots": "d/f", "d/back/d/back/d/f": "d/f",
		"none/../d/f": "d/f", "none/./x": "none/x", "d/f/x": "d/f/x", "d//f/": "d/f", "d/back/../x": "../x", "loop": "!", "l1/x": "!", "d/" + strings.Repeat("x", 300): "!",
	} {
		got, err := settings.Disk{}.Real(base + "/" + path)
		if want == "!" {
			if err == nil {
				t.Errorf("%s is %s", path, got)
			}
			continue
		}
		if err != nil || got != filepath.Join(base, want) {
			t.Errorf("%s is %s, want %s: %v", path, got, want, err)
		}
	}
	if got, err := (settings.Disk{}).Real(base + "/out"); err != nil || got != "/none/x" {
		t.Errorf("out is %s, %v", got, err)
	}
	if _, err := (settings.Disk{}).Real("d/f"); err == nil {
		t.Error("a relative path has a real one")
	}
	if got, err := (settings.Disk{}).Real("/../.."); err != nil || got != "/" {
		t.Errorf("above everything is %s, %v", got, err)
	}
}
