package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// full uses every key, in the liberal syntax.
const full = `// what my agents may reach
{
	"mcpServers": {
		"files": {
			"command": "npx",
			"args": ["-y", "server-filesystem", "${env:HOME}/docs"],
			"cwd": "/tmp",
			"env": {"NODE_ENV": "production", "TOKEN": "${keyring:files}"},
			"isolation": "none",
			"trust_mode": "manual",
			"quarantined": true,
			"on_hold": "keep",
			"enabled_tools": ["read_*"],
			"disabled_tools": ["read_secret"],
			"timeout": "90s",
			"max_concurrent": 4,
		},
		/* a remote one */
		"remote": {
			"type": "streamable-http",
			"url": "https://mcp.example.com/mcp?x=${env:X}",
			"headers": {"Authorization": "Bearer ${file:/etc/token}"},
			"quarantined": false,
		},
	},
	"listen": {"address": "[::1]:9000", "auth": "off", "origins": ["https://a.example"], "hosts": ["a.example"]},
	"data_dir": "state",
	"default_trust_mode": "auto",
	"quarantine_enabled": false,
	"on_hold": "keep",
	"unannotated": "write",
	"face": "search",
	"verify_interval": "0s",
	"limits": {"message": "1MiB", "arguments": 2048, "result": "3 KiB", "sessions": 7, "idle": "1m"},
}
`

func TestFullFile(t *testing.T) {
	got, err := Parse("/etc/holdfast/holdfast.json", []byte(full), true)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Path: "/etc/holdfast/holdfast.json",
		Law:  approval.Settings{GateOff: true, DefaultMode: "auto", OnHold: "keep", Unannotated: contract.Write},
		Servers: []Server{
			{
				Name: "files",
				Program: approval.Program{
					Type: "stdio", Command: "npx", Args: []string{"-y", "server-filesystem", "${env:HOME}/docs"}, Cwd: "/tmp",
					Env: map[string]string{"NODE_ENV": "production", "TOKEN": "${keyring:files}"},
				},
				Options: approval.Options{
					TrustMode: "manual", OnHold: "keep", EnabledTools: []string{"read_*"}, DisabledTools: []string{"read_secret"},
					Timeout: 90 * time.Second, MaxConcurrent: 4,
				},
				Quarantine: approval.AskMore,
				Source:     "/etc/holdfast/holdfast.json:4",
			},
			{
				Name: "remote",
				Program: approval.Program{
					Type: "http", URL: "https://mcp.example.com/mcp?x=${env:X}",
					Headers: map[string]string{"Authorization": "Bearer ${file:/etc/token}"},
				},
				Quarantine: approval.AskLess,
				Source:     "/etc/holdfast/holdfast.json:19",
			},
		},
		Listen:  Listen{Addr: "[::1]:9000", AuthOff: true, Face: "search", Origins: []string{"https://a.example"}, Hosts: []string{"a.example"}},
		DataDir: "/etc/holdfast/state",
		Limits:  Limits{Message: 1 << 20, Arguments: 2048, Result: 3 << 10, Sessions: 7, Idle: time.Minute},
	}
	want.Law.ID = SettingsID(want.Law)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEmptyFileIsTheDefaults(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/var/state")
	got, err := Parse("holdfast.json", []byte("{}"), true)
	if err != nil {
		t.Fatal(err)
	}
	if got.Law.DefaultMode != "scan" || got.Law.GateOff || got.Law.OnHold != "block" || got.Law.Unannotated != contract.Destructive {
		t.Errorf("law: %+v", got.Law)
	}
	if got.Law.ID == "" || got.Listen.Addr != "127.0.0.1:7420" || got.Listen.AuthOff || got.Verify != 5*time.Minute {
		t.Errorf("got %+v", got)
	}
	if got.DataDir != filepath.Join("/var/state", "holdfast") || len(got.Servers) != 0 {
		t.Errorf("got %+v", got)
	}
	if l := got.Limits; l.Message <= 0 || l.Arguments <= 0 || l.Result <= 0 || l.Sessions <= 0 || l.Idle <= 0 {
		t.Errorf("a limit is missing: %+v", l)
	}
}

