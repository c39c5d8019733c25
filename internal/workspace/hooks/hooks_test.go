//go:build unix

package hooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/hooks"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// pre is a PreToolUse hook for every tool.
func pre(command string) settings.Hook {
	return settings.Hook{
		Event: settings.PreToolUse, Command: command, Timeout: 10 * time.Second,
		At: policy.Place{Layer: policy.User, File: "settings.json", Line: 7},
	}
}

func post(command string) settings.Hook {
	h := pre(command)
	h.Event = settings.PostToolUse
	return h
}

func runner(t testing.TB, dir string, list ...settings.Hook) *hooks.Runner {
	t.Helper()
	r, err := hooks.New(list, dir, "s1", policy.Default)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var read = hooks.Call{ID: "c1", Tool: "Read", Input: []byte(`{"file_path":"a.txt"}`)}

// says makes a hook that prints a text.
func says(text string) settings.Hook {
	return pre("cat <<'END'\n" + text + "\nEND")
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		hooks []settings.Hook
		want  policy.Outcome
		why   string // in the reason
	}{
		"no hooks":              {nil, policy.Allowed, ""},
		"no output":             {[]settings.Hook{pre("exit 0")}, policy.Allowed, ""},
		"blank output":          {[]settings.Hook{pre("echo; echo ' '")}, policy.Allowed, ""},
		"empty object":          {[]settings.Hook{says(`{}`)}, policy.Allowed, ""},
		"unknown keys":          {[]settings.Hook{says(`{"suppressOutput":true,"x":[1,{"y":2}]}`)}, policy.Allowed, ""},
		"words on stderr":       {[]settings.Hook{pre("echo noise >&2")}, policy.Allowed, ""},
		"allow, nested":         {[]settings.Hook{says(`{"hookSpecificOutput":{"permissionDecision":"allow"}}`)}, policy.Allowed, ""},
		"approve":               {[]settings.Hook{says(`{"decision":"approve","reason":"r"}`)}, policy.Allowed, ""},
		"null decision":         {[]settings.Hook{says(`{"decision":null,"hookSpecificOutput":null}`)}, policy.Allowed, ""},
		"deny, nested":          {[]settings.Hook{says(`{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"not here"}}`)}, policy.Refused, "not here"},
		"deny, flat":            {[]settings.Hook{says(`{"permissionDecision":"deny"}`)}, policy.Refused, "settings.json:7"},
		"block":                 {[]settings.Hook{says(`{"decision":"block","reason":"no way"}`)}, policy.Refused, "no way"},
		"deny as decision":      {[]settings.Hook{says(`{"decision":"deny"}`)}, policy.Refused, ""},
		"ask":                   {[]settings.Hook{says(`{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}`)}, policy.Asked, "sure?"},
		"both shapes disagree":  {[]settings.Hook{says(`{"decision":"approve","hookSpecificOutput":{"permissionDecision":"deny"}}`)}, policy.Refused, ""},
		"the other way round":   {[]settings.Hook{says(`{"decision":"block","reason":"top","hookSpecificOutput":{"permissionDecision":"allow","permissionDecisionReason":"n"}}`)}, policy.Refused, "top"},
		"continue false":        {[]settings.Hook{says(`{"continue":false,"stopReason":"stop now"}`)}, policy.Refused, "stop now"},
		"exit 2":                {[]settings.Hook{pre("echo 'the reason' >&2; exit 2")}, policy.Refused, "the reason"},
		"exit 2 over its words": {[]settings.Hook{pre(`echo '{"decision":"approve"}'; exit 2`)}, policy.Refused, ""},
		"exit 1":                {[]settings.Hook{pre("exit 1")}, policy.Refused, "status 1"},
		"exit 1 after allow":    {[]settings.Hook{pre(`echo '{"decision":"approve"}'; exit 1`)}, policy.Refused, "status 1"},
		"no such program":       {[]settings.Hook{pre("/does/not/exist")}, policy.Refused, "no such program"},
		"a signal":              {[]settings.Hook{pre("kill -KILL $$")}, policy.Refused, "signal"},
		"no JSON":               {[]settings.Hook{pre("echo ok")}, policy.Refused, "no JSON object"},
		"a list":                {[]settings.Hook{says(`[]`)}, policy.Refused, "no JSON object"},
		"a text":                {[]settings.Hook{says(`"allow"`)}, policy.Refused, "no JSON object"},
		"null":                  {[]settings.Hook{says(`null`)}, policy.Refused, "no JSON object"},
		"cut":                   {[]settings.Hook{says(`{"decision":"approve"`)}, policy.Refused, "no JSON object"},
		"two objects":           {[]settings.Hook{says(`{} {}`)}, policy.Refused, "behind"},
		"an object after words": {[]settings.Hook{says("note\n{}")}, policy.Refused, "no JSON object"},
		"a key twice":           {[]settings.Hook{says(`{"decision":"block","decision":"approve"}`)}, policy.Refused, "no JSON object"},
		"a key twice, inside":   {[]settings.Hook{says(`{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecision":"allow"}}`)}, policy.Refused, ""},
		"unknown decision":      {[]settings.Hook{says(`{"decision":"maybe"}`)}, policy.Refused, "none of allow"},
		"capital decision":      {[]settings.Hook{says(`{"decision":"Allow"}`)}, policy.Refused, "none of allow"},
		"decision of a list":    {[]settings.Hook{says(`{"decision":["approve"]}`)}, policy.Refused, "none of allow"},
		"nested of a text":      {[]settings.Hook{says(`{"hookSpecificOutput":"allow"}`)}, policy.Refused, "hookSpecificOutput"},
		"update of a text":      {[]settings.Hook{says(`{"updatedInput":"x"}`)}, policy.Refused, "updatedInput"},
		"no UTF-8":              {[]settings.Hook{pre(`printf '{"reason":"\377"}'`)}, policy.Refused, "no JSON object"},
		"{} does not take back": {[]settings.Hook{says(`{"decision":"block","reason":"mine"}`), says(`{}`)}, policy.Refused, "mine"},
		"nor does allow":        {[]settings.Hook{says(`{"decision":"approve"}`), pre("echo no >&2; exit 2"), says(`{"decision":"approve"}`)}, policy.Refused, "no"},
		"deny before ask":       {[]settings.Hook{says(`{"decision":"ask"}`), says(`{"decision":"deny","reason":"d"}`)}, policy.Refused, "d"},
		"ask before allow":      {[]settings.Hook{says(`{"decision":"approve"}`), says(`{"decision":"ask","reason":"a"}`)}, policy.Asked, "a"},
		"updates that differ":   {[]settings.Hook{says(`{"updatedInput":{"file_path":"b"}}`), says(`{"updatedInput":{"file_path":"c"}}`)}, policy.Refused, "differently"},
		"two in one":            {[]settings.Hook{says(`{"updatedInput":{"a":1},"hookSpecificOutput":{"updatedInput":{"a":2}}}`)}, policy.Refused, "differ"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runner(t, t.TempDir(), c.hooks...).Before(t.Context(), read)
			if got.Outcome != c.want || !strings.Contains(got.Reason, c.why) {
				t.Errorf("got %v %q, want %v with %q", got.Outcome, got.Reason, c.want, c.why)
			}
			if got.Outcome == policy.Refused && (got.Updated != nil || got.Reason == "") {
				t.Errorf("a refusal that changes the input, or has no reason: %+v", got)
			}
		})
	}
}

