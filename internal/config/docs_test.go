package config

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/upstream"
)

func manual(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is the text of one heading, with the tables of its keys.
func section(text, heading string) string {
	_, rest, ok := strings.Cut(text, "\n## "+heading+"\n")
	if !ok {
		return ""
	}
	before, _, _ := strings.Cut(rest, "\n## ")
	return before
}

// Every key that the parser knows has a row in the reference, and every row is a
// key that the parser knows.
func TestEveryKeyIsDocumented(t *testing.T) {
	r, c, s := &reader{}, &Config{}, &Server{}
	server := r.optionKeys(s)
	for name, read := range r.programKeys(&approval.Program{}, &at{}) {
		server[name] = read
	}
	text := manual(t)
	row := regexp.MustCompile("(?m)^\\| `([a-zA-Z_]+)` \\| ([^|]+) \\|")
	for heading, known := range map[string]keys{
		"Top level": r.topKeys(c),
		"Servers":   server,
		"Listen":    r.listenKeys(c, &at{}),
		"Limits":    r.limitKeys(c),
		"Security":  r.securityKeys(c),
	} {
		documented := make(map[string]bool)
		for _, m := range row.FindAllStringSubmatch(section(text, heading), -1) {
			documented[m[1]] = true
			if _, ok := known[m[1]]; !ok {
				t.Errorf("%s: %s is documented and not known", heading, m[1])
			}
		}
		for name := range known {
			if !documented[name] {
				t.Errorf("%s: %s is known and not documented", heading, name)
			}
		}
	}
}

// The examples are files that `config check` accepts, and together they use every
// key that this version has.
func TestExamplesOfTheReference(t *testing.T) {
	text := manual(t)
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(examples) < 5 {
		t.Fatalf("only %d examples were found", len(examples))
	}
	all := ""
	for _, m := range examples {
		all += m[1]
		if _, err := Parse("example.json", []byte(m[1]), true); err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
	}
	for _, name := range regexp.MustCompile("(?m)^\\| `([a-zA-Z_]+)` \\|").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(all, `"`+name[1]+`"`) && name[1] != "audit" && name[1] != "admin" {
			t.Errorf("no example has %s", name[1])
		}
	}
}

// What the reference says of defaults is what an empty file means.
func TestDefaultsOfTheReference(t *testing.T) {
	file := `{"default_trust_mode":"scan","quarantine_enabled":true,"on_hold":"block","unannotated":"destructive","verify_interval":"5m",` +
		`"listen":"127.0.0.1:7420","face":"auto","limits":{"message":"16MiB","arguments":"4MiB","result":"16MiB","sessions":100,"idle":"30m"}}`
	written, err := Parse("f.json", []byte(file), true)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := Parse("f.json", []byte("{}"), true)
	if err != nil {
		t.Fatal(err)
	}
	if written.Law.ID != empty.Law.ID || written.Limits != empty.Limits || written.Verify != empty.Verify ||
		written.Listen.Addr != empty.Listen.Addr || written.Listen.Face != empty.Listen.Face {
		t.Errorf("written %+v\nempty   %+v", written, empty)
	}
	text := manual(t)
	for _, row := range []string{
		fmt.Sprintf("| `timeout` | `\"%gm\"` |", upstream.DefaultTimeout.Minutes()),
		fmt.Sprintf("| `max_concurrent` | `%d` |", upstream.DefaultMaxConcurrent),
		"| `default_trust_mode` | `\"scan\"` |", "| `quarantine_enabled` | `true` |", "| `on_hold` | `\"block\"` |",
		"| `unannotated` | `\"destructive\"` |", "| `verify_interval` | `\"5m\"` |", "| `listen` | `\"127.0.0.1:7420\"` |",
		"| `face` | `\"auto\"` |", "| `message` | `\"16MiB\"` |", "| `arguments` | `\"4MiB\"` |", "| `result` | `\"16MiB\"` |",
		"| `sessions` | `100` |", "| `idle` | `\"30m\"` |",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("the reference has no row %q", row)
		}
	}
}
