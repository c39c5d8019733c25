package delta

import (
	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Gate is the structural gate. The zero Gate counts tools without hints as
// destructive.
type Gate struct {
	Unannotated contract.Class // the operator's class for tools without hints
}

// Compare gives the reasons to hold a change of an approved tool, in order, each
// once; none means that nothing more is asked of the model and nothing more is
// accepted than was approved. It is total: any two contracts give an answer.
// The zero approved contract stands for one that was not recorded.
func Compare(approved, live contract.Contract) []Signal { return Gate{}.Compare(approved, live) }

// Compare is the package's Compare under the operator's class.
func (g Gate) Compare(approved, live contract.Contract) []Signal {
	return signalsOf(g.facts(&memory{}, approved, live))
}

// facts finds everything that holds the change.
func (g Gate) facts(m *memory, approved, live contract.Contract) []fact {
	switch {
	case !live.Parsable():
		return []fact{unparsable("the new definition can't be read: " + live.Problem())}
	case approved.IsZero():
		return schemaFacts(m, contract.Value{}, false, live)
	case !approved.Parsable():
		return []fact{unparsable("the approved definition can't be read: " + approved.Problem())}
	}
	facts := g.hints(approved, live)
	schema, ok := approved.InputSchema()
	facts = append(facts, schemaFacts(m, schema, ok, live)...)
	facts = append(facts, outputFacts(m, approved, live)...)
	return append(facts, fieldFacts(approved, live)...)
}

func unparsable(why string) fact {
	return fact{signal: Signal{Rule: SchemaShape, Reason: Unparsable, Path: "#"}, is: text(why)}
}

// schemaFacts compares the input schemas.
func schemaFacts(m *memory, approved contract.Value, recorded bool, live contract.Contract) []fact {
	schema, ok := live.InputSchema()
	if !ok {
		return []fact{unparsable("the new definition has no inputSchema")}
	}
	l := readDocument(m, schema)
	a := l
	if recorded && !approved.Equal(schema) {
		a = readDocument(m, approved)
	}
	switch {
	case a.tooLarge || l.tooLarge:
		return []fact{unparsable(tooMuch)}
	case len(a.problems)+len(l.problems) > 0:
		var facts []fact
		if recorded && a != l {
			facts = malformed(facts, "the approved schema", a)
		}
		return malformed(facts, "the new schema", l)
	case !recorded:
		return []fact{{signal: Signal{Rule: SchemaShape, Reason: ApprovedUnknown, Path: "#"}, keyword: "inputSchema", is: value(schema, true)}}
	case a == l:
		return nil // the same value, and nothing wrong with it
	}
	return compareDocuments(m, a, l)
}

const tooMuch = "the schemas are too tangled or too large to be compared"

// malformed tells what is wrong with a schema, place by place.
func malformed(facts []fact, which string, d *document) []fact {
	printed := 0
	for _, p := range d.problems {
		f := unparsable(which + ": " + p.what)
		f.signal.Path = p.at.where()
		if printed += len(f.signal.Path); printed > maxPrinted {
			return []fact{unparsable(tooMuch)}
		}
		facts = append(facts, f)
	}
	return facts
}

// maxPrinted is how many bytes of paths are printed in one answer.
const maxPrinted = 8 << 20

// compareDocuments walks two schemas that are well-formed.
func compareDocuments(m *memory, a, l *document) []fact {
	m.silent = emptied(m.silent)
	return walkDocuments(m, a, l, m.silent)
}

// walkDocuments is compareDocuments with what it remembers of pairs that gave nothing.
func walkDocuments(m *memory, a, l *document, silent map[frameKey]int) []fact {
	s := &steps{}
	g := newIdentities(m, s, a.open || l.open)
	g.classify(a.root.follow())
	g.classify(l.root.follow())
	m.inside = emptied(m.inside)
	w := &walk{steps: s, inside: m.inside, silent: silent, empty: g.empty, frames: m.frames[:0], ended: m.ended[:0]}
	root := &trail{index: -1}
	if switched(a, l) {
		w.hold(Keyword, root, kwSchema, text(visible(a.dialect)), text(visible(l.dialect)))
	}
	w.pair(a.root, l.root, root)
	m.buf, m.frames, m.ended = g.buf, w.frames, w.ended
	if s.over {
		return []fact{unparsable(tooMuch)}
	}
	return w.facts
}

// outputFacts compares the output schemas: any difference but texts holds, for
// strict clients check results against it.
func outputFacts(m *memory, approved, live contract.Contract) []fact {
	a, had := approved.OutputSchema()
	l, has := live.OutputSchema()
	reason := ""
	switch {
	case !had && has:
		reason = OutputAdded
	case had && !has:
		reason = OutputRemoved
	case had && !sameSchema(m, a, l):
		reason = OutputChanged
	default:
		return nil
	}
	return []fact{{signal: Signal{Rule: OutputSchema, Reason: reason}, keyword: "outputSchema", was: value(a, had), is: value(l, has)}}
}

// sameSchema reports whether two schemas say the same. Those that are malformed are
// compared as values.
func sameSchema(m *memory, a, l contract.Value) bool {
	if a.Equal(l) {
		return true
	}
	x, y := readDocument(m, a), readDocument(m, l)
	if len(x.problems)+len(y.problems) > 0 || x.tooLarge || y.tooLarge || switched(x, y) {
		return false
	}
	s := &steps{}
	g := newIdentities(m, s, x.open || y.open)
	g.classify(x.root.follow())
	g.classify(y.root.follow())
	return !s.over && sameClass(x.root, y.root)
}
