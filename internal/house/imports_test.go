package house

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// row says what one room may know. It is the import table of docs/architecture.md.
type row struct {
	room  string
	rooms []string // the rooms that it may import
	libs  []string // the third-party packages (or all below a path) that it may import
	tests []string // further rooms for its tests; "*" is every room but cmd
	why   string
}

// Groups of the table.
var (
	law      = []string{"core/contract", "core/delta", "core/scan", "core/record", "core/approval", "core/dispatch"}
	lawFault = append(slices.Clone(law), "internal/fault")
	lawWire  = append(slices.Clone(lawFault), "internal/wire")
)

// table has one row a room: a room without a row fails, and a row without a room.
var table = []row{
	{
		room: "core/contract",
		why:  "the innermost value: everything else speaks of contracts, so it may know nothing",
	},
	{
		room: "core/delta", rooms: []string{"core/contract"},
		why: "compares two contracts; who approved them is none of its business",
	},
	{
		room: "core/scan", rooms: []string{"core/contract"},
		why: "reads the texts of a contract; what follows from a verdict is decided elsewhere",
	},
	{
		room: "core/record", rooms: []string{"core/contract"},
		why: "what is written down must not change when the law does: it knows contracts and nothing else",
	},
	{
		room:  "core/approval",
		rooms: []string{"core/contract", "core/delta", "core/scan", "core/record"},
		why:   "the law of trust: it weighs signals and verdicts, and says what is written down",
	},
	{
		room:  "core/dispatch",
		rooms: []string{"core/contract", "core/delta", "core/scan", "core/record", "core/approval"},
		why:   "the gate reads what approval decided; nothing in the law may depend on the gate",
	},
	{
		room: "core/shell", libs: []string{"mvdan.cc/sh/v3/syntax"},
		why: "reads a command as rules see it; what a rule makes of it is decided elsewhere",
	},
	{
		room: "core/policy", rooms: []string{"core/shell"},
		why: "the law of the local workspace stands alone: it knows no contract of a server and no approval",
	},
	{
		room: "internal/fault",
		why:  "the only vocabulary that crosses rooms: if it knew a room, every room would",
	},
	{
		room: "internal/wire", rooms: []string{"internal/fault"},
		libs: []string{"golang.org/x/sync"},
		why:  "bytes and transports: it must not be able to decide anything about approvals",
	},
	{
		room: "internal/store", rooms: lawFault,
		libs:  []string{"modernc.org/sqlite", "golang.org/x/sync"},
		tests: []string{"*"},
		why:   "a driven room: keeps what the law decided, and knows no other room",
	},
	{
		room: "internal/upstream", rooms: lawWire,
		libs:  []string{"golang.org/x/sys", "golang.org/x/sync"},
		tests: []string{"*"},
		why:   "a driven room: speaks MCP to servers by the wire, and takes permits",
	},
	{
		room: "internal/config", rooms: lawFault,
		libs:  []string{"github.com/tailscale/hujson", "github.com/fsnotify/fsnotify", "golang.org/x/sys"},
		tests: []string{"*"},
		why:   "a driven room: files become values of the law and small structs",
	},
	{
		room: "internal/intake", rooms: lawFault, libs: []string{"golang.org/x/sync"},
		tests: []string{"*"},
		why:   "journey 1 declares the interfaces it needs, so that it can be read and tested without the world",
	},
	{
		room: "internal/call", rooms: lawFault,
		libs:  []string{"github.com/santhosh-tekuri/jsonschema/v6", "github.com/dlclark/regexp2"},
		tests: []string{"*"},
		why:   "journey 2 declares the interfaces it needs; the schema library belongs to its step 7",
	},
	{
		room: "internal/gateway", rooms: append(slices.Clone(lawWire), "internal/intake", "internal/call"),
		libs:  []string{"golang.org/x/sync", "modernc.org/sqlite"},
		tests: []string{"*"},
		why:   "a face: it knows the journeys and the wire, never the store or an upstream; SQLite is its search index, in memory",
	},
	{
		room: "internal/admin", rooms: append(slices.Clone(lawFault), "internal/intake", "internal/call"),
		libs:  []string{"github.com/danielgtaylor/huma/v2"},
		tests: []string{"*"},
		why:   "a face: it knows the journeys, never the store or an upstream",
	},
	{
		room: "internal/sandbox", rooms: []string{"internal/fault"},
		libs: []string{
			"github.com/elastic/go-seccomp-bpf", "github.com/landlock-lsm/go-landlock", "golang.org/x/net/bpf", "golang.org/x/sys",
		},
		tests: []string{"*"},
		why:   "confines a child; what it may reach is told by one value, and nobody asks here whether it should",
	},
	{
		room: "internal/workspace/settings", rooms: []string{"core/policy", "internal/fault"},
		libs:  []string{"github.com/tailscale/hujson", "go.yaml.in/yaml/v3", "golang.org/x/sys"},
		tests: []string{"*"},
		why:   "what the owner wrote becomes values of the law; it decides nothing itself",
	},
	{
		room: "internal/workspace/hooks", rooms: []string{"core/policy", "internal/fault", "internal/workspace/settings"},
		libs:  []string{"golang.org/x/sys"},
		tests: []string{"*"},
		why:   "runs the owner's programs around a call; they can tighten and nothing else",
	},
	{
		room: "internal/workspace/judge", rooms: []string{"core/policy", "internal/fault", "internal/workspace/settings", "internal/workspace/hooks"},
		tests: []string{"*"},
		why:   "the one way from bytes to a decision, for the server and for check: it runs nothing but hooks",
	},
	{
		room: "internal/workspace/ledger", rooms: []string{"core/policy", "internal/fault"},
		libs:  []string{"golang.org/x/sys"},
		tests: []string{"*"},
		why:   "keeps what was changed; it can write back only through what the workspace gives it",
	},
	{
		room: "internal/workspace/trail", rooms: []string{"core/contract", "core/record", "internal/fault"},
		libs:  []string{"golang.org/x/sys"},
		tests: []string{"*"},
		why:   "the audit of a workspace that runs on its own: it keeps entries, and knows nothing of who writes them",
	},
	{
		room: "internal/workspace", rooms: append(slices.Clone(lawFault), "core/policy", "internal/sandbox", "internal/workspace/settings",
			"internal/workspace/hooks", "internal/workspace/judge", "internal/workspace/ledger"),
		libs:  []string{"golang.org/x/sys", "golang.org/x/sync"},
		tests: []string{"*"},
		why:   "runs the tools under a permit and a ruling, by the sandbox; MCP and the audit are given to it",
	},
	{
		room: "internal/offline", rooms: lawFault,
		tests: []string{"*"},
		why:   "the law on files, without a daemon; its tests measure a whole pass, which ends in a store",
	},
	{
		room: "internal/house",
		why:  "reads the sources as text; importing a room would make it part of what it judges",
	},
	{
		room: "cmd/holdfast",
		rooms: append(slices.Clone(lawWire), "internal/store", "internal/upstream", "internal/config",
			"internal/intake", "internal/call", "internal/gateway", "internal/admin", "internal/offline",
			"core/policy", "internal/sandbox", "internal/workspace", "internal/workspace/settings", "internal/workspace/hooks",
			"internal/workspace/judge", "internal/workspace/ledger", "internal/workspace/trail"),
		libs: []string{
			"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/fsnotify/fsnotify", "golang.org/x/sync", "golang.org/x/sys", "golang.org/x/term",
			"github.com/modelcontextprotocol/go-sdk", "github.com/rogpeppe/go-internal/diff",
		},
		tests: []string{"*"},
		why:   "wires the rooms; the SDK is the demo's server and its agent, where nothing is proxied",
	},
	{
		room: "internal/e2e", tests: []string{"*"},
		why: "tests alone, from outside: published servers and clients against the binary",
	},
	{
		room: "bench", libs: []string{"github.com/modelcontextprotocol/go-sdk", "github.com/go-json-experiment/json/jsontext"},
		why: "measures the binary from outside, as a user runs it; the SDK is what it is measured against",
	},
}

