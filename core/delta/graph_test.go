package delta

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// graph draws definitions that refer to each other, in rings and on several ways.
func graph(r *rand.Rand, n int) string {
	refer := func() string { return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, r.IntN(n)) }
	var defs []string
	for i := range n {
		var says []string
		if r.IntN(3) > 0 {
			says = append(says, fmt.Sprintf(`"maxLength":%d`, r.IntN(3)))
		}
		props := []string{}
		for p := range r.IntN(4) {
			props = append(props, fmt.Sprintf(`"p%d":%s`, p, refer()))
		}
		says = append(says, `"properties":{`+strings.Join(props, ",")+`}`)
		switch r.IntN(6) {
		case 0:
			says = append(says, `"items":`+refer())
		case 1:
			says = append(says, `"allOf":[`+refer()+`]`)
		case 2:
			says = append(says, `"anyOf":[`+refer()+`,`+refer()+`]`)
		case 3:
			says = append(says, `"oneOf":[`+refer()+`,{"type":"null"}]`)
		}
		if r.IntN(8) == 0 {
			says = []string{refer()[1 : len(refer())-1]}
		}
		defs = append(defs, fmt.Sprintf(`"d%d":{%s}`, i, strings.Join(says, ",")))
	}
	return `{"properties":{"a":` + refer() + `,"b":` + refer() + `},"$defs":{` + strings.Join(defs, ",") + `}}`
}

// drawn is how many graphs are drawn.
func drawn() int {
	if racing {
		return 300
	}
	return 3000
}

func inputDocument(t *testing.T, schema string) *document {
	t.Helper()
	v, ok := contract.Parse([]byte(`{"s":` + schema + `}`)).Root().Get("s")
	if !ok {
		t.Fatalf("%s can't be read", schema)
	}
	return readDocument(&memory{}, v)
}

// What is remembered of pairs that gave nothing must not change an answer.
func TestRememberingChangesNoAnswer(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	compared, saved := 0, 0
	for range drawn() {
		approved := graph(r, 2+r.IntN(4))
		live := strings.Replace(approved, `"maxLength":1`, fmt.Sprintf(`"maxLength":%d`, r.IntN(4)), 1+r.IntN(2))
		if r.IntN(3) == 0 {
			live = strings.Replace(live, `"p1":`, `"p9":`, 1)
		}
		with := printed(signalsOf(compareDocuments(&memory{}, inputDocument(t, approved), inputDocument(t, live))))
		without := printed(signalsOf(walkDocuments(&memory{}, inputDocument(t, approved), inputDocument(t, live), nil)))
		if slices.Equal(without, []string{"GATE-SCHEMA-SHAPE:unparsable:#"}) {
			saved++
			continue
		}
		if compared++; !slices.Equal(with, without) {
			t.Fatalf("%s\nbecomes\n%s\nremembering %v\nwithout %v", approved, live, with, without)
		}
	}
	t.Logf("%d compared, %d too long without remembering", compared, saved)
	if compared < drawn()*2/3 {
		t.Errorf("only %d compared", compared)
	}
}

// unfolding numbers what places mean to a depth, slowly and without classes.
type unfolding struct {
	numbers map[string]int
	known   map[unfolded]int
}

type unfolded struct {
	p     *place
	depth int
}

func (u unfolding) of(p *place, depth int) int {
	p = p.follow()
	if depth == 0 {
		return 0
	}
	key := unfolded{p, depth}
	if n, ok := u.known[key]; ok {
		return n
	}
	var b strings.Builder
	for _, w := range p.words {
		fmt.Fprintf(&b, "%s=%s ", w.key, w.value.AppendCanonical(nil))
	}
	fmt.Fprintf(&b, "%s %v ", p.kinds, p.extern)
	for _, q := range p.parts {
		if q.key != kwDefs && !(q.key == kwItems && nothing(q.to, 8)) {
			fmt.Fprintf(&b, "%s.%s.%d(%d) ", q.key, q.name, q.index, u.of(q.to, depth-1))
		}
	}
	if u.numbers[b.String()] == 0 {
		u.numbers[b.String()] = len(u.numbers) + 1
	}
	u.known[key] = u.numbers[b.String()]
	return u.known[key]
}

// nothing reports whether a place says nothing, so that it may as well be absent.
func nothing(p *place, depth int) bool {
	p = p.follow()
	return depth > 0 && len(p.words)+len(p.extern) == 0 && !slices.ContainsFunc(p.parts, func(q part) bool { return q.key != kwItems || !nothing(q.to, depth-1) })
}

// Two places have one class exactly if they unfold to the same.
func TestClassesAreMeanings(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	same := 0
	for range drawn() {
		n := 2 + r.IntN(3)
		text := graph(r, n)
		other := strings.Replace(text, `"maxLength":1`, fmt.Sprintf(`"maxLength":%d`, r.IntN(3)), 1)
		a, l := inputDocument(t, text), inputDocument(t, other)
		g := newIdentities(&memory{}, &steps{}, false)
		var places []*place
		for _, d := range []*document{a, l} {
			for _, p := range append(slices.Clone(d.root.list(kwDefs)), part{to: d.root}) {
				g.classify(p.to.follow())
				places = append(places, p.to.follow())
			}
		}
		u := unfolding{map[string]int{}, map[unfolded]int{}}
		meaning := make([]int, len(places))
		for i, p := range places {
			meaning[i] = u.of(p, 2*len(places)) // more than there are places to tell apart
		}
		for i, p := range places {
			for j, q := range places {
				if (p.class == q.class) != (meaning[i] == meaning[j]) {
					t.Fatalf("%s\nand\n%s\n%s and %s: one class %v, one meaning %v", text, other, p.where(), q.where(), p.class == q.class, meaning[i] == meaning[j])
				}
				if i < j && p.class == q.class {
					same++
				}
			}
		}
	}
	t.Logf("%d pairs mean the same", same)
}
