package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
)

// decision is a case of testdata/workspace_cases.json.
type decision struct {
	Name, Mode, Tool, Args, Decision, Stage, Why string
	Files                                        map[string]any
	Trusted, Hooks                               bool
	Rule                                         *string
}

// sampleEvery is how many cases there are to one that the program itself is run for;
// internal/workspace/judge runs them all.
const sampleEvery = 11

// TestCheckByTheProgram runs a sample of the decisions through the program: `trust`,
// then `workspace check`, with its exit codes and its one line.
func TestCheckByTheProgram(t *testing.T) {
	data, err := os.ReadFile("../../testdata/workspace_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []decision
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	base := outsideTmp(t)
	for n, c := range all {
		if n%sampleEvery != 0 && c.Stage != "start" && !c.Hooks {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			dir := filepath.Join(base, c.Name)
			defer os.RemoveAll(dir)
			fill := strings.NewReplacer("{ws}", dir+"/ws", "{home}", dir+"/home", "{out}", dir+"/out").Replace
			c.lay(t, dir, fill)
			at := []string{"-C", dir + "/ws", "--home", dir + "/home"}
			if c.Trusted {
				if _, code := holdfast(t, "", append([]string{"trust", "--yes"}, at...)...); code != 0 && c.Stage != "start" {
					t.Errorf("trust ends with %d", code)
				}
			}
			args := append([]string{"workspace", "check", "--json", "--managed", dir + "/managed"}, at...)
			if c.Mode != "" {
				args = append(args, "--mode", c.Mode)
			}
			if c.Hooks {
				args = append(args, "--hooks")
			}
			out, code := holdfast(t, fill(c.Args), append(args, c.Tool, "-")...)
			c.compare(t, fill, out, code)
		})
	}
}

func (c decision) lay(t *testing.T, dir string, fill func(string) string) {
	t.Helper()
	var err error
	for _, d := range []string{"ws", "home", "managed", "out"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for name, content := range c.Files {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755))
		switch content := content.(type) {
		case string:
			err = errors.Join(err, os.WriteFile(path, []byte(fill(content)), 0o644))
		case map[string]any:
			err = errors.Join(err, os.Symlink(fill(content["symlink"].(string)), path))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (c decision) compare(t *testing.T, fill func(string) string, out string, code int) {
	t.Helper()
	var v judge.Verdict
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil || strings.Count(out, "\n") != 1 {
		t.Fatalf("no line of JSON: %q: %v", out, err)
	}
	want := map[string]int{"allow": 0, "refuse": 1}[c.Decision]
	if c.Stage == "start" {
		want = 2
	}
	if c.Rule != nil {
		*c.Rule = fill(*c.Rule)
	}
	if v.Decision != c.Decision || v.Stage != c.Stage || !reflect.DeepEqual(v.Rule, c.Rule) || code != want {
		t.Errorf("got code %d and %s\nwant %d, %s [%s]: %s", code, out, want, c.Decision, c.Stage, c.Why)
	}
}

// holdfast runs the program and gives what it prints and its exit code.
func holdfast(t *testing.T, in string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command("holdfast", args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &errs
	err := cmd.Run()
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), x.ExitCode()
	}
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	return out.String(), 0
}

// outsideTmp makes a folder that is not below /tmp, where redirections are free.
func outsideTmp(t *testing.T) string {
	t.Helper()
	module, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	places := []string{filepath.Join(module, "bin")}
	if cache, err := os.UserCacheDir(); err == nil {
		places = append(places, cache)
	}
	for _, place := range places {
		if strings.HasPrefix(place, "/tmp/") || os.MkdirAll(place, 0o755) != nil {
			continue
		}
		if dir, err := os.MkdirTemp(place, "cases-"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	t.Skip("SKIPPED: there is no folder outside /tmp that can be written")
	return ""
}
