package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// A data directory from under older defaults is told of once, by name, and the
// doctor goes on until each server has a trust mode; a new one says nothing.
func TestUpgradeIsToldOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the path of a temporary directory is too long for a socket there")
	}
	dir, err := os.MkdirTemp("", "hf")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const notice = "from an older Holdfast"
	run := func(during func(c *client)) string {
		t.Helper()
		var log bytes.Buffer
		c, err := config.Parse(filepath.Join(dir, "holdfast.json"), []byte("{}"), true)
		if err != nil {
			t.Fatal(err)
		}
		d, err := startDaemon(t.Context(), setup{dir: filepath.Join(dir, "d"), config: c, log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		during(newClient(socketPath(d.dir), ""))
		d.stop()
		return log.String()
	}
	do := func(c *client, method, path string, in, out any) {
		t.Helper()
		if err := c.do(t.Context(), method, path, in, out); err != nil {
			t.Fatal(err)
		}
	}
	unset := func(c *client) (names []string) {
		t.Helper()
		var d admin.Doctor
		do(c, http.MethodGet, "/api/v1/doctor", nil, &d)
		for _, f := range d.Findings {
			if f.Code == "trust_mode_unset" {
				names = append(names, f.Server)
			}
		}
		return names
	}
	add := func(c *client, name, mode string) {
		t.Helper()
		do(c, http.MethodPost, "/api/v1/servers", admin.AddServer{
			Name: name, Via: "cli", Program: admin.Program{Command: filepath.Join(dir, "nothing")}, Options: admin.Preferences{TrustMode: mode},
		}, nil)
	}

	log := run(func(c *client) {
		add(c, "old", "")
		add(c, "said", "manual")
		add(c, "off", "")
		do(c, http.MethodPost, "/api/v1/servers/off/disable", nil, nil)
		if got := unset(c); len(got) > 0 {
			t.Errorf("a new directory: %v", got)
		}
	})
	if strings.Contains(log, notice) {
		t.Error("a new directory says something")
	}
	s, err := store.Open(t.Context(), filepath.Join(dir, "d", databaseName))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetDataVersion(t.Context(), store.DefaultsVersion-1, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	log = run(func(c *client) {
		add(c, "new", "")
		if got := unset(c); !slices.Equal(got, []string{"old"}) {
			t.Errorf("after the upgrade: %v", got)
		}
	})
	if strings.Count(log, notice) != 1 || !strings.Contains(log, "servers=old") {
		t.Errorf("the notice: %s", log)
	}
	log = run(func(c *client) {
		if got := unset(c); !slices.Equal(got, []string{"old"}) {
			t.Errorf("the doctor goes on: %v", got)
		}
		var srv admin.Server
		do(c, http.MethodGet, "/api/v1/servers/old", nil, &srv)
		mode := "scan"
		do(c, http.MethodPatch, "/api/v1/servers/old", admin.PatchServer{ExpectedIncarnation: srv.Incarnation, Options: &admin.PatchOptions{TrustMode: &mode}}, nil)
		if got := unset(c); len(got) > 0 {
			t.Errorf("each has one: %v", got)
		}
	})
	if strings.Contains(log, notice) {
		t.Error("said again")
	}
}
