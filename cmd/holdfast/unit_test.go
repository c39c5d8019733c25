package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"send_mail":          "send_mail",
		"Grüße, 世界":          "Grüße, 世界",
		"a\x1b[31mred":       `a\u001b[31mred`,
		"a\u202eb":           `a\u202eb`,
		"a\u200bb":           `a\u200bb`,
		"a\U000e0041b":       `a\U000e0041b`,
		"a\nb\tc\rd":         `a\nb\tc\u000dd`,
		"a\u00a0b":           `a\u00a0b`,
		"a\u3164b":           `a\u3164b`,
		"a\xffb":             `a\xffb`,
		"heart \u2764\ufe0f": `heart ` + "\u2764" + `\ufe0f`,
		"":                   "",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := paragraph("a\nb\x07"); got != "a\nb\\u0007" {
		t.Errorf("paragraph: %q", got)
	}
}

// Whatever a server sends, a terminal gets nothing that it obeys or hides.
func FuzzVisible(f *testing.F) {
	f.Add("a\x1b]0;title\x07\u202e\U000e0001\xc3\x28")
	f.Fuzz(func(t *testing.T, s string) {
		v := visible(s)
		if !utf8.ValidString(v) || strings.IndexFunc(v, hidden) >= 0 {
			t.Errorf("visible(%q) = %q", s, v)
		}
	})
}

// Text that is broken into lines is there to the last character.
func TestExactlyKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab  é世{")), 0, 400, -1).Draw(t, "text")
		var kept strings.Builder
		for i, l := range strings.Split(exactly("      + ", text), "\n") {
			if utf8.RuneCountInString(l) > width {
				t.Fatalf("too long: %q", l)
			}
			if i > 0 && !strings.HasPrefix(l, "        ") {
				t.Fatalf("not indented: %q", l)
			}
			kept.WriteString(string([]rune(l)[8:]))
		}
		if kept.String() != text {
			t.Fatalf("%q became %q", text, kept.String())
		}
	})
}

func TestToolNames(t *testing.T) {
	for in, want := range map[string]toolName{
		"mail/send":       {"mail", "tool", "send"},
		"mail__send":      {"mail", "tool", "send"},
		"mail__send__all": {"mail", "tool", "send__all"},
		"mail/a/b":        {"mail", "tool", "a/b"},
		"mail/a__b":       {"mail", "tool", "a__b"},
		"mail__a/b":       {"mail", "tool", "a/b"},
		"mail/":           {},
		"/send":           {},
		"send":            {},
		"__send":          {},
	} {
		got, err := parseTool(in, "tool")
		if (err != nil) != (want == toolName{}) || (err == nil && got != want) {
			t.Errorf("parseTool(%q) = %v, %v", in, got, err)
		}
	}
	if got := named([]string{"mail", "send", "read"}); !slices.Equal(got, []string{"mail/send", "mail/read"}) {
		t.Errorf("two words: %q", got)
	}
	if got := named([]string{"mail/send", "mail/read"}); !slices.Equal(got, []string{"mail/send", "mail/read"}) {
		t.Errorf("full names: %q", got)
	}
}

func TestSpans(t *testing.T) {
	for in, want := range map[string]time.Duration{"12h": 12 * time.Hour, "30d": 720 * time.Hour, "1m30s": 90 * time.Second, "0d": 0, "-3d": 0, "d": 0, "soon": 0, "99999999999d": 0, "": 0} {
		got, err := parseSpan(in)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseSpan(%q) = %v, %v", in, got, err)
		}
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"a/b-c.d": "a/b-c.d", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "*": "'*'"} {
		if got := shellWord(in); got != want {
			t.Errorf("shellWord(%q) = %s", in, got)
		}
	}
}

