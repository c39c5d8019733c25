package dispatch

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMistakable(t *testing.T) {
	for member, want := range map[string]bool{
		"name": false, "arguments": false, "_meta": false, "task": false,
		"": false, "names": false, "nam": false, " name": false, "name ": false, "na\x00me": false, "\x00name": false, "arguments2": false, "meta": false,
		"Name": true, "NAME": true, "aRguments": true, "_Meta": true, "Task": true, "tas\u212a": true, "argument\u017f": true,
		"name\x00": true, "name\x00x": true, "ARGUMENTS\x00\x00": true, "_meta\x00name": true,
	} {
		if got := Mistakable(member); got != want {
			t.Errorf("%q: %v", member, got)
		}
	}
}

// Every other spelling of a member that means something is mistakable; the member
// itself never is.
func TestMistakableSpellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		member := rapid.SampledFrom(callMembers[:]).Draw(t, "member")
		var b strings.Builder
		for i, r := range member {
			if rapid.Bool().Draw(t, "upper") {
				b.WriteString(strings.ToUpper(string(r)))
				continue
			}
			b.WriteByte(member[i])
		}
		spelt := b.String() + rapid.SampledFrom([]string{"", "\x00", "\x00tail"}).Draw(t, "tail")
		if Mistakable(spelt) != (spelt != member) {
			t.Fatalf("%q", spelt)
		}
	})
}
