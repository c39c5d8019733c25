package upstream

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// The test binary is also a server that misbehaves: FAKE names how.
func TestMain(m *testing.M) {
	if how := os.Getenv("FAKE"); how != "" {
		fake(how)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type fakeServer struct {
	how string
	mu  sync.Mutex
	out *os.File

	lists int
}

func (f *fakeServer) send(message []byte) { f.print(string(message) + "\n") }

func (f *fakeServer) print(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.out.WriteString(text)
}

// unreadable are entries of a listing that can't be read, of which three have a name.
const unreadable = `{"name":"twice","x":1,"x":2},{"name":"latin","description":"` + "\xe9" + `"},{"name":"half","description":"\ud800"},{"name":"a","name":"b"},{"name":"\ud800"},nil`

const fakeTools = `{"name":"echo","inputSchema":{"type":"object"}},{"name":"slow","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}},{"name":"huge","inputSchema":{"type":"object"}},{"name":"garble","inputSchema":{"type":"object"}},{"name":"announce","inputSchema":{"type":"object"}}`

func fake(how string) {
	f := &fakeServer{how: how, out: os.Stdout}
	note("started " + strconv.Itoa(os.Getpid()))
	switch how {
	case "parent":
		runParent()
		return
	case "sdk":
		runSDK()
		return
	case "exit":
		fmt.Fprintln(os.Stderr, "reading the configuration")
		fmt.Fprintf(os.Stderr, "\x1b[31mfatal: %s was not accepted\x1b[0m\n", os.Getenv("OWN_TOKEN"))
		os.Exit(3)
	case "yes":
		for {
			f.print("y\n")
		}
	case "greets":
		f.print("Welcome!\n\n{\"level\":\"info\"}\n[1]\n\xff\xfe\n" + strings.Repeat("x", 100_000) + "\n")
	case "child":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		time.Sleep(time.Minute)
		os.Exit(0)
	case "doublefork", "leader":
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "FAKE=child")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr // it holds the pipes open
		if child.Start() != nil {
			os.Exit(9)
		}
		if how == "leader" {
			os.Exit(4)
		}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		defer time.Sleep(time.Minute) // after its stdin was closed
	case "loud":
		line := strings.Repeat("All work and no play makes a dull server. ", 30) + "\n"
		for range 24 << 20 / len(line) {
			os.Stderr.WriteString(line)
		}
		fmt.Fprintln(os.Stderr, strings.Repeat("z", 1<<20), "unended")
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if m, err := wire.Parse(line); err == nil {
			f.take(m)
		}
	}
}

// note writes down what happened where the test can read it.
func note(what string) {
	if file, err := os.OpenFile(os.Getenv("NOTES"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
		_, _ = file.WriteString(what + "\n")
		file.Close()
	}
}

func (f *fakeServer) take(m wire.Message) {
	switch m.Method {
	case "initialize":
		switch f.how {
		case "silent":
		case "refuse":
			f.send(wire.NewError(m.ID, -32000, "not for \x1b[1myou", nil))
		case "echo": // its key, in disguise
			key := os.Getenv("OWN_TOKEN")
			fmt.Fprintln(os.Stderr, "key", key, key[:5]+"\u200b"+key[5:])
			f.print("stdout " + strings.Repeat("x", 240) + key + "\n")
			f.send(wire.NewResult(m.ID, []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"name `+key+`","version":"`+key[:6]+"\u200b"+key[6:]+`"}}`)))
		case "old":
			f.send(wire.NewResult(m.ID, []byte(`{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"f","version":"1"}}`)))
		default:
			f.send(wire.NewResult(m.ID, []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fa\u0007ke","version":"1.2"}}`)))
		}
	case "notifications/initialized":
		if f.how == "storm" {
			for range 20_000 {
				f.send(wire.NewNotification("notifications/tools/list_changed", nil))
			}
		}
	case "notifications/cancelled":
		note("cancelled " + string(m.Params))
	case "tools/list":
		f.list(m)
	case "tools/call":
		f.call(m)
	}
}