func TestUpdates(t *testing.T) {
	change := says(`{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"file_path":"b.txt"}}}`)
	for name, c := range map[string]struct {
		hooks []settings.Hook
		want  string
	}{
		"one":                   {[]settings.Hook{change}, `{"file_path":"b.txt"}`},
		"one of two":            {[]settings.Hook{pre("true"), change}, `{"file_path":"b.txt"}`},
		"the same twice":        {[]settings.Hook{change, says(`{"updatedInput":{ "file_path" : "b\u002etxt" }}`)}, `{"file_path":"b.txt"}`},
		"no change":             {[]settings.Hook{says(`{"updatedInput":{"file_path":"a.txt"}}`)}, ""},
		"no change and another": {[]settings.Hook{says(`{"updatedInput":{"file_path":"a.txt"}}`), change}, `{"file_path":"b.txt"}`},
		"with a question":       {[]settings.Hook{says(`{"decision":"ask","updatedInput":{"file_path":"b.txt"}}`)}, `{"file_path":"b.txt"}`},
		"with a refusal":        {[]settings.Hook{change, pre("exit 2")}, ""},
	} {
		got := runner(t, t.TempDir(), c.hooks...).Before(t.Context(), read)
		x, _ := hooks.Canonical(got.Updated)
		if string(x) != c.want {
			t.Errorf("%s: got %s, want %s", name, got.Updated, c.want)
		}
	}
}

