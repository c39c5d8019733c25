//go:build unix

package judge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/hooks"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// world is a workspace with the user's settings.
func world(t *testing.T, userSettings string) (settings.Options, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(userSettings)
	c := acase{Files: map[string]json.RawMessage{
		"ws/a.txt": json.RawMessage(`"a"`), "ws/b.txt": json.RawMessage(`"b"`),
		"home/.config/holdfast/settings.json": text,
	}}
	return c.lay(t, base), filepath.Join(base, "ws")
}

func start(t *testing.T, o settings.Options) *judge.Judge {
	t.Helper()
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Policy(true)
	if err != nil {
		t.Fatal(err)
	}
	h, err := hooks.New(s.Hooks, s.Dir, "s", s.Mode)
	if err != nil {
		t.Fatal(err)
	}
	j, err := judge.New(p, settings.Disk{}, h)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// hooked are settings with PreToolUse hooks for every tool.
func hooked(commands ...string) string {
	var list []map[string]string
	for _, c := range commands {
		list = append(list, map[string]string{"type": "command", "command": c})
	}
	text, _ := json.Marshal(list)
	return fmt.Sprintf(`{"permissions": {"deny": ["Read(b.txt)"]}, "hooks": {"PreToolUse": [{"hooks": %s}]}}`, text)
}

// TestHooksAndPolicy: hooks come after the policy, can tighten it, and what they change
// goes the whole way again.
func TestHooksAndPolicy(t *testing.T) {
	update := func(input string) string { return `echo '{"updatedInput":` + input + `}'` }
	for name, c := range map[string]struct {
		tool, args string
		hooks      []string
		outcome    policy.Outcome
		stage      policy.Stage
		run        string // what is run
		logged     int    // how often the first hook ran
	}{
		"no objection":                 {"Read", `{"file_path":"a.txt"}`, []string{"true"}, policy.Allowed, policy.StageMode, `{"file_path":"a.txt"}`, 1},
		"refused before hooks":         {"Read", `{"file_path":"b.txt"}`, []string{"true"}, policy.Refused, policy.StageRules, "", 0},
		"outside, before hooks":        {"Read", `{"file_path":"/etc/passwd"}`, []string{"true"}, policy.Refused, policy.StageSandbox, "", 0},
		"bad arguments, before hooks":  {"Read", `{"file_path":1}`, []string{"true"}, policy.Refused, policy.StageArguments, "", 0},
		"a hook speaks before the ask": {"Write", `{"file_path":"c","content":""}`, []string{"exit 2"}, policy.Refused, policy.StageHooks, "", 1},
		"asked in the end":             {"Write", `{"file_path":"c","content":""}`, []string{"true"}, policy.Asked, policy.StageAsk, "", 1},
		"allow grants nothing":         {"Write", `{"file_path":"c","content":""}`, []string{`echo '{"decision":"approve"}'`}, policy.Asked, policy.StageAsk, "", 1},
		"a hook asks":                  {"Read", `{"file_path":"a.txt"}`, []string{`echo '{"decision":"ask"}'`}, policy.Asked, policy.StageAsk, "", 1},
		"changed to what is fine":      {"Read", `{"file_path":"x.txt"}`, []string{update(`{"file_path":"a.txt"}`)}, policy.Allowed, policy.StageMode, `{"file_path":"a.txt"}`, 2},
		"changed to what is denied":    {"Read", `{"file_path":"a.txt"}`, []string{update(`{"file_path":"b.txt"}`)}, policy.Refused, policy.StageRules, "", 1},
		"changed to what is outside":   {"Read", `{"file_path":"a.txt"}`, []string{update(`{"file_path":"/etc/passwd"}`)}, policy.Refused, policy.StageSandbox, "", 1},
		"changed to nonsense":          {"Read", `{"file_path":"a.txt"}`, []string{update(`{"file":"a.txt"}`)}, policy.Refused, policy.StageArguments, "", 1},
		"changed without end":          {"Read", `{"file_path":"a.txt"}`, []string{`n=$(wc -l < log); echo "{\"updatedInput\":{\"file_path\":\"f$n\"}}"`}, policy.Refused, policy.StageHooks, "", 2},
		"changed, and asks once":       {"Read", `{"file_path":"a.txt"}`, []string{`if [ $(wc -l < log) = 1 ]; then echo '{"decision":"ask","updatedInput":{"file_path":"c"}}'; fi`}, policy.Asked, policy.StageAsk, "", 2},
		"the second round refuses":     {"Read", `{"file_path":"a.txt"}`, []string{`if [ $(wc -l < log) = 2 ]; then exit 2; fi; echo '{"updatedInput":{"file_path":"c"}}'`}, policy.Refused, policy.StageHooks, "", 2},
		"an ask is changed away":       {"Write", `{"file_path":"c","content":""}`, []string{update(`{"file_path":"c","content":"x"}`)}, policy.Asked, policy.StageAsk, "", 2},
		"its own tool is judged":       {"BashOutput", `{"bash_id":"b1"}`, []string{"true"}, policy.Allowed, policy.StageMode, `{"bash_id":"b1"}`, 1},
		"and can be refused":           {"KillShell", `{"shell_id":"b1"}`, []string{"exit 2"}, policy.Refused, policy.StageHooks, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			list := c.hooks
			list[0] = "echo ran >> log; " + list[0]
			o, ws := world(t, hooked(list...))
			got := start(t, o).Rule(context.Background(), "c", c.tool, []byte(c.args))
			if got.Outcome != c.outcome || got.Stage != c.stage {
				t.Errorf("got %v [%s] %s, want %v [%s]", got.Outcome, got.Stage, got.Reason, c.outcome, c.stage)
			}
			if string(got.Arguments) != c.run || (got.Input == nil) != (c.run == "") {
				t.Errorf("run is %s, %v; want %q", got.Arguments, got.Input, c.run)
			}
			if got.Outcome != policy.Allowed && (got.Reason == "" || got.Remedy == "") {
				t.Errorf("no reason or no remedy: %q, %q", got.Reason, got.Remedy)
			}
			log, _ := os.ReadFile(filepath.Join(ws, "log"))
			if n := strings.Count(string(log), "ran"); n != c.logged {
				t.Errorf("the hook ran %d times, want %d", n, c.logged)
			}
		})
	}
}

