package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// asProgram makes this test binary the real program, for what is no script.
const asProgram = "HOLDFAST_TEST_AS_PROGRAM"

// The scripts run the real program: this test binary is it, under the name holdfast.
func TestMain(m *testing.M) {
	sandbox.Main() // a confined child is this binary too
	if os.Getenv(asProgram) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"holdfast": main, "slow-server": slowServer})
}

// reachesPackages finds the variables that say how packages are had on this machine.
var reachesPackages = regexp.MustCompile(`(?i)^(npm_config_\w+|node_extra_ca_certs|ssl_cert_\w+|(http|https|no)_proxy)=`)

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOLDFAST_DATA_DIR", e.WorkDir+"/d")
			e.Setenv("HOLDFAST_CONFIG", e.WorkDir+"/holdfast.json")
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("REALHOME", os.Getenv("HOME"))
			for _, v := range os.Environ() {
				if reachesPackages.MatchString(v) {
					e.Vars = append(e.Vars, v)
				}
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "npm" {
				return os.Getenv("HOLDFAST_REQUIRE_NPM") == "1", nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "until": until, "grab": grab, "only": only,
		},
	})
}

// slowServer is an MCP server with one tool, which answers once the file of its
// first argument is there. It writes its process id to the file of the second.
func slowServer() {
	_ = os.WriteFile(os.Args[2], []byte(strconv.Itoa(os.Getpid())), 0o600)
	s := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for ctx.Err() == nil {
			if _, err := os.Stat(os.Args[1]); err == nil {
				return answer("waited")
			}
			time.Sleep(20 * time.Millisecond)
		}
		return nil, ctx.Err()
	})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

// exits CODE PROGRAM ARGS... runs a program, which must end with the code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		x, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = x.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// until REGEXP PROGRAM ARGS... runs a program again until its output matches.
func until(ts *testscript.TestScript, _ bool, args []string) {
	re := regexp.MustCompile(`(?m)` + args[0])
	deadline := time.Now().Add(time.Minute)
	for {
		if err := ts.Exec(args[1], args[2:]...); err == nil && re.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no output matched %s; the last was\n%s%s", args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		}
		time.Sleep(50 * time.Millisecond) // another process is waited for
	}
}

// grab NAME REGEXP keeps what the group of an expression found in the last output.
func grab(ts *testscript.TestScript, _ bool, args []string) {
	m := regexp.MustCompile(`(?m)` + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("nothing matches %s in\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], m[1])
}

// only PROGRAM leaves no other program to be found.
func only(ts *testscript.TestScript, _ bool, args []string) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		program := filepath.Join(dir, args[0])
		if _, err := os.Stat(program); err != nil {
			continue
		}
		alone := ts.MkAbs("only")
		ts.Check(os.Mkdir(alone, 0o755))
		ts.Check(os.Symlink(program, filepath.Join(alone, args[0])))
		ts.Setenv("PATH", alone)
		return
	}
	ts.Fatalf("%s is not there", args[0])
}