// TestInput: hooks read what Claude Code tells them.
func TestInput(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t, dir, pre("cat > pre.json; pwd > pwd; echo $CLAUDE_PROJECT_DIR > dir"), post("cat > post.json"))
	if a := r.Before(t.Context(), read); a.Outcome != policy.Allowed {
		t.Fatal(a.Reason)
	}
	r.After(t.Context(), read, []byte(`{"content":[]}`))
	for name, want := range map[string]string{
		"pre.json": `{"cwd":` + strconv.Quote(dir) + `,"hook_event_name":"PreToolUse","permission_mode":"default","session_id":"s1","tool_input":{"file_path":"a.txt"},"tool_name":"Read","tool_use_id":"c1"}`,
		"post.json": `{"cwd":` + strconv.Quote(dir) + `,"hook_event_name":"PostToolUse","permission_mode":"default","session_id":"s1","tool_input":{"file_path":"a.txt"},"tool_name":"Read",` +
			`"tool_response":{"content":[]},"tool_use_id":"c1"}`,
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := hooks.Canonical(data); !ok || string(got) != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"pwd", "dir"} {
		if data, _ := os.ReadFile(filepath.Join(dir, name)); strings.TrimSpace(string(data)) != dir {
			t.Errorf("%s is %s", name, data)
		}
	}
}

func TestMatchers(t *testing.T) {
	for _, c := range []struct {
		matcher, tool string
		runs          bool
	}{
		{"", "Read", true},
		{"*", "Read", true},
		{"Read", "Read", true},
		{"Rea", "Read", false},
		{"read", "Read", false},
		{"Read|Edit", "Edit", true},
		{"Read|Edit", "Edits", false},
		{"Write|Edit", "Read", false},
		{"Re.*", "Read", true},
		{".*d", "Read", true},
		{"^Read$", "Read", true},
		{"Bash.*", "BashOutput", true},
	} {
		h := pre("exit 2")
		h.Matcher = c.matcher
		call := read
		call.Tool = c.tool
		if got := runner(t, t.TempDir(), h).Before(t.Context(), call).Outcome == policy.Refused; got != c.runs {
			t.Errorf("%q on %s: runs %v", c.matcher, c.tool, got)
		}
	}
	for _, bad := range []string{"(", "Read)|(Edit", "[", "*Read"} {
		h := pre("true")
		h.Matcher = bad
		if _, err := hooks.New([]settings.Hook{h}, "/", "s", policy.Default); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// gone waits for a process to be no more.
func gone(t *testing.T, pidFile string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(pidFile)
		if pid, bad := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && bad == nil {
			if syscall.Kill(pid, 0) != nil || zombie(pid) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s of %s lives", strings.TrimSpace(string(data)), pidFile)
		}
	}
}

func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(data), ") Z ")
}

