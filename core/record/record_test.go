package record

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

var update = flag.Bool("update", false, "write the golden file anew: only for a format that was never released")

var noon = time.Date(2026, 3, 4, 12, 0, 0, 123456789, time.FixedZone("", 3600))

// samples has every type of entry, every member, and odd texts.
func samples() []Entry {
	approved := contract.Parse([]byte(`{"name":"send","inputSchema":{"type":"object"}}`))
	live := contract.Parse([]byte(`{"name":"send","description":"\"now\" with bcc\n","inputSchema":{"type":"object"}}`))
	odd := []byte("{\"name\":\"\xff\"")
	unreadable, err := contract.Restore(odd, contract.Parse(odd).Digest(), "it is no valid JSON") // the words of a problem may change
	if err != nil {
		panic(err)
	}
	find := Finding{Check: "hidden-text", Tier: "hard", Path: "/description", Evidence: "a\u202eb", Start: 3, End: 9}
	head := func(t Type, kind ActorKind, name string) Entry {
		return Entry{Time: noon, Type: t, Actor: Actor{Kind: kind, Name: name}, Server: "mail", Incarnation: "i-1", Kind: "tool", Name: "send"}
	}
	held := head(TypeTransition, Holdfast, "")
	held.RequestID, held.SettingsID = "req-1", "s-1"
	held.Transition = &Transition{
		From: "approved", To: "changed", Reason: "held", Old: Snapshot{Contract: approved}, New: Snapshot{Contract: live},
		Signals: []string{"GATE-FIELD:description"}, Verdict: "dangerous", Complete: true, Findings: []Finding{find, {}}, Bundle: "b-7",
		Accepted: []Finding{{Check: "soft", Tier: "soft"}}, Detail: map[string]string{"z": "1", "a": "2", "": "0"}, State: [32]byte{1, 31: 2},
	}
	first := head(TypeTransition, Holdfast, "")
	first.Transition = &Transition{From: "none", To: "pending", Reason: "first_seen", New: Snapshot{Contract: unreadable}}
	tooLarge := head(TypeTransition, Holdfast, "")
	tooLarge.Transition = &Transition{From: "none", To: "pending", Reason: "first_seen", New: Snapshot{Ref: Ref{Digest: "sha256:" + contract.Digest(strings.Repeat("ab", 32)), Problem: "it is too large"}}}
	added := head(TypeServer, Person, "anna \"the\" admin\x00")
	added.Act = &Act{What: "added", Detail: map[string]string{"file": "caf\xe9.json", "base64": "plain"}}
	settings, token, pass := head(TypeSettings, Operator, "/etc/holdfast.json"), head(TypeToken, Person, ""), head(TypePass, Nobody, "\xff\xfe")
	settings.Act, token.Act, pass.Act = &Act{What: "gate_off"}, &Act{What: "token_created"}, &Act{}
	intent, outcome, refusal := head(TypeIntent, Agent, "ci"), head(TypeOutcome, Agent, "ci"), head(TypeRefusal, Agent, "ci")
	intent.Call = &Call{ID: "c1", Caller: "ci", Face: "direct", Class: "write", Approved: approved.Digest(), Live: live.Digest(), ArgsSHA256: "ab", ArgsBytes: 12}
	outcome.Call = &Call{ID: "c1", Outcome: "ok", ResultBytes: 1 << 40, Duration: 1500 * time.Millisecond}
	refusal.Call = &Call{ID: "c2", Refused: "tool_changed", Reasons: []string{"tool_changed", "server_disabled"}}
	ruled := head(TypeRefusal, Agent, "local")
	ruled.Call = &Call{ID: "c3", Refused: "refused_by_rules", Reasons: []string{"refused_by_rules", "by_rules"}, Rule: "Bash(rm *)", RuleAt: "user, /owner/settings.json line 4"}
	return []Entry{held, first, tooLarge, added, settings, token, pass, intent, outcome, refusal, ruled}
}

// asRead is e as it comes back: contracts as Ref, time in UTC to the microsecond.
func asRead(e Entry) Entry {
	e.Time = e.Time.UTC().Truncate(time.Microsecond)
	if e.Transition != nil {
		t := *e.Transition
		t.Old, t.New = Snapshot{Ref: t.Old.Reference()}, Snapshot{Ref: t.New.Reference()}
		e.Transition = &t
	}
	return e
}

// chained gives the samples their places in a chain.
func chained(t testing.TB, entries []Entry) []Entry {
	t.Helper()
	var prev [32]byte
	for i := range entries {
		b, err := Encode(entries[i])
		if err != nil {
			t.Fatal(err)
		}
		entries[i].Seq, entries[i].Prev = int64(i+1), prev
		entries[i].Hash = Link(prev, int64(i+1), b)
		prev = entries[i].Hash
	}
	return entries
}

