package delta

import (
	"fmt"
	"slices"
	"testing"
)

func TestSignalsPrintAndSort(t *testing.T) {
	in := []Signal{
		{Rule: Field, Reason: "icons"},
		{Rule: "SCAN-FINDING", Reason: "unicode.hidden"},
		{Rule: OutputSchema, Reason: OutputAdded},
		{Rule: SchemaShape, Reason: Type, Path: "properties/b"},
		{Rule: SchemaShape, Reason: Bound, Path: "properties/b"},
		{Rule: SchemaShape, Reason: Type, Path: "#"},
		{Rule: HintSaferFlip, Reason: "readOnlyHint", Old: "false", New: "true"},
		{Rule: HintChange, Reason: "dispatch", Old: "write", New: "read"},
		{Rule: Unavailable},
		{Rule: Unavailable},
	}
	want := []string{
		"GATE-UNAVAILABLE", "GATE-HINT-CHANGE:dispatch:write>:read", "GATE-HINT-SAFER-FLIP:readOnlyHint:false>:true",
		"GATE-SCHEMA-SHAPE:type:#", "GATE-SCHEMA-SHAPE:bound:properties/b", "GATE-SCHEMA-SHAPE:type:properties/b",
		"GATE-OUTPUT-SCHEMA:added", "GATE-FIELD:icons", "SCAN-FINDING:unicode.hidden",
	}
	if got := printed(Merge(in)); !slices.Equal(got, want) {
		t.Errorf("printed as %q", got)
	}
}

func TestCompactionDropsNoRule(t *testing.T) {
	var signals []Signal
	add := func(rule Rule, n int) {
		for i := range n {
			signals = append(signals, Signal{Rule: rule, Reason: fmt.Sprintf("r%02d", i)})
		}
	}
	add(HintChange, 1)
	add(SchemaShape, 20)
	add(OutputSchema, 1)
	add(Field, 3)
	add("SCAN-FINDING", 2)
	got := Compact(Merge(signals), MaxKept)
	want := []string{"GATE-HINT-CHANGE:r00"}
	for i := range 11 {
		want = append(want, fmt.Sprintf("GATE-SCHEMA-SHAPE:r%02d", i))
	}
	want = append(want, "GATE-SCHEMA-SHAPE:more:+9", "GATE-OUTPUT-SCHEMA:r00", "GATE-FIELD:more:+3", "SCAN-FINDING:more:+2")
	if !slices.Equal(got, want) {
		t.Errorf("kept\n%q\nnot\n%q", got, want)
	}
	if got := Compact(signals[:3], MaxKept); len(got) != 3 {
		t.Errorf("few are cut: %q", got)
	}
	if got := Compact(nil, MaxKept); got != nil {
		t.Errorf("none are %q", got)
	}
}
