package contract

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// tree is a JSON value before it is spelled: nil, bool, number, string, []tree or []member.
type (
	tree   any
	number struct {
		negative bool
		mantissa string // decimal digits
		power    int    // of ten
	}
	member struct {
		name  string
		value tree
	}
)

func drawTree(t *rapid.T, depth int) tree {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return number{rapid.Bool().Draw(t, "sign"), rapid.StringMatching(`[0-9]{1,4}`).Draw(t, "digits"), rapid.IntRange(-6, 6).Draw(t, "power")}
	case 3:
		return drawString(t)
	case 4:
		list := []tree{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawTree(t, depth-1))
		}
		return list
	}
	return drawObject(t, depth)
}

func drawObject(t *rapid.T, depth int) []member {
	object, seen := []member{}, map[string]bool{"annotations": true}
	for range rapid.IntRange(0, 12).Draw(t, "size") {
		if name := drawString(t); !seen[name] {
			seen[name] = true
			object = append(object, member{name, drawTree(t, depth-1)})
		}
	}
	return object
}

func drawString(t *rapid.T) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune("ab10:\"\\/\x00\n\u007fé\u202e\ufeff\uff61😀\U000e0041")), 0, 4, -1).Draw(t, "string")
}

// spell writes v in one of its many spellings.
func spell(t *rapid.T, v tree) string {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r"}).Draw(t, "space")
	return space + spellTight(t, v) + space
}

func spellTight(t *rapid.T, v tree) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return spellString(t, v)
	case number:
		return spellNumber(t, v)
	case []tree:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = spell(t, v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case []member:
		parts := make([]string, len(v))
		for i, m := range rapid.Permutation(v).Draw(t, "order") {
			parts[i] = spellString(t, m.name) + ":" + spell(t, m.value)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	panic(fmt.Sprintf("%T", v))
}

func spellString(t *rapid.T, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		escape := r < ' ' || r == '"' || r == '\\' || rapid.IntRange(0, 3).Draw(t, "escape") == 0
		switch {
		case r == '/' && escape:
			b.WriteString(`\/`)
		case escape && r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04X`, high, low)
		case escape:
			fmt.Fprintf(&b, rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "case"), r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// spellNumber moves the point, adds zeros at both ends and spells the power.
func spellNumber(t *rapid.T, n number) string {
	digits, power := strings.TrimLeft(n.mantissa, "0"), n.power
	for range rapid.IntRange(0, 3).Draw(t, "zeros") {
		digits, power = digits+"0", power-1
	}
	fraction := ""
	if at := rapid.IntRange(0, len(digits)).Draw(t, "point"); at < len(digits) {
		fraction = digits[at:]
		power += len(fraction)
		digits = digits[:at]
		fraction = "." + fraction + strings.Repeat("0", rapid.IntRange(0, 2).Draw(t, "tail"))
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		digits = "0"
	}
	s := digits + fraction
	if n.negative {
		s = "-" + s
	}
	if power == 0 && rapid.Bool().Draw(t, "bare") {
		return s
	}
	sign := ""
	if power < 0 {
		sign, power = "-", -power
	} else if rapid.Bool().Draw(t, "plus") {
		sign = "+"
	}
	return s + rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + sign + strings.Repeat("0", rapid.IntRange(0, 2).Draw(t, "lead")) + strconv.Itoa(power)
}

func TestSpellingIsNoChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawObject(t, 3)
		a, b := Parse([]byte(spell(t, v))), Parse([]byte(spell(t, v)))
		if !a.Parsable() {
			t.Fatalf("%q: %s", a.Raw(), a.Problem())
		}
		if !a.Equal(b) || !a.Root().Equal(b.Root()) || !bytes.Equal(a.Canonical(), b.Canonical()) {
			t.Fatalf("%q and %q differ", a.Raw(), b.Raw())
		}
		checkAgainstOracle(t, a, b)
	})
}

// Two texts have one digest exactly if they mean the same value.
func TestDigestIsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawObject(t, 2)
		w := append([]member{}, v...)
		if len(w) > 0 {
			i := rapid.IntRange(0, len(w)-1).Draw(t, "changed")
			w[i].value = drawTree(t, 1)
		}
		checkAgainstOracle(t, Parse([]byte(spell(t, v))), Parse([]byte(spell(t, w))))
	})
}

// failer is what testing and rapid have in common.
type failer interface{ Fatalf(string, ...any) }

func checkAgainstOracle(t failer, a, b Contract) {
	if !a.Parsable() || !b.Parsable() {
		return
	}
	x, known := meaning(a.Raw())
	y, alsoKnown := meaning(b.Raw())
	same := a.Equal(b)
	if known && alsoKnown && (x == y) != same {
		t.Fatalf("%q and %q: same value %v, same digest %v", a.Raw(), b.Raw(), x == y, same)
	}
	if a.Root().Equal(b.Root()) != same || bytes.Equal(a.Canonical(), b.Canonical()) != same {
		t.Fatalf("%q and %q: digest says %v, the values or the canonical forms don't", a.Raw(), b.Raw(), same)
	}
	for _, c := range []Contract{a, b} {
		canonical := c.Canonical()
		again := Parse(canonical)
		if !again.Equal(c) || !bytes.Equal(again.Canonical(), canonical) {
			t.Fatalf("%q becomes %q %q", c.Raw(), canonical, again.Canonical())
		}
		if z, ok := meaning(canonical); known && alsoKnown && (!ok || z != x && z != y) {
			t.Fatalf("the canonical form of %q means something else: %q", c.Raw(), canonical)
		}
	}
}