// TestGolden pins the exact bytes: entries that were written must verify for ever.
func TestGolden(t *testing.T) {
	var b bytes.Buffer
	for _, e := range chained(t, samples()) {
		body, _ := Encode(e)
		line, err := AppendJSON(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n%x\n%s\n\n", body, e.Hash, line)
	}
	const file = "testdata/entries.golden"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("entries are encoded otherwise than those that were written:\n%s", b.Bytes())
	}
}

func TestDecodeGivesBackWhatWasEncoded(t *testing.T) {
	for _, e := range samples() {
		b, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if want := asRead(e); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", b, got, want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	act := &Act{What: "added"}
	for name, e := range map[string]Entry{
		"the zero entry":        {},
		"no such type":          {Type: "server.added", Act: act},
		"without its part":      {Type: TypeTransition},
		"with another part":     {Type: TypeIntent, Act: act},
		"with two parts":        {Type: TypeServer, Act: act, Call: &Call{}},
		"act without part":      {Type: TypeToken, Call: &Call{}},
		"a far time":            {Type: TypeServer, Act: act, Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"an early time":         {Type: TypeServer, Act: act, Time: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
		"an odd name of detail": {Type: TypeServer, Act: &Act{Detail: map[string]string{"\xff": ""}}},
	} {
		if b, err := Encode(e); err == nil {
			t.Errorf("%s: encoded as %s", name, b)
		}
		if b, err := AppendJSON([]byte("x"), e); err == nil || string(b) != "x" {
			t.Errorf("%s: %s, %v", name, b, err)
		}
		if err := Check(e); err == nil {
			t.Errorf("%s: checks", name)
		}
		if _, err := json.Marshal(e); err == nil {
			t.Errorf("%s: is marshalled", name)
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	const ok = `{"time":"2026-03-04T11:00:00.123456Z","type":"server","actor":{"kind":"person"},"act":{"what":"added"}}`
	if _, err := Decode([]byte(ok)); err != nil {
		t.Fatal(err)
	}
	in := func(old, replacement string) string { return strings.Replace(ok, old, replacement, 1) }
	transition := func(members string) string {
		return in(`"server"`, `"transition"`)[:strings.Index(in(`"server"`, `"transition"`), `"act":`)] + `"transition":{` + members + `}}`
	}
	call := func(members string) string {
		return in(`"server"`, `"call.intent"`)[:strings.Index(in(`"server"`, `"call.intent"`), `"act":`)] + `"call":{` + members + `}}`
	}
	for _, good := range []string{transition(`"from":"none"`), call(`"id":"1"`)} {
		if _, err := Decode([]byte(good)); err != nil {
			t.Fatalf("%s: %v", good, err)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "no object": "[]", "cut off": ok[:len(ok)-1], "a tail": ok + " ", "another": ok + ok,
		"space": in(`{`, `{ `), "order": in(`"type":"server","actor":{"kind":"person"}`, `"actor":{"kind":"person"},"type":"server"`),
		"twice": in(`"type":"server"`, `"type":"server","type":"server"`), "spelling": in(`"added"`, `"\u0061dded"`),
		"empty member": in(`"added"`, `"added","detail":{}`), "unknown": in(`"act"`, `"x":1,"act"`),
		"unknown of actor": in(`"kind"`, `"x"`), "unknown of act": in(`"what"`, `"x"`), "no text": in(`"added"`, `1`),
		"bad time": in(`2026`, `twenty`), "short time": in(`.123456Z`, `Z`), "bad utf8": in(`added`, "\xff"),
		"base64 of utf8": in(`"added"`, `{"base64":"YQ=="}`), "bad base64": in(`"added"`, `{"base64":"?"}`), "other form": in(`"added"`, `{"hex":"00"}`),
		"unknown of transition": transition(`"x":1`), "unknown of ref": transition(`"new":{"x":1}`), "unknown of finding": transition(`"findings":[{"x":1}]`),
		"bad hash": transition(`"state":"00"`), "no hash": transition(`"state":"` + strings.Repeat("x", 64) + `"`), "no flag": transition(`"complete":1`),
		"false": transition(`"complete":false`), "a list cut off": transition(`"signals":["a"`)[:100], "no list": transition(`"signals":{}`),
		"unknown of call": call(`"x":1`), "no whole number": call(`"args_bytes":1.5`), "a large number": call(`"args_bytes":9223372036854775808`), "number as text": call(`"args_bytes":"1"`),
		"no such type": in(`"server"`, `"x"`),
	} {
		if e, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s: %s is read as %+v", name, text, e)
		}
	}
}

func TestLinkSeparatesItsParts(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, prev := range [][32]byte{{}, {1}, {31: 1}} {
		for _, seq := range []int64{0, 1, 256} {
			for _, body := range []string{"", "\x00", "a", "ab"} {
				name := fmt.Sprint(prev, seq, body)
				h := Link(prev, seq, []byte(body))
				if other, twice := seen[h]; twice {
					t.Errorf("%s and %s have one hash", name, other)
				}
				seen[h] = name
			}
		}
	}
}

func TestCheckFindsEveryChange(t *testing.T) {
	for _, e := range chained(t, samples()) {
		if err := Check(e); err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(*Entry){
			"seq":  func(e *Entry) { e.Seq++ },
			"prev": func(e *Entry) { e.Prev[5]++ },
			"hash": func(e *Entry) { e.Hash[0]++ },
			"time": func(e *Entry) { e.Time = e.Time.Add(time.Microsecond) },
			"name": func(e *Entry) { e.Name += " " },
			"who":  func(e *Entry) { e.Actor.Kind = Operator + "s" },
		} {
			changed := e
			change(&changed)
			if Check(changed) == nil {
				t.Errorf("entry %d with another %s checks", e.Seq, name)
			}
		}
	}
	if Check(Entry{Type: TypeServer, Act: &Act{}}) == nil {
		t.Error("an entry that was never committed checks")
	}
}

func TestJSONFormIsRead(t *testing.T) {
	for _, e := range chained(t, samples()) {
		line, err := AppendJSON(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		want := asRead(e)
		if e.Transition != nil {
			for _, s := range []struct{ from, to *Snapshot }{{&e.Transition.Old, &want.Transition.Old}, {&e.Transition.New, &want.Transition.New}} {
				s.to.Contract = s.from.Contract
				if ref := s.from.Ref; ref.Bytes == 0 && ref != (Ref{}) { // one that kept no bytes is whole without
					s.to.Contract, err = ref.Restore(nil)
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		through, err := json.Marshal(e) // escapes more
		if err != nil {
			t.Fatal(err)
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, line, "", "\t"); err != nil {
			t.Fatal(err)
		}
		for _, form := range [][]byte{line, through, pretty.Bytes()} {
			var got Entry
			if err := json.Unmarshal(form, &got); err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s\n got %+v\nwant %+v", form, got, want)
			}
			if err := Check(got); err != nil {
				t.Errorf("%s: %v", form, err)
			}
		}
	}
}

func TestParseJSONRefuses(t *testing.T) {
	held := chained(t, samples())[0]
	line, _ := AppendJSON(nil, held)
	for name, change := range map[string][2]string{
		"cut off":            {`"}`, `"`},
		"another contract":   {`"text":"{\"name\":\"send\",\"inputSchema`, `"text":"{\"name\":\"sent\",\"inputSchema`},
		"other bytes":        {`"text":"{\"name\":\"send\",\"inputSchema`, `"text":"{ \"name\":\"send\",\"inputSchema`},
		"unknown form":       {`"text":`, `"html":`},
		"unknown place":      {`"contracts":{"old"`, `"contracts":{"odd"`},
		"bad base64":         {`"text":`, `"base64":`},
		"unknown member":     {`"prev":`, `"perv":`},
		"seq is no number":   {`"seq":1`, `"seq":"1"`},
		"hash is no text":    {`"hash":"`, `"hash":5,"x":"`},
		"unreadable outside": {`{"seq"`, `"seq"`},
	} {
		text := strings.Replace(string(line), change[0], change[1], 1)
		if text == string(line) {
			t.Fatalf("%s: nothing was changed in %s", name, line)
		}
		if name == "cut off" {
			text = string(line[:len(line)-1])
		}
		if e, err := ParseJSON([]byte(text)); err == nil {
			t.Errorf("%s: %s is read as %+v", name, text, e)
		}
	}
}

func TestReference(t *testing.T) {
	c := contract.Parse([]byte(`{"name":"a"}`))
	ref := Snapshot{Contract: c}.Reference()
	if got := (Snapshot{Ref: ref}).Reference(); got != ref || ref.Bytes != 12 || ref.Digest != c.Digest() {
		t.Errorf("%+v", got)
	}
	if (Snapshot{}).Reference() != (Ref{}) {
		t.Error("no contract has a reference")
	}
	if back, err := ref.Restore(c.Raw()); err != nil || !back.Equal(c) {
		t.Error(err)
	}
	for name, raw := range map[string]string{"other": `{"name":"b"}`, "same meaning": `{"name": "a"}`, "none": ""} {
		if _, err := ref.Restore([]byte(raw)); err == nil {
			t.Errorf("%s: restored", name)
		}
	}
	if back, err := (Ref{}).Restore(nil); err != nil || !back.IsZero() {
		t.Errorf("%v %v", back, err)
	}
}

// drawEntry makes any entry that may be written.
func drawEntry(t *rapid.T) Entry {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	s := func(name string) string { return text.Draw(t, name) }
	texts := func(name string) []string { return rapid.SliceOfN(text, 0, 3).Draw(t, name) }
	detail := func() map[string]string { return rapid.MapOfN(rapid.String(), text, 0, 3).Draw(t, "detail") }
	number := func() int { return rapid.Int().Draw(t, "number") }
	findings := func() (list []Finding) {
		for range rapid.IntRange(0, 2).Draw(t, "findings") {
			list = append(list, Finding{Check: s("check"), Tier: s("tier"), Path: s("path"), Evidence: s("evidence"), Start: number(), End: number()})
		}
		return list
	}
	snapshot := func() Snapshot {
		if raw := s("raw"); raw != "" {
			return Snapshot{Contract: contract.Parse([]byte(raw))}
		}
		return Snapshot{}
	}
	types := []Type{TypeTransition, TypeServer, TypeSettings, TypeToken, TypeIntent, TypeOutcome, TypeRefusal, TypePass}
	e := Entry{
		Time: time.UnixMicro(rapid.Int64Range(-1<<50, 1<<53).Draw(t, "time")), Type: rapid.SampledFrom(types).Draw(t, "type"),
		Actor: Actor{Kind: ActorKind(s("kind")), Name: s("who")}, Server: s("server"), Incarnation: s("incarnation"),
		Kind: s("kind"), Name: s("name"), RequestID: s("request"), SettingsID: s("settings"),
	}
	switch e.Type {
	case TypeTransition:
		e.Transition = &Transition{
			From: s("from"), To: s("to"), Reason: s("reason"), Old: snapshot(), New: snapshot(), Signals: texts("signals"), Verdict: s("verdict"),
			Complete: rapid.Bool().Draw(t, "complete"), Findings: findings(), Bundle: s("bundle"), Accepted: findings(), Detail: detail(),
		}
		copy(e.Transition.State[:], rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "state"))
	case TypeIntent, TypeOutcome, TypeRefusal:
		e.Call = &Call{
			ID: s("id"), Caller: s("caller"), Face: s("face"), Class: s("class"), Approved: contract.Digest(s("approved")), Live: contract.Digest(s("live")),
			ArgsSHA256: s("args"), ArgsBytes: number(), Outcome: s("outcome"), ResultBytes: number(), Duration: time.Duration(number()), Refused: s("refused"), Reasons: texts("reasons"),
		}
	default:
		e.Act = &Act{What: s("what"), Detail: detail()}
	}
	return e
}

// TestEveryEntryComesBack: what is encoded is read back whole, in both forms, and
// two entries have one text only if they are one.
func TestEveryEntryComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntry(t)
		b, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if again, err := Encode(got); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%s\n%s", b, again)
		}
		e.Seq, e.Hash = 1, Link([32]byte{}, 1, b)
		line, err := AppendJSON(nil, e)
		if err != nil || bytes.ContainsRune(line, '\n') || !json.Valid(line) {
			t.Fatalf("%s: %v", line, err)
		}
		back, err := ParseJSON(line)
		if err != nil || Check(back) != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Transition != nil && (!bytes.Equal(back.Transition.New.Contract.Raw(), e.Transition.New.Contract.Raw())) {
			t.Fatalf("%s: another contract", line)
		}
		other := drawEntry(t)
		if o, err := Encode(other); err == nil && bytes.Equal(o, b) && fmt.Sprint(asRead(other)) != fmt.Sprint(got) {
			t.Fatalf("two entries are %s", b)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, e := range samples() {
		b, _ := Encode(e)
		f.Add(b)
		line, _ := AppendJSON(nil, e)
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := Decode(b); err == nil {
			if again, err := Encode(e); err != nil || !bytes.Equal(again, b) {
				t.Fatalf("%q is read, and written as %q: %v", b, again, err)
			}
		}
		if e, err := ParseJSON(b); err == nil {
			if _, err := AppendJSON(nil, e); err != nil && e.check() == nil {
				t.Fatal(err)
			}
		}
	})
}