// Each case is a file and all that must be said about it, line by line.
func TestMistakes(t *testing.T) {
	server := func(inner string) string { return `{"mcpServers": {"git": {` + inner + `}}}` }
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"brackets":    {strings.Repeat("[", 2_000_000), []string{"f.json: the file opens more than 100000 brackets"}},
		"unknown key": {"{\n \"defaulttrust_mode\": \"scan\"\n}", []string{`f.json:2:2: defaulttrust_mode: unknown key; did you mean default_trust_mode?`}},
		"camel case":  {server(`"command":"x","trustMode":"scan"`), []string{`mcpServers.git.trustMode: unknown key; did you mean trust_mode?`}},
		"two letters swapped": {server(`"comamnd":"x"`), []string{
			`mcpServers.git.comamnd: unknown key; did you mean command?`,
		}},
		"nothing near":       {`{"zebra":1}`, []string{`zebra: unknown key; known here are admin, audit, `}},
		"other client's":     {`{"servers":{}}`, []string{`servers: unknown key; the map of servers is called mcpServers here`}},
		"disabled":           {server(`"command":"x","disabled":true`), []string{`run ` + "`holdfast server disable`"}},
		"twice":              {"{\"face\":\"auto\",\n\"face\":\"auto\"}", []string{`f.json:2:1: face: stands here for the second time; the first is in line 1`}},
		"twice, escaped":     {`{"face":"auto","f\u0061ce":"auto"}`, []string{`face: stands here for the second time`}},
		"several":            {`{"face":"x","on_hold":"y","listen":3}`, []string{`face: "x" is not one of "auto", "direct", "search"`, `on_hold: "y" is not one of`, `listen: must be an object`}},
		"bad name":           {`{"mcpServers":{"Brave_Search":{"command":"x"}}}`, []string{`mcpServers.Brave_Search: is no server name`, `write brave-search`}},
		"no name at all":     {`{"mcpServers":{"__":{"command":"x"}}}`, []string{`mcpServers.__: is no server name: 1 to 32 of a-z, 0-9 and -, not starting with -`}},
		"nothing to run":     {server(``), []string{`mcpServers.git: has neither command (a program to run) nor url`}},
		"both":               {server(`"command":"x","url":"http://a"`), []string{`has both command and url`}},
		"sse":                {server(`"type":"sse","url":"http://a"`), []string{`"sse" is the transport of MCP 2024-11-05, which is not supported`}},
		"strange type":       {server(`"type":"pipe","command":"x"`), []string{`mcpServers.git.type: "pipe" is not one of "stdio", "http"`}},
		"type against keys":  {server(`"type":"http","command":"x"`), []string{`is of type http and has no url`, `is of type http, which has no command`}},
		"headers of stdio":   {server(`"command":"x","headers":{"A":"b"}`), []string{`is of type stdio, which has no headers`}},
		"a number":           {server(`"command":"x","timeout":90`), []string{`timeout: must be a string with a unit, for example "90s"`}},
		"a bad duration":     {server(`"command":"x","timeout":"90 seconds"`), []string{`timeout: is not a duration`}},
		"too short":          {server(`"command":"x","timeout":"1ms"`), []string{`timeout: must be at least 1s`}},
		"none at once":       {server(`"command":"x","max_concurrent":0`), []string{`max_concurrent: must be a whole number of at least 1`}},
		"isolation":          {server(`"command":"x","isolation":"strict"`), []string{`isolation: "strict" is not one of "none"`}},
		"relative cwd":       {server(`"command":"x","cwd":"here"`), []string{`cwd: must be an absolute path`}},
		"reference at home":  {server(`"command":"${env:X}"`), []string{`command: references are resolved in args, env, headers and url only`}},
		"kind of reference":  {server(`"command":"x","env":{"A":"${vault:x}"}`), []string{`env.A: has a reference of the unknown kind "vault"; known are env, file and keyring`}},
		"bare reference":     {server(`"command":"x","args":["a","${HOME}"]`), []string{`args[1]: has a reference without a kind; write ${env:NAME}`}},
		"open reference":     {server(`"command":"x","args":["${env:X"]`), []string{`args[0]: has a ${ that is not closed`}},
		"env of numbers":     {server(`"command":"x","env":{"PORT":80}`), []string{`env.PORT: must be a string`}},
		"env name":           {server(`"command":"x","env":{"A=B":"c"}`), []string{`is no name of an environment variable`}},
		"header name":        {server(`"url":"http://a/","headers":{"a b":"c"}`), []string{`is no name of an HTTP header`}},
		"our header":         {server(`"url":"http://a/","headers":{"Mcp-Session-Id":"c"}`), []string{`is set by the transport itself`}},
		"url":                {server(`"url":"mcp.example.com"`), []string{`url: is no address`}},
		"url scheme":         {server(`"url":"ftp://a/"`), []string{`url: must begin with http:// or https://`}},
		"url password":       {server(`"url":"https://me:pw@a/"`), []string{`url: has a name or password before the host`}},
		"glob":               {server(`"command":"x","enabled_tools":["a",""]`), []string{`enabled_tools[1]: must not be empty`}},
		"builtin":            {server(`"builtin":"workspaces"`), []string{`builtin: "workspaces" is not one of "workspace"`}},
		"builtin, command":   {server(`"builtin":"workspace","command":"x"`), []string{`command: does not belong to a builtin server`}},
		"builtin, type":      {server(`"type":"stdio","builtin":"workspace"`), []string{`type: does not belong to a builtin server`}},
		"no port":            {`{"listen":"127.0.0.1"}`, []string{`listen: must be host:port`}},
		"no host":            {`{"listen":":7420"}`, []string{`listen: must be host:port`}},
		"bad port":           {`{"listen":"127.0.0.1:99999"}`, []string{`listen: has no port number from 0 to 65535`}},
		"auth off, open":     {`{"listen":{"auth":"off","address":"0.0.0.0:7420"}}`, []string{`listen.auth: "off" is accepted only where address is a loopback address`}},
		"auth off, a name":   {`{"listen":{"auth":"off","address":"localhost.evil.example:7420"}}`, []string{`listen.auth: "off" is accepted only`}},
		"size":               {`{"limits":{"message":"4 megabytes"}}`, []string{`limits.message: must be a size`}},
		"size too large":     {`{"limits":{"message":"2GiB"}}`, []string{`limits.message: must be a size from 1 byte to 1 GiB`}},
		"negative":           {`{"limits":{"arguments":-1}}`, []string{`limits.arguments: must be a size`}},
		"not in this one":    {`{"admin":{"key_required":true}}`, []string{`admin: is not available in this version`}},
		"no object":          {`[]`, []string{`f.json:1:1: must be an object`}},
		"null":               {`null`, []string{`f.json:1:1: must be an object`}},
		"broken":             {"{\n\"face\": auto}", []string{`f.json:2:9: `}},
		"cut off":            {`{"face": "auto"`, []string{`the file ends too early`}},
		"two values":         {`{} {}`, []string{`f.json:1:4: `}},
		"not UTF-8":          {"{\n\"\xff\":1}", []string{`f.json:2:2: the file is not valid UTF-8`}},
		"gate":               {`{"quarantine_enabled":"yes"}`, []string{`quarantine_enabled: must be true or false`}},
		"unannotated":        {`{"unannotated":"none"}`, []string{`unannotated: "none" is not one of "read", "write", "destructive"`}},
		"empty data_dir":     {`{"data_dir":""}`, []string{`data_dir: must not be empty`}},
		"data_dir reference": {`{"data_dir":"${env:X}"}`, []string{`data_dir: references are not resolved here`}},
		"empty command":      {server(`"command":""`), []string{`command: must not be empty`}},
		"NUL":                {server(`"command":"x\u0000"`), []string{`command: has a NUL character`}},
		"NUL in args":        {server(`"command":"x","args":["\u0000"]`), []string{`args[0]: has a NUL character`}},
		"args not a list":    {server(`"command":"x","args":"-y"`), []string{`args: must be a list of strings`}},
		"args of numbers":    {server(`"command":"x","args":["-p",80]`), []string{`args[1]: must be a string`}},
		"web socket":         {server(`"type":"ws","url":"http://a"`), []string{`web sockets are not supported`}},
		"strict mode word":   {server(`"command":"x","trust_mode":"Auto"`), []string{`trust_mode: "Auto" is not a trust mode: "manual", "scan" or "auto"`}},
		"strict default":     {`{"default_trust_mode":"paranoid"}`, []string{`default_trust_mode: "paranoid" is not a trust mode: "manual", "scan" or "auto"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.json", []byte(c.file), true)
			if fault.KindOf(err) != fault.BadInput {
				t.Fatalf("got %v", err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) > len(c.want) {
				t.Errorf("more was said than expected: %q", lines)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q\ndoes not say %q", err, want)
				}
			}
			for _, line := range lines {
				if !strings.HasPrefix(line, "f.json:") {
					t.Errorf("no position in %q", line)
				}
			}
		})
	}
}

// What loading puts up with is a warning that names the server, and counts as manual.
func TestBadTrustModeIsAWarningWhenLoading(t *testing.T) {
	file := "{\"default_trust_mode\": \"Scan\",\n\"mcpServers\": {\"git\": {\"command\":\"x\",\n\"trust_mode\":\"AUTO\"}}}"
	c, err := Parse("f.json", []byte(file), false)
	if err != nil {
		t.Fatal(err)
	}
	if c.Law.DefaultMode != "Scan" || c.Servers[0].Options.TrustMode != "AUTO" {
		t.Errorf("the modes are not kept as written: %+v", c)
	}
	want := []string{
		`f.json:1: default_trust_mode: "Scan" is not a trust mode: "manual", "scan" or "auto"; it counts as manual for every server without a trust_mode of its own`,
		`f.json:3: mcpServers.git.trust_mode: "AUTO" is not a trust mode: "manual", "scan" or "auto"; it counts as manual for server git`,
	}
	if !reflect.DeepEqual(c.Warnings, want) {
		t.Errorf("warnings %q", c.Warnings)
	}
	if mode, bad := c.Law.ModeOf(approval.Server{Options: c.Servers[0].Options}); mode != approval.Manual || bad != "AUTO" {
		t.Errorf("the law makes %v of it (%q)", mode, bad)
	}
}

// No error, whatever is wrong, quotes what may be a secret.
func TestErrorsQuoteNoSecrets(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, file := range []string{
		`{"mcpServers":{"a":{"command":"x","env":{"T":"` + secret + `${x:y}"}}}}`,
		`{"mcpServers":{"a":{"command":"x","env":"` + secret + `"}}}`,
		`{"mcpServers":{"a":{"command":"x","env":{"T":` + secret + `}}}}`,
		`{"mcpServers":{"a":{"command":"x","args":["${env:X` + secret + `"]}}}`,
		`{"mcpServers":{"a":{"url":"https://u:` + secret + `@h/"}}}`,
		`{"mcpServers":{"a":{"url":"` + secret + `"}}}`,
		`{"mcpServers":{"a":{"url":"http://h/","headers":"` + secret + `"}}}`,
		`{"mcpServers":{"a":{"command":"x","timeout":"` + secret + `"}}}`,
		`{"mcpServers":{"a":{"command":"x","env":{"T":"` + secret,
	} {
		_, err := Parse("f.json", []byte(file), true)
		if err == nil {
			t.Fatalf("accepted: %s", file)
		}
		if strings.Contains(err.Error()+fault.HintOf(err), "hunter2") {
			t.Errorf("quoted in %q", err)
		}
	}
}

func TestManyMistakesAreCut(t *testing.T) {
	var b strings.Builder
	b.WriteString("{")
	for i := range 30 {
		b.WriteString(strings.Repeat("z", i+8) + "\": 1,\"")
	}
	file := strings.Replace(b.String(), "{", "{\"", 1)
	file = strings.TrimSuffix(file, ",\"") + "}"
	_, err := Parse("f.json", []byte(file), true)
	if n := strings.Count(err.Error(), "\n") + 1; n != maxProblems {
		t.Errorf("%d lines", n)
	}
	if !strings.Contains(fault.HintOf(err), "Not shown: 10 more mistakes.") {
		t.Errorf("hint %q", fault.HintOf(err))
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("AppData", dir)
	t.Setenv("HOME", dir)

	if c, err := Load("", true); err != nil || len(c.Servers) != 0 {
		t.Fatalf("no file at the default path: %+v, %v", c, err)
	}
	if _, err := Load(DefaultPath(), true); err != nil {
		t.Fatalf("the default path by name: %v", err)
	}
	named := filepath.Join(dir, "other.json")
	if _, err := Load(named, true); fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), named) {
		t.Fatalf("a missing file that was named: %v", err)
	}
	if err := os.WriteFile(named, []byte("\xef\xbb\xbf{\"data_dir\":\"d\"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(named, true)
	if err != nil || c.DataDir != filepath.Join(dir, "d") || c.Path != named {
		t.Fatalf("got %+v, %v", c, err)
	}
	if err := os.WriteFile(named, make([]byte, MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(named, true); fault.KindOf(err) != fault.TooLarge {
		t.Fatalf("a huge file: %v", err)
	}
	if _, err := Load(dir, true); fault.KindOf(err) != fault.BadInput {
		t.Fatalf("a folder: %v", err)
	}
}

func TestDataDir(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	absolute := filepath.Join(home, "x")
	for written, want := range map[string]string{
		"state":    filepath.Join(home, "conf", "state"),
		"../state": filepath.Join(home, "state"),
		"~/state":  filepath.Join(home, "state"),
		"~":        home,
		absolute:   absolute,
	} {
		text, _ := json.Marshal(written)
		c, err := Parse(filepath.Join(home, "conf", "holdfast.json"), []byte(`{"data_dir":`+string(text)+`}`), true)
		if err != nil || c.DataDir != want {
			t.Errorf("%s: %v, %v; want %s", written, c, err, want)
		}
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:1": true, "127.8.9.1:1": true, "[::1]:1": true, "localhost:1": true, "[::ffff:127.0.0.1]:1": true,
		"0.0.0.0:1": false, "[::]:1": false, "192.0.2.1:1": false, "localhost.example:1": false, "127.0.0.1.example:1": false, "127.0.0.1": false, "": false,
	} {
		if Loopback(address) != want {
			t.Errorf("%q: %v", address, !want)
		}
	}
}

func TestSettingsID(t *testing.T) {
	base := approval.Settings{DefaultMode: "scan", OnHold: "block", Unannotated: contract.Destructive}
	id := SettingsID(base)
	seen := map[string]string{id: "base"}
	for name, change := range map[string]func(*approval.Settings){
		"gate":        func(s *approval.Settings) { s.GateOff = true },
		"mode":        func(s *approval.Settings) { s.DefaultMode = "auto" },
		"on_hold":     func(s *approval.Settings) { s.OnHold = "keep" },
		"unannotated": func(s *approval.Settings) { s.Unannotated = contract.Read },
		"empty lock":  func(s *approval.Settings) { s.Lock = &approval.Lock{} },
		"lock": func(s *approval.Settings) {
			s.Lock = &approval.Lock{Pins: map[approval.Key]contract.Digest{{Server: "a", Kind: approval.Tool, Name: "t"}: "sha256:1"}}
		},
		"lock of another": func(s *approval.Settings) {
			s.Lock = &approval.Lock{Pins: map[approval.Key]contract.Digest{{Server: "a", Kind: approval.Tool, Name: "t"}: "sha256:2"}}
		},
	} {
		s := base
		change(&s)
		if other, same := seen[SettingsID(s)]; same {
			t.Errorf("%s has the id of %s", name, other)
		}
		seen[SettingsID(s)] = name
	}
	base.ID = "whatever"
	if SettingsID(base) != id {
		t.Error("the id depends on the id")
	}
}

func TestBuiltin(t *testing.T) {
	c, err := Parse("f.json", []byte(`{"mcpServers":{"project":{"builtin":"workspace","args":["-C","/srv/p"],"cwd":"/srv"}}}`), true)
	if err != nil {
		t.Fatal(err)
	}
	want := approval.Program{Type: "builtin", Command: "workspace", Args: []string{"-C", "/srv/p"}, Cwd: "/srv"}
	if got := c.Servers[0].Program; !got.Equal(want) {
		t.Errorf("%+v", got)
	}
}

func TestMapName(t *testing.T) {
	for name, want := range map[string]string{
		"brave_search": "brave-search", "My Server.2": "my-server-2", "ok": "ok",
		strings.Repeat("a", 40): strings.Repeat("a", 32),
	} {
		if got, ok := MapName(name); got != want || !ok {
			t.Errorf("%q: %q %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "_x", "größe", "a/b"} {
		if got, ok := MapName(name); ok {
			t.Errorf("%q became %q", name, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"listen":{"auth":"off"},"limits":{"message":1}}`))
	f.Add([]byte(`{"mcpServers":{"a":{"url":"${env:X}"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		loose, err := Parse("f.json", data, false)
		strict, strictErr := Parse("f.json", data, true)
		if err != nil && strictErr == nil {
			t.Fatalf("strict accepts what loading refuses: %v", err)
		}
		if err == nil && strictErr == nil && !reflect.DeepEqual(loose, strict) {
			t.Fatal("strict reads something else")
		}
		if err == nil && (loose.Listen.AuthOff && !Loopback(loose.Listen.Addr)) {
			t.Fatal("auth is off on an open address")
		}
	})
}