// TestHooksThatMisbehave: none of them lets a call pass or hangs it, and nothing that
// they start outlives them.
func TestHooksThatMisbehave(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		want    policy.Outcome
		why     string
		pids    []string
	}{
		"hangs":                    {"echo $$ > p; sleep 600", policy.Refused, "did not end in 300ms", []string{"p"}},
		"hangs with children":      {"sleep 600 & echo $! > q; echo $$ > p; wait", policy.Refused, "did not end", []string{"p", "q"}},
		"ignores signals":          {"trap '' TERM INT HUP; echo $$ > p; while :; do sleep 1; done", policy.Refused, "did not end", []string{"p"}},
		"closes its streams":       {"exec >&- 2>&- <&-; echo $$ > p; sleep 600", policy.Refused, "did not end", []string{"p"}},
		"prints for ever":          {"echo $$ > p; yes", policy.Refused, "printed more", []string{"p"}},
		"prints errors for ever":   {"echo $$ > p; yes >&2", policy.Refused, "did not end", []string{"p"}},
		"forks and holds stdout":   {"sleep 600 & echo $! > p", policy.Allowed, "", []string{"p"}},
		"forks twice":              {"(sleep 600 & echo $! > p) &\nsleep 0.05", policy.Allowed, "", []string{"p"}},
		"denies, then forks":       {"sleep 600 & echo $! > p; echo '{\"decision\":\"block\"}'", policy.Refused, "", []string{"p"}},
		"leaves the group":         {"command -v setsid >/dev/null || exit 0; setsid sleep 3 & exit 0", policy.Allowed, "", nil},
		"does not read its stdin":  {"exit 0", policy.Allowed, "", nil},
		"prints a lot, and denies": {"head -c 900000 /dev/zero | tr '\\0' ' '; echo '{\"decision\":\"block\"}'", policy.Refused, "", nil},
		"prints a lot, then more":  {"head -c 2000000 /dev/zero | tr '\\0' ' '; echo '{}'", policy.Refused, "more than 1 MiB", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			h := pre(c.command)
			if strings.Contains(c.why, "did not end") {
				h.Timeout = 300 * time.Millisecond
			}
			call := read
			call.Input = []byte(`{"content":"` + strings.Repeat("x", 1<<20) + `"}`)
			start := time.Now()
			got := runner(t, dir, h).Before(t.Context(), call)
			if got.Outcome != c.want || !strings.Contains(got.Reason, c.why) {
				t.Errorf("got %v %q, want %v with %q", got.Outcome, got.Reason, c.want, c.why)
			}
			if took := time.Since(start); took > 8*time.Second {
				t.Errorf("it took %s", took)
			}
			for _, pid := range c.pids {
				gone(t, filepath.Join(dir, pid))
			}
		})
	}
}

func TestCancel(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan hooks.Answer)
	go func() { done <- runner(t, dir, pre("echo $$ > p; sleep 600")).Before(ctx, read) }()
	for {
		if data, err := os.ReadFile(filepath.Join(dir, "p")); err == nil && len(data) > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond) // another process is waited for
	}
	cancel()
	if a := <-done; a.Outcome != policy.Refused || !strings.Contains(a.Reason, "cancelled") {
		t.Errorf("got %+v", a)
	}
	gone(t, filepath.Join(dir, "p"))
	if a := runner(t, dir, pre("echo ran > late")).Before(ctx, read); a.Outcome != policy.Refused {
		t.Errorf("after the end: %+v", a)
	}
	if _, err := os.Stat(filepath.Join(dir, "late")); err == nil {
		t.Error("a hook ran for a call that had ended")
	}
}

// TestParallel: two hooks wait for each other, so that both must run at once.
func TestParallel(t *testing.T) {
	dir := t.TempDir()
	meet := func(me, other string) settings.Hook {
		return pre(fmt.Sprintf("touch %s; until [ -e %s ]; do sleep 0.01; done", me, other))
	}
	if a := runner(t, dir, meet("a", "b"), meet("b", "a")).Before(t.Context(), read); a.Outcome != policy.Allowed {
		t.Error(a.Reason)
	}
}

// TestScripts: a script that is not what it was does not run.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "hook.sh")
	write := func(text string) {
		if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("#!/bin/sh\nexit 0\n")
	h := pre(script)
	h.Files = named(t, dir, script)
	r := runner(t, dir, h)
	if a := r.Before(t.Context(), read); a.Outcome != policy.Allowed {
		t.Fatal(a.Reason)
	}
	write("#!/bin/sh\ntouch " + dir + "/ran\n")
	if a := r.Before(t.Context(), read); a.Outcome != policy.Refused || !strings.Contains(a.Reason, "not what it was") {
		t.Errorf("got %+v", a)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the changed script ran")
	}
	os.Remove(script)
	if a := r.Before(t.Context(), read); a.Outcome != policy.Refused {
		t.Errorf("a script that is gone: %+v", a)
	}
	if err := os.Mkdir(script, 0o755); err != nil {
		t.Fatal(err)
	}
	if a := r.Before(t.Context(), read); a.Outcome != policy.Refused {
		t.Errorf("a folder in its place: %+v", a)
	}
}

