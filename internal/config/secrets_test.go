package config

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func TestExpand(t *testing.T) {
	t.Setenv("HF_TEST", "value ${env:HF_OTHER}")
	t.Setenv("HF_EMPTY", "")
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"":                              "",
		"plain $HOME {x}":               "plain $HOME {x}",
		"a${env:HF_TEST}b":              "avalue ${env:HF_OTHER}b", // what is resolved is not looked at again
		"${env:HF_EMPTY}":               "",
		"Bearer ${file:" + file + "}":   "Bearer from file",
		"$${env:HF_TEST}":               "${env:HF_TEST}",
		"$${ and ${env:HF_EMPTY}$${x}.": "${ and ${x}.",
	} {
		if got, err := Expand(in); err != nil || got != want {
			t.Errorf("Expand(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestExpandFails(t *testing.T) {
	t.Setenv("HF_TEST", "the-value")
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, maxSecret+1), 0o600); err != nil {
		t.Fatal(err)
	}
	nul := filepath.Join(t.TempDir(), "nul")
	if err := os.WriteFile(nul, []byte("the-value\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]struct {
		kind fault.Kind
		says string
	}{
		"${env:HF_NOT_SET}":      {fault.NotFound, "${env:HF_NOT_SET}: there is no environment variable"},
		"${env:}":                {fault.BadInput, "without a name"},
		"${HF_TEST}":             {fault.BadInput, "without a kind"},
		"${vault:x}":             {fault.BadInput, `unknown kind "vault"`},
		"${env:HF_TEST":          {fault.BadInput, "not closed"},
		"${file:relative}":       {fault.BadInput, "must be absolute"},
		"${file:/does/not/be}":   {fault.NotFound, "${file:/does/not/be}"},
		"${file:" + big + "}":    {fault.TooLarge, "over 64 KiB"},
		"${file:" + nul + "}":    {fault.BadInput, "NUL"},
		"${env:HF_TEST}${env:x}": {fault.NotFound, "${env:x}"},
	} {
		got, err := Expand(in)
		if got != "" || fault.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.says) {
			t.Errorf("Expand(%q) = %q, %v; want %s: %s", in, got, err, want.kind, want.says)
		}
		if err != nil && strings.Contains(err.Error(), "the-value") {
			t.Errorf("the value stands in %q", err)
		}
	}
}

// The keyring's program is a real one on the path, which stands in for libsecret's.
func TestKeyring(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("secret-tool is looked for on the path on Linux")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := Expand("${keyring:git}"); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "secret-tool is not installed") {
		t.Errorf("without the program: %v", err)
	}
	script := "#!/bin/sh\n[ \"$*\" = \"lookup service holdfast name git\" ] && echo s3cret\n"
	if err := os.WriteFile(filepath.Join(dir, "secret-tool"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := Expand("x-${keyring:git}"); err != nil || got != "x-s3cret" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := Expand("${keyring:other}"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an entry that is not there: %v", err)
	}
	if keyringCommand("windows", "x") != nil || keyringCommand("darwin", "x")[0] != "/usr/bin/security" {
		t.Error("the programs of other systems")
	}
}

func TestMask(t *testing.T) {
	for _, c := range []struct{ key, in, want string }{
		{"GITHUB_TOKEN", "ghp_abcdefghijklmnop", "***"},
		{"NODE_ENV", "production", "***"},
		{"NODE_ENV", "", ""},
		{"TOKEN", "${env:TOKEN}", "${env:TOKEN}"},
		{"Authorization", "Bearer ${keyring:x}", "***${keyring:x}"},
		{"TOKEN", "$${env:TOKEN}", "***"}, // escaped, so it is a value
		{"args", "-y", "-y"},
		{"args", "@modelcontextprotocol/server-filesystem@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31"},
		{"args", "--api-key=abc", "--api-key=***"},
		{"args", "--port=8080", "--port=8080"},
		{"args", "ghp_1234567890abcdef", "***"},
		{"args", "Authorization: Bearer abc.def", "Authorization: Bearer ***"},
		{"args", "/home/user/a/very/long/path/that/is/no/secret/at/all/0", "/home/user/a/very/long/path/that/is/no/secret/at/all/0"},
		{"args", "postgres://me:pw@db.example/x", "postgres://***@db.example/x"},
		{"url", "https://h.example/mcp?api_key=abc&page=2", "https://h.example/mcp?api_key=***&page=2"},
		{"url", "https://h.example/mcp?token=${env:T}", "https://h.example/mcp?token=${env:T}"},
		{"url", "https://mcp.example.com/mcp", "https://mcp.example.com/mcp"},
		{"command", "/usr/local/bin/node", "/usr/local/bin/node"},
	} {
		if got := Mask(c.key, c.in); got != c.want {
			t.Errorf("Mask(%q, %q) = %q; want %q", c.key, c.in, got, c.want)
		}
	}
}

func TestMaskProgram(t *testing.T) {
	p := approval.Program{
		Type: "stdio", Command: "npx", Args: []string{"-y", "srv", "--token", "abc", "--verbose", "--key", "--port", "80"},
		Env: map[string]string{"A": "b", "C": "${env:C}"},
	}
	got := MaskProgram(p)
	want := approval.Program{
		Type: "stdio", Command: "npx", Args: []string{"-y", "srv", "--token", "***", "--verbose", "--key", "--port", "80"},
		Env: map[string]string{"A": "***", "C": "${env:C}"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if p.Args[3] != "abc" || p.Env["A"] != "b" {
		t.Error("the program itself was changed")
	}
}

// TestMaskIsBounded: an enormous text is hidden whole, in no time.
func TestMaskIsBounded(t *testing.T) {
	huge := strings.Repeat("://eyJa=b.token x;", 1<<20)
	start := time.Now()
	for _, key := range []string{"args", "url", "command", "TOKEN"} {
		if got := Mask(key, huge); got != hidden {
			t.Errorf("%s: %d bytes are shown", key, len(got))
		}
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("it took %s", took)
	}
	short := strings.Repeat("a b ", 10)
	if got := Mask("args", short); got != short {
		t.Errorf("%q", got)
	}
}
