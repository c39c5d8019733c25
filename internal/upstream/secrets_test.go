package upstream

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func TestClean(t *testing.T) {
	s := &scrubber{}
	s.hide("p@ss word/1")
	s.hide("line one of key\r\nline two of key\n")
	s.hide("ab") // too short to be hidden without spoiling everything
	s.hide("")
	for in, want := range map[string]string{
		"no secret, about ab":                         "no secret, about ab",
		"login with p@ss word/1 failed":               "login with [hidden] failed",
		"GET /?q=p%40ss+word%2F1 and p@ss%20word%2F1": "GET /?q=[hidden] and [hidden]",
		"cEBzcyB3b3JkLzE=":                            "[hidden]",
		"bad: line two of key":                        "bad: [hidden]",
		"Authorization: Bearer abc.DEF-123456":        "Authorization: Bearer [hidden]",
		"authorization: basic dXNlcjpwYXNz=":          "authorization: basic [hidden]=",
		"token=ghp_0123456789abcdef!":                 "token=[hidden]!",
		"'sk-ant-0123456789'":                         "'[hidden]'",
		"sk-short and a basic idea":                   "sk-short and a basic idea",
		"eyJhbGciOi.eyJzdWIiOiIx.sig":                 "[hidden]",
	} {
		if got := s.clean(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"  plain  ": "plain", "\x1b[1;31mred\x1b[0m \x1b]0;title\x07x": "red x", "a\tb\r\nc": "a b  c", "zero\u200bwidth\u202e": "zerowidth",
		"bad \xff": "bad ?", "": "", "\x1b": "", "déjà vu": "déjà vu", strings.Repeat("é", 60): strings.Repeat("é", 50) + "…",
	} {
		if got := oneLine(in, 100); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := visible("   at f()  ", 100); got != "   at f()" {
		t.Errorf("got %q", got)
	}
}

// What a URL, a header or an argument holds is hidden also without a reference.
func TestLiteralSecrets(t *testing.T) {
	s := &scrubber{}
	p := approval.Program{
		Args: []string{"--api-key", "arg-one", "--token=arg-two", "--mode", "fast", "postgres://u:arg-pass@h/db"},
		URL:  "https://user-only@h/v1/sk0123456789abcdef01/mcp?api_key=url-one&profile=long-profile&x=1#frag0123456789abcdef",
		Env:  map[string]string{"DATABASE_URL": "postgres://u:env-pass@h/db", "PLAIN": "production"},
		Headers: map[string]string{
			"X-Tenant": "tenant-4711", "Accept": "application/json", "Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("me:basic-pass")),
		},
	}
	if _, err := expand(p, func(s string) (string, error) { return s, nil }, s); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{
		"arg-one", "arg-two", "arg-pass", "user-only", "sk0123456789abcdef01", "url-one", "long-profile", "frag0123456789abcdef", "env-pass", "tenant-4711", "basic-pass", "me:basic-pass",
		hex.EncodeToString([]byte("arg-two")), "arg\u200b-two", "arg\x1b[0m-two",
	} {
		if got := s.oneLine("it is "+secret+"!", 100); got != "it is [hidden]!" {
			t.Errorf("%s: %s", secret, got)
		}
	}
	for _, plain := range []string{"fast", "production", "application/json", "profile", "mcp", "https://h/v1"} {
		if got := s.oneLine(plain, 100); got != plain {
			t.Errorf("%s: %s", plain, got)
		}
	}
	if got := s.withoutEnd("a line that ends in tenant-4"); got != "a line that ends in " {
		t.Errorf("got %q", got)
	}
}

func TestExpand(t *testing.T) {
	resolve := func(s string) (string, error) {
		if strings.Contains(s, "${env:NO}") {
			return "", fault.New(fault.BadInput, "the variable NO is not set", "Set it.")
		}
		return strings.NewReplacer("${env:A}", "alpha-secret", "${file:/f}", "filed-secret").Replace(s), nil
	}
	secrets := &scrubber{}
	program := approval.Program{
		Type: "stdio", Command: "${env:A}", Cwd: "${env:A}", Args: []string{"x", "--k=${env:A}"}, URL: "https://u:pass-word@h/${file:/f}",
		Env: map[string]string{"API_KEY": "literal-secret", "MODE": "production"}, Headers: map[string]string{"Authorization": "Bearer bear-secret"},
	}
	p, err := expand(program, resolve, secrets)
	if err != nil {
		t.Fatal(err)
	}
	if p.Args[1] != "--k=alpha-secret" || p.URL != "https://u:pass-word@h/filed-secret" || p.Command != "${env:A}" || p.Cwd != "${env:A}" || program.Args[1] != "--k=${env:A}" {
		t.Errorf("%+v", p)
	}
	got := secrets.clean("alpha-secret filed-secret literal-secret production bear-secret pass-word")
	if got != "[hidden] [hidden] [hidden] production [hidden] [hidden]" {
		t.Errorf("got %q", got)
	}
	for _, p := range []approval.Program{{Args: []string{"${env:NO}"}}, {URL: "${env:NO}"}, {Env: map[string]string{"K": "${env:NO}"}}, {Headers: map[string]string{"K": "${env:NO}"}}} {
		_, err := expand(p, resolve, &scrubber{})
		faulty(t, err, fault.BadInput, "NO is not set")
		if fault.HintOf(err) != "Set it." {
			t.Errorf("hint %q", fault.HintOf(err))
		}
	}
}

func TestEnvironment(t *testing.T) {
	ours := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "LANG=C", "XDG_CONFIG_HOME=/c", "TMPDIR=/t", "AWS_SECRET_ACCESS_KEY=x", "GITHUB_TOKEN=x", "HOLDFAST_KEY=x",
		"SSH_AUTH_SOCK=/s", "LD_PRELOAD=x", "NODE_OPTIONS=x", "path=/evil", "SystemRoot=C:\\W", "=C:=C:\\", "http_proxy=http://u:p@proxy:3128/",
		"HTTPS_PROXY=proxy:3128", "ALL_PROXY=u:p@proxy:1", "no_proxy=a,b@c", "HTTP_PROXY=http://u:p@x@y:%zz",
	}
	got := environment(map[string]string{"PATH": "/own", "K": "v"}, ours, "linux")
	want := []string{"ALL_PROXY=proxy:1", "HOME=/h", "HTTPS_PROXY=proxy:3128", "K=v", "LANG=C", "LC_ALL=C", "PATH=/own", "TMPDIR=/t", "XDG_CONFIG_HOME=/c", "http_proxy=http://proxy:3128/", "no_proxy=a,b@c"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	got = environment(map[string]string{"Path": "own"}, []string{"PATH=a", "SystemRoot=C:\\W", "USERPROFILE=u", "SECRET=x"}, "windows")
	if want := []string{"Path=own", "SystemRoot=C:\\W", "USERPROFILE=u"}; !slices.Equal(got, want) {
		t.Errorf("windows: got %q", got)
	}
}

func TestLogRotates(t *testing.T) {
	dir := t.TempDir()
	secrets := &scrubber{}
	secrets.hide("hunter2")
	l, err := openLog(dir, "a-1", secrets)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("w", 1000)
	for i := range 3000 {
		l.say(fmt.Sprint(i, " hunter2 ", line)) // over two files, without the limit of a second
	}
	l.add("the pass\u200bword is hun\u200bter2\x1b[0m\x00", false)
	if got := l.lastWords(); got != "the password is [hidden]" {
		t.Errorf("last words %q", got)
	}
	l.close()
	l.add("after it was closed", false)
	var size int64
	for _, f := range []string{"a-1.log", "a-1.log.1"} {
		info, err := os.Stat(filepath.Join(dir, f))
		if err != nil || info.Size() > maxLogFile {
			t.Fatalf("%s: %v %v", f, info, err)
		}
		size += info.Size()
	}
	lines, err := tail(dir, "a-1", 500)
	if err != nil || len(lines) != 500 || !strings.Contains(lines[498], " 2999 ") || !strings.Contains(lines[0], " 2501 ") || !strings.HasSuffix(lines[499], "the password is [hidden]") {
		t.Errorf("%d lines, %v, of %d bytes", len(lines), err, size)
	}
	if lines, err := tail(dir, "a-1", 0); err != nil || len(lines) != 0 {
		t.Errorf("%q %v", lines, err)
	}
	_, err = tail(dir, "none", 5)
	faulty(t, err, fault.NotFound)
	for _, name := range []string{"../a-1", "", "/etc/passwd", ".hidden", "a/b", `a\b`} {
		_, err := tail(dir, name, 5)
		faulty(t, err, fault.BadInput)
	}
}