func (f *fakeServer) list(m wire.Message) {
	page := func(tools, cursor string) {
		if cursor != "" {
			cursor = `,"nextCursor":"` + cursor + `"`
		}
		f.send(wire.NewResult(m.ID, []byte(`{"tools":[`+tools+`]`+cursor+`}`)))
	}
	first := !strings.Contains(string(m.Params), "cursor")
	note("list")
	switch f.how {
	case "endless":
		page("", strconv.FormatInt(time.Now().UnixNano(), 36))
	case "fat": // nothing, with a lot around it
		f.send(wire.NewResult(m.ID, []byte(`{"tools":[],"_meta":{"x":"`+strings.Repeat("x", 12<<20)+`"},"nextCursor":"`+strconv.FormatInt(time.Now().UnixNano(), 36)+`"}`)))
	case "longcursor":
		page("", strconv.FormatInt(time.Now().UnixNano(), 36)+strings.Repeat("c", 5000))
	case "values":
		var tools []string
		for i := range 11 {
			tools = append(tools, fmt.Sprintf(`{"name":"%x%d","x":[%s0]}`, m.Params, i, strings.Repeat("0,", 200_000)))
		}
		page(strings.Join(tools, ","), strconv.FormatInt(time.Now().UnixNano(), 36))
	case "unreadable":
		page(`{"name":"good"},`+unreadable+`,{"name":"last"}`, "")
	case "fickle": // each second listing fails
		if f.lists++; f.lists%2 == 0 {
			f.send(wire.NewError(m.ID, -32603, "out of \x1b[1morder "+os.Getenv("OWN_TOKEN"), nil))
			return
		}
		page(fakeTools, "")
	case "circle":
		page("", "again")
	case "many":
		var tools []string
		for i := range 2000 {
			tools = append(tools, fmt.Sprintf(`{"name":"t%x%d"}`, m.Params, i))
		}
		page(strings.Join(tools, ","), strconv.FormatInt(time.Now().UnixNano(), 36))
	case "twice":
		page(`{"name":"a"},{"name":"b"},{"n\u0061me":"\u0061"}`, "")
	case "nameless":
		page(`{"name":"a"},{"title":"b"},7,{"name":""},{"name":3},{"name":"x\u0000"},{"name":"`+strings.Repeat("l", 300)+`"},{"Name":"z"},{"name":"é ß"}`, "")
	case "halfway":
		if first {
			page(`{"name":"a"}`, "next")
			return
		}
		f.send(wire.NewError(m.ID, -32603, "no more", nil))
	case "cut":
		if first {
			page(`{"name":"a"}`, "next")
			return
		}
		os.Exit(5)
	case "notools":
		f.send(wire.NewResult(m.ID, []byte(`{"tools":{}}`)))
	case "restless":
		f.send(wire.NewNotification("notifications/tools/list_changed", nil))
		page(fakeTools, "")
	case "pages":
		if first {
			page(`{"name":"a", "x":1.0}`, `c \"1\"`)
			return
		}
		page(`{ "name" : "b" , "x":9007199254740993 }`, "")
	case "mute":
	default:
		page(fakeTools, "")
	}
}

func (f *fakeServer) call(m wire.Message) {
	note("call " + string(m.Params))
	span, _ := wire.Find(m.Params, "name")
	name, _ := wire.Text(m.Params[span.Start:span.End])
	switch name {
	case "slow": // for ever
	case "die":
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
	case "huge":
		f.send(wire.NewResult(m.ID, []byte(`{"content":"`+strings.Repeat("x", wire.DefaultMaxMessage)+`"}`)))
	case "garble":
		f.send([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"a":1,"a":2}}`))
	case "announce":
		f.send(wire.NewNotification("notifications/tools/list_changed", nil))
		f.send(wire.NewResult(m.ID, nil))
	default:
		f.send(wire.NewNotification("notifications/progress", []byte(`{"progressToken":`+string(m.ID)+`,"progress":1}`)))
		f.send(wire.NewResult(m.ID, []byte(`{ "content":[], "n":1.0, "params":`+string(m.Params)+`}`)))
	}
}