// pureLibs may be imported by every room: they compute and
// do nothing else. The law has no other.
var pureLibs = []string{"github.com/go-json-experiment/json/jsontext", "golang.org/x/text"}

// testLibs may be imported by the tests of every room.
var testLibs = []string{
	"pgregory.net/rapid", "github.com/rogpeppe/go-internal", "github.com/modelcontextprotocol/go-sdk",
	"github.com/go-json-experiment/json", "golang.org/x/sync", "golang.org/x/sys", "golang.org/x/text",
	"github.com/santhosh-tekuri/jsonschema/v6", // a second opinion on what a schema means
}

// std reports whether an import path is of the standard library.
func std(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// under reports whether p is one of roots or stands below one.
func under(p string, roots []string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return p == r || strings.HasPrefix(p, r+"/") })
}

// allows says whether a file of the room may import p, and if not, why not.
func (r row) allows(p string, inTest bool) (string, bool) {
	if std(p) {
		return "", true // the law's own list is checked by TestTheLawIsPure
	}
	dir, ours := strings.CutPrefix(p, module+"/")
	if !ours {
		if under(p, r.libs) || under(p, pureLibs) || inTest && under(p, testLibs) {
			return "", true
		}
		return fmt.Sprintf("%s is no library of this room: a room's libraries stand in its row", p), false
	}
	to := roomOf(dir)
	switch {
	case to == r.room, slices.Contains(r.rooms, to):
		return "", true
	case inTest && to == "pilot":
		return "", true
	case inTest && slices.Contains(r.tests, "*") && !strings.HasPrefix(to, "cmd/"):
		return "", true
	}
	return fmt.Sprintf("%s may not know %s: %s", r.room, to, r.why), false
}

