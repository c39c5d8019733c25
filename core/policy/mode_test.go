package policy

import (
	"strings"
	"testing"
)

func TestParseMode(t *testing.T) {
	for _, m := range modes {
		if got, err := ParseMode(string(m)); err != nil || got != m {
			t.Errorf("%s: %s, %v", m, got, err)
		}
	}
	for name, want := range map[string]string{"": "must be one of", "yolo": "must be one of", "acceptedits": `"acceptEdits"`, "dontask": `"dontAsk"`} {
		if _, err := ParseMode(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestUnattended: a permissive mode of a file is clamped, --mode is the way out, and
// what it may not be is refused.
func TestUnattended(t *testing.T) {
	at := Place{Layer: User, File: "/s.json", Line: 2}
	for _, c := range []struct {
		name   string
		choice Choice
		want   Mode
		clamp  bool
		err    string
	}{
		{"nothing", Choice{}, Default, false, ""},
		{"default", Choice{Configured: Default}, Default, false, ""},
		{"plan", Choice{Configured: Plan}, Plan, false, ""},
		{"dontAsk", Choice{Configured: DontAsk}, DontAsk, false, ""},
		{"acceptEdits is clamped", Choice{Configured: AcceptEdits, Trusted: true}, Default, true, ""},
		{"bypass is clamped", Choice{Configured: Bypass, Trusted: true}, Default, true, ""},
		{"bypass is clamped and not refused", Choice{Configured: Bypass, Forbidden: &at}, Default, true, ""},
		{"unknown", Choice{Configured: "yolo"}, "", false, "/s.json line 2"},
		{"flag beats", Choice{Flag: AcceptEdits, Configured: Bypass}, AcceptEdits, false, ""},
		{"flag plan", Choice{Flag: Plan, Configured: Bypass}, Plan, false, ""},
		{"flag bypass", Choice{Flag: Bypass, Trusted: true}, Bypass, false, ""},
		{"flag bypass untrusted", Choice{Flag: Bypass}, "", false, "holdfast trust"},
		{"flag bypass as root", Choice{Flag: Bypass, Trusted: true, Root: true}, "", false, "root"},
		{"flag bypass forbidden", Choice{Flag: Bypass, Trusted: true, Forbidden: &at}, "", false, "/s.json line 2"},
		{"flag unknown", Choice{Flag: "yolo"}, "", false, "--mode"},
	} {
		c.choice.At = at
		mode, clamp, err := Unattended(c.choice)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || mode != "" {
				t.Errorf("%s: %s, %v", c.name, mode, err)
			}
			continue
		}
		if err != nil || mode != c.want || (clamp != Clamp{}) != c.clamp {
			t.Errorf("%s: %s, %v, %v", c.name, mode, clamp, err)
		}
		if c.clamp && clamp != (Clamp{From: c.choice.Configured, To: Default, At: at}) {
			t.Errorf("%s: %v", c.name, clamp)
		}
	}
}