func TestHang(t *testing.T) {
	got := hang("  1  ", strings.Repeat("word ", 40))
	for _, l := range strings.Split(got, "\n") {
		if n := utf8.RuneCountInString(l); n > width || !strings.HasPrefix(l, "  ") {
			t.Errorf("%d columns: %q", n, l)
		}
	}
	if strings.Join(strings.Fields(got), " ") != "1 "+strings.TrimSpace(strings.Repeat("word ", 40)) {
		t.Error("words were lost")
	}
}

func TestDataDirectoryIsPrivateAndNobodyElses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are those of Unix")
	}
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := prepareDataDirectory(dir); err != nil {
		t.Fatal(err)
	}
	if i, err := os.Stat(dir); err != nil || i.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", i.Mode(), err)
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lockDirectory(dir); !errors.Is(err, errLocked) || fault.KindOf(err) != fault.Exists || !strings.Contains(err.Error(), "pid ") {
		t.Errorf("a second lock: %v", err)
	}
	if err := prepareDataDirectory(dir); err != nil {
		t.Errorf("again: %v", err)
	}

	other := t.TempDir()
	if err := os.Chmod(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := prepareDataDirectory(other); fault.KindOf(err) != fault.BadInput {
		t.Errorf("a directory of others: %v", err)
	}
	if i, _ := os.Stat(other); i.Mode().Perm() != 0o755 {
		t.Error("a directory of others was closed")
	}
	if err := prepareDataDirectory(filepath.Join(t.TempDir(), strings.Repeat("long", 40))); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a path too long for a socket: %v", err)
	}
}

func TestSocketKnowsItsPeer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system does not tell")
	}
	dir, err := os.MkdirTemp("", "hf")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := listenSocket(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if i, err := os.Stat(socketPath(dir)); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", i.Mode(), err)
	}
	c, err := net.Dial("unix", socketPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if k, ok := got.(*knownConn); !ok || k.uid != os.Getuid() {
		t.Errorf("the peer: %+v", got)
	}
	if allowed(os.Getuid()+1) || !allowed(0) || !allowed(os.Getuid()) {
		t.Error("who is let in: this user and root alone")
	}
}

func TestPlainJSON(t *testing.T) {
	given := "{\n \"a\": \"x\u0085\u202e\u200b\U000e0041é\\\\\"\n}"
	got := plainJSON(given)
	if want := `{` + "\n" + ` "a": "x\u0085\u202e\u200b\udb40\udc41é\\"` + "\n}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var was, is map[string]string
	if err := json.Unmarshal([]byte(given), &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &is); err != nil || was["a"] != is["a"] {
		t.Errorf("%v: another value: %q", err, is["a"])
	}
}

func TestWholeDigest(t *testing.T) {
	have := "sha256:" + strings.Repeat("7f", 32)
	for given, want := range map[string]bool{
		have: true, have[:19]: true, " " + have[:19] + "… ": true, strings.ToUpper(have[:30]): true,
		have[:18]: false, "": false, "sha256:": false, have[7:]: false, "sha256:" + strings.Repeat("8f", 32): false,
	} {
		if full, ok := wholeDigest(given, have); ok != want || ok && full != have {
			t.Errorf("%q: %q %v", given, full, ok)
		}
	}
}

func TestMappedName(t *testing.T) {
	for given, want := range map[string]string{
		"Bad_Name": "bad-name", "__": "", "a b/c": "a-b-c", strings.Repeat("x", 31) + "_y": strings.Repeat("x", 31), "Ä": "",
	} {
		if got := mappedName(given); got != want {
			t.Errorf("%q: %q", given, got)
		}
	}
}

func TestClassWord(t *testing.T) {
	approved := &admin.Contract{}
	for want, r := range map[string]admin.Review{
		"destructive": {Tool: admin.Tool{Class: "destructive"}, LiveClass: "destructive", Approved: approved},
		"write":       {Tool: admin.Tool{Class: "write"}, LiveClass: "read"}, // nothing was approved: it is the live one's
		"destructive → read if you approve this": {Tool: admin.Tool{Class: "destructive"}, LiveClass: "read", Approved: approved},
	} {
		if got := classWord(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
