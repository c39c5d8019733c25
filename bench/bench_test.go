package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the parts that a run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && parts[os.Args[1]] != nil {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestFloorsAnswerAlike runs everything but Holdfast, with few calls: a run fails
// when a floor gives another result than a direct call.
func TestFloorsAnswerAlike(t *testing.T) {
	p := plan{
		holdfast: floors, rounds: 1, concurrent: 8, effort: 0.01,
		transports: []string{"http", "stdio"}, payloads: []int{200},
	}
	cases, err := compareAll(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 2 {
		t.Fatalf("%d cases, want 2", len(cases))
	}
	for _, c := range cases {
		if len(c.figures) != 4 {
			t.Fatalf("%s, %d: %d targets, want 4", c.transport, c.payload, len(c.figures))
		}
		for i, f := range c.figures {
			if f.p50 <= 0 || f.p99 < f.p50 || f.rate <= 0 || f.calls == 0 {
				t.Errorf("%s, %d: %+v", c.transport, c.payload, f)
			}
			if i == direct && f.direct != (ratios{1, 1, 1}) || i == forwarder && f.forward != (ratios{1, 1, 1}) ||
				(f.record == ratios{1, 1, 1}) != (i == recorder) {
				t.Errorf("%s is not the measure of itself: %+v", f.name, f)
			}
		}
	}
}

func TestARunSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-holdfast", filepath.Join("no", "binary")}, "make build"},
		{[]string{"-holdfast", floors, "-transport", "sse"}, `no transport "sse"`},
		{[]string{"-holdfast", floors, "everything"}, `"everything" is no part`},
		{[]string{"forward"}, "either -url or the command"},
		{[]string{"bytes", "-url", "http://127.0.0.1:1/mcp"}, "HTTP on to HTTP"},
		{[]string{"echo", "-http", "0.0.0.0:0"}, "no loopback address"},
	} {
		if err := run(t.Context(), c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}

func TestEnvelopeReadsStrictly(t *testing.T) {
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"method":"x"}}`: "tools/call",
		`{"result":{"a":[1,2]},"id":1}`:                                          "",
		`{"method":"a","method":"b"}`:                                            "error",
		`{"params":{"a":1,"a":2}}`:                                               "error",
		`{"method":1`:                                                            "error",
		`[]`:                                                                     "error",
	} {
		got, err := envelope([]byte(text))
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestLongLinesPassWhole(t *testing.T) {
	text := `{"id":1,"result":"` + words(lineBuffer) + "\"}\n" + `{"id":2,"result":{}}` + "\n"
	var got strings.Builder
	if err := passLines(&got, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if got.String() != text {
		t.Errorf("%d bytes came through of %d", got.Len(), len(text))
	}
}

func TestAnswerID(t *testing.T) {
	long := strings.Repeat("x", 500)
	for text, want := range map[string]int64{
		`{"jsonrpc":"2.0","id":12,"result":{}}`:                           12,
		`{"jsonrpc":"2.0","id": 7,"result":"` + long + `"}`:               7,
		`{"jsonrpc":"2.0","result":"` + long + `","id":34}`:               34,
		`{"a":"` + long + `","id":5,"b":"` + long + `"}`:                  5,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{} }`: 0,
	} {
		if got := answerID([]byte(text)); got != want {
			t.Errorf("%.60s…: %d, want %d", text, got, want)
		}
	}
}

func TestLastEvent(t *testing.T) {
	got, err := lastEvent([]byte("event: message\ndata: {\"a\":1}\n\nid: 2\ndata: {\"b\":2}\n\n"))
	if err != nil || string(got) != `{"b":2}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := lastEvent([]byte(": ping\n\n")); err == nil {
		t.Error("a stream without data passes")
	}
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	of := func(ds ...int) sample {
		var b block
		for _, d := range ds {
			b.latencies = append(b.latencies, time.Duration(d))
			b.wall += time.Duration(d)
		}
		slices.Sort(b.latencies)
		return sample{b, b}
	}
	// The machine is ten times slower in the second round; the ratio stays.
	got := ofRounds([]sample{of(20, 20, 40), of(200, 200, 400), of(20, 20, 40)}, []sample{of(10, 10, 10), of(100, 100, 100), of(10, 10, 10)})
	if got.p50 != 2 || got.p99 != 4 || math.Abs(got.rate-0.375) > 1e-9 {
		t.Errorf("%+v", got)
	}
	if got := median([]float64{3, 1, 2, 10}); got != 2.5 {
		t.Errorf("median %v", got)
	}
}

func TestWritePageLeavesTheTextAlone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := []outcome{{transport: "http", payload: 200, figures: []figures{{name: "direct", p50: 1500 * time.Microsecond, rss: 12_345_678}}}}
	write("# Title\n" + string(begin) + "old\n" + string(end) + "After.\n")
	if err := writePage(name, plan{rounds: 3, concurrent: 16}, cases); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(got, []byte("# Title\n")) || !bytes.HasSuffix(got, []byte("After.\n")) || bytes.Contains(got, []byte("old")) {
		t.Errorf("the text changed:\n%s", got)
	}
	if !bytes.Contains(got, []byte("### HTTP, 200 B")) || !bytes.Contains(got, []byte("| direct | 1.50 ms |")) || !bytes.Contains(got, []byte("12 MB")) {
		t.Errorf("figures are missing:\n%s", got)
	}
	write("# Title\n")
	if err := writePage(name, plan{}, cases); err == nil {
		t.Error("a page without the marks is written")
	}
}
