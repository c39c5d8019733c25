package judge_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// definition is a tool as a client reads it.
type definition struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               map[string]bool
}

func definitions(t testing.TB) map[string]definition {
	t.Helper()
	all := map[string]definition{}
	for _, d := range judge.Definitions() {
		var tool definition
		if err := json.Unmarshal(d.Raw, &tool); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		if tool.Name != d.Name {
			t.Errorf("%s calls itself %s", d.Name, tool.Name)
		}
		all[d.Name] = tool
	}
	return all
}

func schema(t testing.TB, raw []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDefinitions(t *testing.T) {
	var names []string
	for _, d := range judge.Definitions() {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, " "); got != "Read Write Edit Bash BashOutput KillShell Grep Glob" {
		t.Errorf("listed are %s", got)
	}
	changes := map[string]bool{"Write": true, "Edit": true, "Bash": true, "KillShell": true}
	for name, d := range definitions(t) {
		if d.Title == "" || d.Description == "" || len(d.Annotations) != 4 {
			t.Errorf("%s: not all is said: %+v", name, d)
		}
		if d.Annotations["readOnlyHint"] == changes[name] || d.Annotations["destructiveHint"] != changes[name] || d.Annotations["openWorldHint"] != (name == "Bash") {
			t.Errorf("%s: annotations %v", name, d.Annotations)
		}
		if !bytes.Contains(d.InputSchema, []byte(`"additionalProperties":false`)) {
			t.Errorf("%s: other keys are taken", name)
		}
		schema(t, d.InputSchema)
		if (d.OutputSchema == nil) != (name == "Read") {
			t.Errorf("%s: output schema %s", name, d.OutputSchema)
		}
		if d.OutputSchema != nil {
			schema(t, d.OutputSchema)
		}
	}
}

// values that arguments are made of: right ones, and all kinds of wrong ones.
var values = []string{
	`"a.txt"`, `"/abs/x"`, `""`, `" "`, `"\t\n"`, `"a\tb"`, `"a\nb"`, `"a\u0000b"`, `"a\u001bb"`, `"a\u0085b"`, `"a\rb"`, `"..\/x"`, `"a/../b"`, `"{..,a}/b"`, `"\\..\\./x"`, `"..foo"`,
	`"ls -l"`, `"content"`, `"count"`, `"files_with_matches"`, `"Content"`, `"é\ud83d\ude00"`, `"` + strings.Repeat("é", 1024) + `"`, `"` + strings.Repeat("a", 4097) + `"`,
	`0`, `1`, `-0`, `-1`, `1.0`, `1.5`, `1e2`, `1E+2`, `0.1e1`, `15e-1`, `600000`, `600001`, `6e5`, `1073741824`, `1073741825`, `1e9`, `1e10`, `1e400`, `-1e400`, `0e400`, `9007199254740993`,
	`true`, `false`, `null`, `[]`, `{}`, `["a"]`, `{"a":1}`,
}

// TestSchemaAndDecoderAgree: a JSON Schema validator takes just the arguments that the
// decoder takes.
func TestSchemaAndDecoderAgree(t *testing.T) {
	for name, d := range definitions(t) {
		t.Run(name, func(t *testing.T) {
			s := schema(t, d.InputSchema)
			var shape struct {
				Properties map[string]json.RawMessage
				Required   []string
			}
			if err := json.Unmarshal(d.InputSchema, &shape); err != nil {
				t.Fatal(err)
			}
			keys := []string{"unknown", "File_Path"}
			for key := range shape.Properties {
				keys = append(keys, key)
			}
			rapid.Check(t, func(rt *rapid.T) {
				var members []string
				used := map[string]bool{}
				for _, key := range append(rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 3, rapid.ID[string]).Draw(rt, "keys"), shape.Required...) {
					if used[key] || rapid.IntRange(0, 9).Draw(rt, "leave out") == 0 {
						continue
					}
					used[key] = true
					members = append(members, `"`+key+`":`+rapid.SampledFrom(values).Draw(rt, "value"))
				}
				args := "{" + strings.Join(members, ", ") + "}"
				doc, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
				if err != nil {
					rt.Fatal(err)
				}
				byschema := s.Validate(doc)
				_, err = judge.Decode(name, []byte(args))
				if (byschema == nil) != (err == nil) {
					rt.Fatalf("%s: the schema says %v, the decoder %v", args, byschema, err)
				}
			})
		})
	}
}

func number(n int) *int { return &n }

