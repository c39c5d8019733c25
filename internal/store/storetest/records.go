package storetest

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
)

func startsEmpty(t *testing.T, open Open) {
	b := start(t, open)
	v, servers, records, err := b.Load(b.ctx)
	b.must(err)
	if !reflect.DeepEqual(v, approval.Settings{}) || len(servers)+len(records) > 0 {
		t.Errorf("a new store has %+v, %v, %v", v, servers, records)
	}
	if s := b.state("mail"); !reflect.DeepEqual(s, approval.State{}) {
		t.Errorf("a new store has a server: %+v", s)
	}
	if list, err := b.Tokens(b.ctx); err != nil || len(list) > 0 {
		t.Errorf("a new store has tokens: %v, %v", list, err)
	}
	if v, err := b.DataVersion(b.ctx); err != nil || v < 1 {
		t.Errorf("a new store has no version of its defaults: %d, %v", v, err)
	}
	if at, err := b.DefaultsSince(b.ctx); err != nil || !at.IsZero() {
		t.Errorf("a new store was raised to its defaults at %s, %v", at, err)
	}
	b.verifies(0)
	raised := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	b.must(b.SetDataVersion(b.ctx, 6, raised.Add(-time.Hour)))
	b.must(b.SetDataVersion(b.ctx, 7, raised))
	b.again(nil)
	if at, err := b.DefaultsSince(b.ctx); err != nil || !at.Equal(raised) {
		t.Errorf("raised at %s, %v", at, err)
	}
	if v, err := b.DataVersion(b.ctx); err != nil || v != 7 {
		t.Errorf("the version of the defaults is %d, %v", v, err)
	}
}

// fill stores something of everything.
func fill(b *bench) {
	b.t.Helper()
	b.must(b.PutSettings(b.ctx, settings, []record.Entry{settingsEntry(settings.ID)}))
	for _, name := range []string{"mail", "github"} {
		b.must(b.Commit(b.ctx, adding(b.state(name), name, "i-"+name)))
		b.must(b.Commit(b.ctx, seeing(b.state(name), "z", "send", odd)))
	}
	s := b.state("mail")
	b.must(b.Commit(b.ctx, approving(s, s.Records[0], s.Records[1])))
	s = b.state("mail")
	b.must(b.Commit(b.ctx, changing(s, 2, s.Records[1])))
	s = b.state("mail")
	b.must(b.Commit(b.ctx, blocking(s, s.Records[2])))

	// What a contract may be, and a record of each other kind.
	s = b.state("github")
	c := approval.Change{SettingsID: s.Settings.ID, Name: "github", Made: s.Server.Version}
	for i, raw := range [][]byte{[]byte(`{"name":"a"}`), []byte("{\"name\":\"\xff\"}"), []byte(" "), bytes.Repeat([]byte("x"), contract.MaxBytes+1)} {
		r := approval.Record{
			Key:  approval.Key{Server: "github", Kind: []approval.Kind{approval.Prompt, approval.Template, approval.Instructions, approval.Tool}[i], Name: fmt.Sprint("k", i)},
			Live: contract.Parse(raw), Status: approval.Pending, Absent: i%2 == 0, Declined: tool("x", i).Digest(),
		}
		c.Records = append(c.Records, r)
		c.Entries = append(c.Entries, transition(r, "i-github", "none", "first_seen", contract.Contract{}, r.Live))
	}
	b.must(b.Commit(b.ctx, c))
	b.must(b.CreateToken(b.ctx, token("t1", "ci"), tokenEntry("token_created", "ci")))
	b.must(b.PutReport(b.ctx, "mail", approval.Report{Incarnation: "i-mail", Time: noon, Tools: []approval.ReportedTool{{Kind: approval.Tool, Name: odd, Digest: "d", Complete: true, Hard: true}}}))
}

// everything is all that a store can be asked.
func everything(b *bench) []any {
	b.t.Helper()
	v, servers, records, err := b.Load(b.ctx)
	b.must(err)
	list, err := b.Tokens(b.ctx)
	b.must(err)
	report, err := b.Report(b.ctx, "mail")
	b.must(err)
	return []any{v, servers, records, b.state("mail"), b.state("github"), list, report, b.entries()}
}

