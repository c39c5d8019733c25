package store

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
)

func sampleToken(id, name string) dispatch.Token {
	return dispatch.Token{
		ID: id, Name: name, Hash: sha256.Sum256([]byte(id)), Created: time.UnixMicro(1_780_000_000_000_001).UTC(),
		Scope: dispatch.Scope{Servers: []string{"github"}, Tools: []string{"*"}}, Permissions: dispatch.Permissions{Read: true},
	}
}

func tokenEntry(what string) record.Entry {
	return record.Entry{Time: time.UnixMicro(1_780_000_000_000_001).UTC(), Type: record.TypeToken, Actor: record.Actor{Kind: record.Person}, Act: &record.Act{What: what}}
}

// report adds the median, the 99th percentile and the worst.
func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
	b.ReportMetric(float64(took[len(took)-1].Nanoseconds()), "max-ns")
}