func TestDecode(t *testing.T) {
	yes := true
	for _, c := range []struct {
		tool, args string
		want       judge.Input
	}{
		{"Read", `{"file_path":"a","offset":2.0,"limit":1e1}`, &judge.ReadInput{FilePath: "a", Offset: number(2), Limit: number(10)}},
		{"Read", " {\"file_path\" : \"\\u0061\"}\n", &judge.ReadInput{FilePath: "a"}},
		{"Write", `{"file_path":"a","content":""}`, &judge.WriteInput{FilePath: "a"}},
		{"Write", `{"content":"\u0000\u001b","file_path":"~"}`, &judge.WriteInput{FilePath: "~", Content: "\x00\x1b"}},
		{"Edit", `{"file_path":"a","old_string":"x","new_string":"","replace_all":true}`, &judge.EditInput{FilePath: "a", OldString: "x", ReplaceAll: true}},
		{"Bash", `{"command":"a\n\tb","timeout":600000,"description":"d","run_in_background":true}`, &judge.BashInput{Command: "a\n\tb", Description: "d", Timeout: number(600000), RunInBackground: true}},
		{"Grep", `{"pattern":"x","-n":true,"-C":2,"context":3,"-i":true,"type":"go","head_limit":0}`, nil},
		{"Glob", `{"pattern":"**/*.{ts,tsx}","path":"src"}`, &judge.GlobInput{Pattern: "**/*.{ts,tsx}", Path: "src"}},
		{"BashOutput", `{"bash_id":"b1","filter":"x"}`, &judge.BashOutputInput{BashID: "b1", Filter: "x"}},
		{"KillShell", `{"shell_id":"b1"}`, &judge.KillShellInput{ShellID: "b1"}},
	} {
		got, err := judge.Decode(c.tool, []byte(c.args))
		if err != nil {
			t.Errorf("%s %s: %v", c.tool, c.args, err)
			continue
		}
		if g, ok := got.(*judge.GrepInput); ok {
			if *g.Context != 2 || !*g.LineNumbers || yes != g.IgnoreCase || g.Type != "go" || *g.HeadLimit != 0 || g.Offset != nil {
				t.Errorf("Grep: %+v", g)
			}
			continue
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: got %+v, want %+v", c.tool, c.args, got, c.want)
		}
	}
	got, err := judge.Decode("Grep", []byte(`{"pattern":"x","context":3}`))
	if err != nil || *got.(*judge.GrepInput).Context != 3 {
		t.Errorf("context alone: %+v, %v", got, err)
	}
}

// TestDecodeRefuses: each with words that help, and none that repeat a value.
func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ tool, args, why string }{
		{"read", `{"file_path":"a"}`, "no such tool"},
		{"", `{}`, "no such tool"},
		{"mcp__x__Read", `{"file_path":"a"}`, "no such tool"},
		{"Read", ``, "one JSON object"},
		{"Read", `[]`, "one JSON object"},
		{"Read", `"secret"`, "one JSON object"},
		{"Read", `{"file_path":"secret"`, "no valid JSON"},
		{"Read", `{"file_path":"secret"} {}`, "behind"},
		{"Read", `{"file_path":"secret",}`, "no valid JSON"},
		{"Read", `{"file_path":"secret","file_path":"b"}`, "twice"},
		{"Read", `{"file_path":"secret","f\u0069le_path":"b"}`, "twice"},
		{"Read", "{\"file_path\":\"secret\xff\"}", "no valid JSON"},
		{"Read", `{"file_path":"secret\ud800"}`, "no valid JSON"},
		{"Read", `{"path":"secret"}`, "file_path"},
		{"Read", `{"File_Path":"secret"}`, "did you mean file_path?"},
		{"Read", `{"file_path":"secret","zzz":1}`, "its keys are file_path, offset, limit"},
		{"Read", `{}`, "file_path is missing"},
		{"Read", `{"file_path":"secret","offset":-1}`, "offset must be a whole number from 0"},
		{"Edit", `{"file_path":"secret","old_string":"","new_string":"x"}`, "old_string must not be empty"},
		{"Bash", `{"command":"secret","timeout":600001}`, "from 1 to 600000"},
		{"Grep", `{"pattern":"secret","output_mode":"lines"}`, `"content", "files_with_matches", "count"`},
		{"Glob", `{"pattern":"secret/../x"}`, "further up"},
	} {
		in, err := judge.Decode(c.tool, []byte(c.args))
		if err == nil || in != nil {
			t.Errorf("%s %s is taken", c.tool, c.args)
			continue
		}
		if !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s %s: %v, want %q and no value", c.tool, c.args, err, c.why)
		}
	}
	huge := `{"file_path":"a","content":"` + strings.Repeat("x", judge.MaxArguments) + `"}`
	if _, err := judge.Decode("Write", []byte(huge)); err == nil {
		t.Error("huge arguments are taken")
	}
}

// FuzzDecode: nothing panics, and what is taken is what a strict reader reads.
func FuzzDecode(f *testing.F) {
	for _, d := range judge.Definitions() {
		f.Add(d.Name, []byte(`{"file_path":"a","command":"ls","pattern":"x"}`))
	}
	f.Add("Read", []byte(`{"file_path":"a","offset":1e400}`))
	f.Add("Read", []byte(`{"file_path":"a","offset":0.000000000000000000001e21}`))
	f.Fuzz(func(t *testing.T, tool string, args []byte) {
		in, err := judge.Decode(tool, args)
		if (in == nil) == (err == nil) {
			t.Fatalf("both or none: %v, %v", in, err)
		}
		if err != nil {
			return
		}
		var object map[string]any
		if err := json.Unmarshal(args, &object); err != nil {
			t.Fatalf("taken, and no JSON: %v", err)
		}
		if r, ok := in.(*judge.ReadInput); ok && r.FilePath != object["file_path"] {
			t.Fatalf("%q was read as %q", object["file_path"], r.FilePath)
		}
	})
}

// A hook may be for every tool that there is.
func TestHooksKnowTheTools(t *testing.T) {
	s := &settings.Settings{}
	for _, d := range judge.Definitions() {
		s.Hooks = append(s.Hooks, settings.Hook{Matcher: d.Name})
	}
	if c := s.MatcherCautions(); c != nil {
		t.Error(c)
	}
}
