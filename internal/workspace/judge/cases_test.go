package judge_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// acase is one decision of testdata/workspace_cases.json.
type acase struct {
	Name     string                     `json:"name"`
	Files    map[string]json.RawMessage `json:"files"`
	Trusted  bool                       `json:"trusted"`
	Mode     string                     `json:"mode"`
	Hooks    bool                       `json:"hooks"`
	Tool     string                     `json:"tool"`
	Args     string                     `json:"args"`
	Decision string                     `json:"decision"`
	Stage    string                     `json:"stage"`
	Rule     *string                    `json:"rule"`
	Why      string                     `json:"why"`
}

// outsideTmp makes a folder for cases that is not below /tmp: redirections there are
// free.
func outsideTmp(t *testing.T) string {
	t.Helper()
	module, err := filepath.Abs("../../..")
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

// lay makes the folders of a case in base and gives the options of a start there.
func (c acase) lay(t *testing.T, base string) settings.Options {
	t.Helper()
	fill := c.filler(base)
	for _, dir := range []string{"ws", "home", "managed", "out"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, raw := range c.Files {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var content string
		var link struct {
			Symlink string `json:"symlink"`
		}
		var err error
		if json.Unmarshal(raw, &content) == nil {
			err = os.WriteFile(path, []byte(fill(content)), 0o644)
		} else if err = json.Unmarshal(raw, &link); err == nil {
			err = os.Symlink(fill(link.Symlink), path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(base, "home")
	return settings.Options{
		Dir: filepath.Join(base, "ws"), Home: home, Managed: filepath.Join(base, "managed"), Mode: c.Mode,
		Config: filepath.Join(home, ".config", "holdfast"), State: filepath.Join(home, ".local", "state", "holdfast"),
	}
}

func (c acase) filler(base string) func(string) string {
	return strings.NewReplacer("{ws}", filepath.Join(base, "ws"), "{home}", filepath.Join(base, "home"), "{out}", filepath.Join(base, "out")).Replace
}

// trust trusts the project as `holdfast trust --yes` does.
func (c acase) trust(t *testing.T, o settings.Options) {
	t.Helper()
	r, err := settings.ReadReview(o)
	if err == nil {
		err = r.Trust(time.Now())
	}
	if err != nil && c.Stage != "start" {
		t.Errorf("it can't be trusted: %v", err)
	}
}

func readCases(t *testing.T) []acase {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/workspace_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []acase
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 600 {
		t.Fatalf("there are only %d cases", len(all))
	}
	return all
}

// TestDecisions holds every decision of the corpus against the function that
// `holdfast workspace check` prints.
func TestDecisions(t *testing.T) {
	base := outsideTmp(t)
	for _, c := range readCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(base, c.Name)
			defer os.RemoveAll(dir)
			o := c.lay(t, dir)
			if c.Trusted {
				c.trust(t, o)
			}
			args := c.filler(dir)(c.Args)
			if c.Rule != nil {
				*c.Rule = c.filler(dir)(*c.Rule)
			}
			v := judge.Check(context.Background(), o, c.Hooks, c.Tool, []byte(args))
			if v.Decision != c.Decision || v.Stage != c.Stage || text(v.Rule) != text(c.Rule) {
				t.Errorf("%s %s in mode %q: got %s [%s] %s, want %s [%s] %s: %s\nreason: %s",
					c.Tool, args, c.Mode, v.Decision, v.Stage, text(v.Rule), c.Decision, c.Stage, text(c.Rule), c.Why, v.Reason)
			}
			if v.Reason == "" {
				t.Error("there is no reason")
			}
			if !v.Allowed() && v.Remedy == nil {
				t.Logf("no remedy: [%s] %s", v.Stage, v.Reason)
			}
		})
	}
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
