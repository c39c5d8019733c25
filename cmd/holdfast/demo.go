package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func (a *app) demoCommand() *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use: "demo", Short: "Show in a minute what Holdfast does", Args: takes(),
		Long: `Show in a minute what Holdfast does, on real servers: a built-in mail server and,
where Node.js is, a published one from npm. An agent connects, a reviewer releases,
the agent calls; then the mail server rewords a tool, which passes, and changes it,
which is held. It stays up for you to try until Ctrl-C. Without --data-dir everything is in a temporary
directory and is gone afterwards.`,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := untilInterrupted(c.Context())
			defer stop()
			return a.demo(ctx, stop, once)
		},
	}
	c.Flags().BoolVar(&once, "once", false, "end after the story instead of staying up")
	return c
}

// demo is one demonstration: the daemon, a reviewer at its socket, an agent.
type demo struct {
	*app
	daemon *daemon
	client *client
	dir    string
	step   int
	change string // file that names the release of the mail server's tool
	names  []string
	secret string
	token  string
}

func (a *app) demo(ctx context.Context, stop func(), once bool) (err error) {
	dir, temporary, err := a.demoDirectory()
	if err != nil {
		return err
	}
	if temporary {
		defer os.RemoveAll(dir)
	}
	if !isTerminal(a.out) {
		var leave func()
		ctx, leave = a.untilNobodyReads(ctx)
		defer leave()
	}
	a.dataDir = dir
	s, closeLog, err := demoSetup(dir)
	if err != nil {
		return err
	}
	defer closeLog()
	d, err := startDaemon(ctx, s)
	if err != nil {
		return err
	}
	defer d.stop()
	x := &demo{app: a, daemon: d, dir: dir, client: newClient(socketPath(dir), a.startHint()), change: filepath.Join(dir, demoName, "send_mail-release")}
	if err := x.story(ctx); err != nil {
		if ctx.Err() != nil {
			a.printf("\n\nEnded.\n")
			return nil
		}
		return err
	}
	if once {
		return nil
	}
	x.invite()
	err = d.run(ctx, stop)
	a.printf("\n\nEnding: every server is stopped.\n")
	return err
}

// demoDirectory is --data-dir, or a temporary directory, which is removed at the end.
func (a *app) demoDirectory() (dir string, temporary bool, err error) {
	dir = a.dataDir
	if dir == "" {
		dir = a.getenv("HOLDFAST_DATA_DIR")
	}
	if dir == "" {
		dir, err = os.MkdirTemp("", "holdfast-demo-")
		return dir, true, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", false, err
	}
	return dir, false, prepareDataDirectory(dir)
}

// demoSetup writes a configuration of its own and logs into the directory, so that
// the story is not interrupted.
func demoSetup(dir string) (setup, func(), error) {
	s := setup{dir: dir, tcp: true, configPath: filepath.Join(dir, "holdfast.json")}
	if err := os.MkdirAll(filepath.Join(dir, demoName), 0o700); err != nil {
		return s, nil, err
	}
	if _, err := os.Stat(s.configPath); errors.Is(err, os.ErrNotExist) {
		if s.listener, err = freeListener(); err != nil {
			return s, nil, err
		}
		text := fmt.Sprintf("{\n  // Written by `holdfast demo`.\n  \"listen\": %q\n}\n", s.listener.Addr())
		if err := os.WriteFile(s.configPath, []byte(text), 0o600); err != nil {
			return s, nil, err
		}
	}
	var err error
	s.found = look(s.configPath)
	if s.config, err = config.Load(s.configPath, false); err != nil {
		return s, nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "holdfast.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return s, nil, fault.Wrap(err, fault.Storage, "the log can't be written: "+plain(err), "")
	}
	s.log = slog.New(slog.NewTextHandler(f, nil))
	return s, func() { f.Close() }, nil
}

// freeListener listens at the usual address, or at any free one when that is taken.
func freeListener() (net.Listener, error) {
	c, err := config.Parse("holdfast.json", []byte("{}"), false)
	if err != nil {
		return nil, err
	}
	if l, err := net.Listen("tcp", c.Listen.Addr); err == nil {
		return l, nil
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// addServers adds the mail server and, where Node.js is, the published one. What an
// earlier demonstration left in the directory is removed first.
func (x *demo) addServers(ctx context.Context) error {
	if err := os.Remove(x.change); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	mail := admin.AddServer{Name: "mail", Via: "cli", Program: admin.Program{
		Command: selfPath(), Args: []string{"demo-server", "--change-when", x.change},
	}}
	if err := x.addServer(ctx, mail); err != nil {
		return err
	}
	x.say("mail", "a small mailbox, built in")
	x.say("memory", "%s %s, from npm", memoryPackage, memoryVersion)
	command, args, err := installMemory(ctx, filepath.Join(x.dir, demoName, "npm"))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		x.say("", "left out: %s", err)
		return nil
	}
	memory := admin.AddServer{Name: "memory", Via: "cli", Program: admin.Program{
		Command: command, Args: args, Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(x.dir, demoName, "memory.jsonl")},
	}}
	return x.addServer(ctx, memory)
}

func (x *demo) addServer(ctx context.Context, r admin.AddServer) error {
	err := x.client.do(ctx, http.MethodDelete, serverPath(r.Name), nil, nil)
	if err != nil && failureOf(err).Code != string(fault.NotFound) {
		return err
	}
	quarantined := true // said, so that a clean scan does not release it before the story does
	r.Quarantined = &quarantined
	if err := x.client.do(ctx, http.MethodPost, "/api/v1/servers", r, nil); err != nil {
		return err
	}
	x.names = append(x.names, r.Name)
	return x.client.do(ctx, http.MethodPost, serverPath(r.Name)+"/discover", nil, nil)
}

func (x *demo) createToken(ctx context.Context) error {
	r := admin.CreateToken{Name: "demo-" + strings.ToLower(rand.Text()[:6]), Servers: []string{"*"}, Permissions: []string{"read", "write", "destructive"}}
	var t admin.NewToken
	err := x.client.do(ctx, http.MethodPost, "/api/v1/tokens", r, &t)
	x.secret, x.token = t.Secret, t.Token.Name
	return err
}

// release looks at what a server offers and releases it, as `holdfast server
// release` does.
func (x *demo) release(ctx context.Context, name string) (admin.ReleasePreview, error) {
	p, err := previewRelease(ctx, x.client, name)
	if err != nil {
		return p, err
	}
	r, err := releaseRequest(p, nil)
	if err != nil {
		return p, err
	}
	return p, x.client.do(ctx, http.MethodPost, serverPath(name)+"/release", r, nil)
}

// clientConfig is how most clients are told of a server.
func (x *demo) clientConfig() string {
	b, _ := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"holdfast": map[string]any{
		"type": "http", "url": x.daemon.mcp, "headers": map[string]string{"Authorization": "Bearer " + x.secret},
	}}}, "", "  ")
	return string(b)
}