func restart(t *testing.T, open Open) {
	b := start(t, open)
	fill(b)
	before := everything(b)
	b.again(nil)
	after := everything(b)
	for i := range before {
		if !reflect.DeepEqual(before[i], after[i]) {
			t.Errorf("after a restart\n%+v\nis\n%+v", before[i], after[i])
		}
	}
	v, servers, records, err := b.Load(b.ctx)
	b.must(err)
	if !reflect.DeepEqual(v, settings) {
		t.Errorf("the settings are %+v", v)
	}
	want := adding(approval.State{}, "mail", "i-mail").Server
	want.Version = servers[0].Version
	if len(servers) != 2 || !reflect.DeepEqual(servers[0], *want) {
		t.Errorf("the server is\n%+v, stored was\n%+v", servers[0], *want)
	}
	s := b.state("mail")
	if !reflect.DeepEqual(s.Settings, v) || !reflect.DeepEqual(s.Server, servers[0]) || !reflect.DeepEqual(s.Records, records[:3]) {
		t.Errorf("a state is not what was loaded: %+v", s)
	}
	names := ""
	for _, r := range records {
		names += r.Key.Server + "/" + r.Key.Name + " "
	}
	if want := strings.Join([]string{"mail/z", "mail/send", "mail/" + odd, "github/z", "github/send", "github/" + odd, "github/k0", "github/k1", "github/k2", "github/k3 "}, " "); names != want {
		t.Errorf("the order is %q", names)
	}
	wantRecord := seeing(approval.State{Server: *want}, "send").Records[0]
	wantRecord.Key.Server = "github"
	wantRecord.Version = 1
	if got := records[4]; !reflect.DeepEqual(got, wantRecord) {
		t.Errorf("the record is\n%+v, stored was\n%+v", got, wantRecord)
	}
	b.verifies(len(b.entries()))
}

// everyField stores values in which no field is zero, so that a field which the law
// gets later can't be forgotten here.
func everyField(t *testing.T, open Open) {
	b := start(t, open)
	v := approval.Settings{}
	fillIn(reflect.ValueOf(&v).Elem())
	b.must(b.PutSettings(b.ctx, v, nil))
	srv := approval.Server{}
	fillIn(reflect.ValueOf(&srv).Elem())
	srv.Version = 1
	b.must(b.Commit(b.ctx, approval.Change{SettingsID: v.ID, Name: srv.Name, Server: &srv}))
	r := approval.Record{}
	fillIn(reflect.ValueOf(&r).Elem())
	r.Key.Server, r.Version = srv.Name, 0
	r.Approved, r.Anchor, r.Live = tool("a", 1), tool("a", 2), tool("a", 3)
	b.must(b.Commit(b.ctx, approval.Change{
		SettingsID: v.ID, Name: srv.Name, Made: 1, Records: []approval.Record{r},
		Entries: []record.Entry{transition(r, "i", "none", "held", r.Approved, r.Live)},
	}))
	report := approval.Report{}
	fillIn(reflect.ValueOf(&report).Elem())
	b.must(b.PutReport(b.ctx, srv.Name, report))
	tok := dispatch.Token{}
	fillIn(reflect.ValueOf(&tok).Elem())
	b.must(b.CreateToken(b.ctx, tok, tokenEntry("token_created", tok.Name)))
	b.again(nil)
	r.Version = 1
	s := b.state(srv.Name)
	list, err := b.Tokens(b.ctx)
	b.must(err)
	back, err := b.Report(b.ctx, srv.Name)
	b.must(err)
	for _, pair := range [][2]any{{s.Settings, v}, {s.Server, srv}, {s.Records, []approval.Record{r}}, {list, []dispatch.Token{tok}}, {back, &report}} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("stored was\n%+v, and came back as\n%+v", pair[1], pair[0])
		}
	}
}

// fillIn gives every exported field of v, down to the last, a value that is not zero.
func fillIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("text")
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8:
		v.SetUint(2)
	case reflect.Array:
		for i := range v.Len() {
			fillIn(v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillIn(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillIn(key)
		fillIn(value)
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillIn(v.Elem())
	case reflect.Struct:
		switch v.Interface().(type) {
		case time.Time:
			v.Set(reflect.ValueOf(noon))
			return
		case contract.Contract:
			return
		}
		for i := range v.NumField() {
			fillIn(v.Field(i))
		}
	default:
		panic("a stored value has a field of a kind that this test does not know: " + v.Kind().String())
	}
}