// named gives the files of a hook as settings read them.
func named(t *testing.T, dir, command string) []settings.HookFile {
	t.Helper()
	return readHook(t, dir, command).Files
}

// readHook gives a hook as settings read it.
func readHook(t *testing.T, dir, command string) settings.Hook {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, ".config", "holdfast")
	if err := os.MkdirAll(config, 0o755); err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(command)
	text := fmt.Sprintf(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":%s}]}]}}`, quoted)
	if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(settings.Options{Dir: dir, Home: home, Config: config, Managed: filepath.Join(home, "managed"), State: filepath.Join(home, "state")})
	if err != nil {
		t.Fatal(err)
	}
	return s.Hooks[0]
}

func TestDescriptorsStayHere(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd())) // without close-on-exec, as one that was inherited
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	a := runner(t, t.TempDir(), pre(fmt.Sprintf("if [ -e /dev/fd/%d ]; then echo 'it is open' >&2; exit 2; fi", fd))).Before(t.Context(), read)
	if a.Outcome != policy.Allowed {
		t.Error(a.Reason)
	}
}

func TestAfter(t *testing.T) {
	for command, want := range map[string]string{
		"exit 0":                "",
		"echo formatted":        "no JSON object",
		"echo lint >&2; exit 2": "says: lint",
		"exit 3":                "status 3",
		`echo '{"decision":"block","reason":"look again"}'`:                "look again",
		`echo '{"hookSpecificOutput":{"additionalContext":"by the way"}}'`: "by the way",
		`echo '{"systemMessage":"hello"}'`:                                 "hello",
		`echo '{"suppressOutput":true}'`:                                   "",
		"/does/not/exist":                                                  "no such program",
	} {
		got := runner(t, t.TempDir(), post(command)).After(t.Context(), read, []byte("not json \xff"))
		if want == "" && len(got) != 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

func TestNothingRefuses(t *testing.T) {
	var none *hooks.Runner
	if a := none.Before(t.Context(), read); a.Outcome != policy.Refused {
		t.Error("a nil runner lets pass")
	}
	if none.After(t.Context(), read, nil) != nil {
		t.Error("a nil runner adds")
	}
	if (hooks.Answer{}).Outcome != policy.Refused {
		t.Error("the zero answer lets pass")
	}
	for _, bad := range []settings.Hook{{Command: "true"}, {Command: " ", Timeout: time.Second}} {
		if _, err := hooks.New([]settings.Hook{bad}, "/", "s", policy.Default); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if _, err := hooks.New(nil, "", "s", policy.Default); err == nil {
		t.Error("no directory is taken")
	}
}

// TestNothingLoosens: whatever hooks print, no set of them is milder than its
// strictest member.
func TestNothingLoosens(t *testing.T) {
	strict := map[string]policy.Outcome{
		"": policy.Allowed, `{}`: policy.Allowed, `{"decision":"approve"}`: policy.Allowed, `{"permissionDecision":"allow","decision":"ask"}`: policy.Asked,
		`{"decision":"ask"}`: policy.Asked, `{"decision":"block"}`: policy.Refused, `{`: policy.Refused, `[]`: policy.Refused,
	}
	var texts []string
	for text := range strict {
		texts = append(texts, text)
	}
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		chosen := rapid.SliceOfN(rapid.SampledFrom(texts), 1, 3).Draw(rt, "outputs")
		want := policy.Allowed
		var list []settings.Hook
		for _, text := range chosen {
			list = append(list, pre("printf %s '"+text+"'"))
			want = min(want, strict[text])
		}
		r, err := hooks.New(list, dir, "s", policy.Default)
		if err != nil {
			rt.Fatal(err)
		}
		if got := r.Before(context.Background(), read).Outcome; got != want {
			rt.Fatalf("%q: got %v, want %v", chosen, got, want)
		}
	})
}