// checkImports gives every broken row of the table.
func checkImports(t *tree, table []row) []string {
	var broken []string
	rows := map[string]row{}
	for _, r := range table {
		if r.why == "" {
			broken = append(broken, r.room+": its row gives no reason")
		}
		rows[r.room] = r
	}
	present := t.rooms()
	for _, room := range present {
		if _, ok := rows[room]; !ok {
			broken = append(broken, room+": a room without a row: add one to the import table, with its reason")
		}
	}
	for _, r := range table {
		if !slices.Contains(present, r.room) {
			broken = append(broken, r.room+": a row without a room: remove it from the import table")
		}
	}
	for _, s := range t.goes {
		for _, p := range s.imports() {
			if why, ok := rows[s.room()].allows(p, s.isTest()); !ok && rows[s.room()].room != "" {
				broken = append(broken, s.path+": "+why)
			}
		}
	}
	return broken
}

func TestRoomsKnowOnlyWhatTheTableSays(t *testing.T) {
	report(t, checkImports(house(t), table))
}

// TestTheTableHasNoCycle shows that the table itself is two rings and a flow: no
// room may know one that may know it.
func TestTheTableHasNoCycle(t *testing.T) {
	rows := map[string]row{}
	for _, r := range table {
		rows[r.room] = r
	}
	var visit func(room string, path []string)
	visit = func(room string, path []string) {
		if slices.Contains(path, room) {
			t.Fatalf("the table allows a cycle: %s", strings.Join(append(path, room), " → "))
		}
		for _, next := range rows[room].rooms {
			visit(next, append(slices.Clone(path), room))
		}
	}
	for _, r := range table {
		visit(r.room, nil)
	}
	for _, r := range table {
		for _, to := range r.rooms {
			if strings.HasPrefix(r.room, "core/") && !strings.HasPrefix(to, "core/") {
				t.Errorf("%s may import %s: the law would depend on the world", r.room, to)
			}
		}
	}
}