func TestGlobIsJudgedWhereItSearches(t *testing.T) {
	o, ws := world(t, `{"permissions": {"deny": ["Read(//etc)"]}}`)
	j := start(t, o)
	for args, want := range map[string]policy.Outcome{
		`{"pattern":"*"}`:                               policy.Allowed,
		`{"pattern":"*","path":"."}`:                    policy.Allowed,
		`{"pattern":"` + ws + `/*.txt"}`:                policy.Allowed,
		`{"pattern":"` + ws + `/*.txt","path":"."}`:     policy.Allowed,
		`{"pattern":"/*"}`:                              policy.Refused,
		`{"pattern":"/etc/*"}`:                          policy.Refused,
		`{"pattern":"/etc/passwd"}`:                     policy.Refused,
		`{"pattern":"` + ws + `*/x"}`:                   policy.Refused,
		`{"pattern":"` + ws + `/*.txt","path":"/etc"}`:  policy.Refused,
		`{"pattern":"*","path":"/etc"}`:                 policy.Refused,
		`{"pattern":"/e[t]c/*","path":"."}`:             policy.Refused,
		`{"pattern":"/{etc,x}/*"}`:                      policy.Refused,
		`{"pattern":"` + filepath.Dir(ws) + `/w?/a.*"}`: policy.Refused,
	} {
		if got := j.Rule(context.Background(), "c", "Glob", []byte(args)); got.Outcome != want {
			t.Errorf("%s: got %v [%s] %s", args, got.Outcome, got.Stage, got.Reason)
		}
	}
}

func TestNothingIsRefused(t *testing.T) {
	var none *judge.Judge
	for _, j := range []*judge.Judge{none} {
		if r := j.Rule(context.Background(), "c", "Read", []byte(`{"file_path":"a"}`)); r.Outcome != policy.Refused || r.Input != nil {
			t.Error("the nil judge allows")
		}
	}
	o, _ := world(t, `{}`)
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Policy(true)
	if err != nil {
		t.Fatal(err)
	}
	h, err := hooks.New(nil, s.Dir, "s", s.Mode)
	if err != nil {
		t.Fatal(err)
	}
	for n, make := range []func() (*judge.Judge, error){
		func() (*judge.Judge, error) { return judge.New(nil, settings.Disk{}, h) },
		func() (*judge.Judge, error) { return judge.New(p, nil, h) },
		func() (*judge.Judge, error) { return judge.New(p, settings.Disk{}, nil) },
	} {
		if j, err := make(); err == nil || j != nil {
			t.Errorf("%d: a judge without all its parts", n)
		}
	}
	var unread *settings.Settings
	if _, err := unread.Policy(true); err == nil {
		t.Error("no settings make a policy")
	}
}

// TestSettingsAreReadOnce: what changes after the start changes nothing.
func TestSettingsAreReadOnce(t *testing.T) {
	o, ws := world(t, `{"permissions": {"deny": ["Read(b.txt)"]}}`)
	j := start(t, o)
	if err := os.WriteFile(filepath.Join(o.Config, "settings.json"), []byte(`{"permissions":{"allow":["Write","Bash"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(ws, ".holdfast"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws, ".holdfast", "settings.json"), []byte(`not settings`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := j.Rule(context.Background(), "c", "Read", []byte(`{"file_path":"b.txt"}`)); r.Stage != policy.StageRules {
		t.Errorf("the deny is gone: %+v", r.Decision)
	}
	if r := j.Rule(context.Background(), "c", "Write", []byte(`{"file_path":"c","content":""}`)); r.Outcome != policy.Asked {
		t.Errorf("the allow counts: %+v", r.Decision)
	}
}

func TestConcurrentCalls(t *testing.T) {
	o, _ := world(t, hooked("true"))
	j := start(t, o)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			file, want := "a.txt", policy.Allowed
			if n%2 == 1 {
				file, want = "b.txt", policy.Refused
			}
			if r := j.Rule(context.Background(), fmt.Sprint(n), "Read", []byte(`{"file_path":"`+file+`"}`)); r.Outcome != want {
				t.Errorf("%s: %+v", file, r.Decision)
			}
		})
	}
	all.Wait()
}

// TestCheckSaysWhyNothingStarts: file, line and what to do.
func TestCheckSaysWhyNothingStarts(t *testing.T) {
	o, _ := world(t, "{\n \"permissions\": {\n  \"alow\": []}}")
	v := judge.Check(context.Background(), o, false, "Read", []byte(`{"file_path":"a.txt"}`))
	if v.Starts() || v.Allowed() || v.Line == nil || *v.Line != 3 || v.Layer == nil || *v.Layer != "user" || v.Remedy == nil || !strings.Contains(v.Reason, "did you mean allow?") {
		t.Errorf("got %+v", v)
	}
	text, err := json.Marshal(v)
	if err != nil || !strings.Contains(string(text), `"rule":null`) || !strings.Contains(string(text), `"parts":[]`) {
		t.Errorf("got %s, %v", text, err)
	}
}
