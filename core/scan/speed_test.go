package scan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// honestSentences are what descriptions of tools are made of.
var honestSentences = []string{
	"Creates a new issue in a repository and returns its number and address.",
	"Lists the files of a folder, sorted by name, with size and date of change.",
	"The result is paged: pass the cursor of one page to get the following one.",
	"Dates are given in UTC (for example 2025-03-01T12:00:00Z) unless a time zone is named.",
	"If the query is empty, all documents that belong to the workspace are returned, newest first.",
	"Use this to look up a customer by email address or phone number before a ticket is opened.",
	"Supported formats are PNG, JPEG and WebP; anything else is answered with an error.",
	"`limit` has to lie between 1 and 100, and its default is 25.",
	"Returns a list of objects with the fields id, title, status, assignee and updated_at.",
	"Searches the knowledge base with full-text search, ranking the matches by relevance.",
	"A branch that already exists is not overwritten; set force to replace it.",
	"Reads the metrics of a service over a period and aggregates them by minute, hour or day.",
	"Only members of the project with the role of an editor can change these settings.",
	"The description may contain Markdown, including links, tables and code blocks.",
	"Deletes the record for good, together with its comments and attachments.",
	"Amounts are integers in the smallest unit of the currency, such as cents.",
	"When a run fails, the logs of its last step are part of the answer (at most 200 lines).",
	"Sends a message to a channel of the team and waits until it has been delivered.",
	"Coordinates are decimal degrees: latitude from -90 to 90, longitude from -180 to 180.",
	"See https://docs.acme-cloud.com/api/v2/reports#filters for what a filter may say.",
	"Rows are matched by their primary key, and columns that are left out keep their values.",
	"Converts a spreadsheet to CSV, one file for each sheet, with a header line.",
	"The job runs in the background; ask for its state with the identifier that comes back.",
	"Calculates the shortest route between two stations, changing trains as seldom as possible.",
}

// prose is honest English of a size, the same for the same size.
func prose(size int) string {
	random := rand.New(rand.NewPCG(7, uint64(size)))
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(honestSentences[random.IntN(len(honestSentences))])
		if random.IntN(6) == 0 {
			b.WriteString("\n\n")
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()[:size]
}

// described is a tool with a description, and a schema as most have one.
func described(tb testing.TB, text string) contract.Contract {
	tb.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		tb.Fatal(err)
	}
	c := contract.Parse(fmt.Appendf(nil, `{"name":"get_report","description":%s,"inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}`, quoted))
	if !c.Parsable() {
		tb.Fatal(c.Problem())
	}
	return c
}

// BenchmarkProse scans a clean tool with a text of growing size, with the memory of a
// pass and, for comparison, each with memory of its own. docs/performance.md has its
// figures: a tenth of what comparable products take, which is 7.6 µs for 200 bytes
// and 0.8 ms for 10 KB, is what it is held to.
func BenchmarkProse(b *testing.B) {
	s := New(Embedded(), nil)
	for _, size := range []int{200, 1000, 10_000, 100_000, 1_000_000} {
		c := described(b, prose(size))
		if v := s.Scan(c); v.Outcome != Clean || !v.Complete {
			b.Fatalf("%d bytes are not clean: %+v", size, v)
		}
		for name, scan := range map[string]func(contract.Contract) Verdict{"pass": s.Reader().Scan, "alone": s.Scan} {
			b.Run(fmt.Sprintf("%d/%s", size, name), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					scan(c)
				}
			})
		}
	}
}
