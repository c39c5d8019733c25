package delta

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// wantedInstances is how many generated instances the promise is checked on: a
// hundred thousand in the ordinary test, and as many as
// HOLDFAST_SOUNDNESS_INSTANCES says in the nightly one.
func wantedInstances(t *testing.T) int {
	if s := os.Getenv("HOLDFAST_SOUNDNESS_INSTANCES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("HOLDFAST_SOUNDNESS_INSTANCES=%s is no number", s)
		}
		return n
	}
	if testing.Short() || racing {
		return 10_000
	}
	return 100_000
}

// seeds are the schemas that are mutated, and pairs that are taken as they are.
func seeds(t *testing.T) (schemas []node, pairs [][2]node) {
	add := func(approved, live json.RawMessage) {
		var a, l struct {
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(approved, &a) != nil || json.Unmarshal(live, &l) != nil {
			return
		}
		x, okX := decodeNode(a.InputSchema)
		y, okY := decodeNode(l.InputSchema)
		if okX {
			schemas = append(schemas, x)
		}
		if okY {
			schemas = append(schemas, y)
		}
		if okX && okY {
			pairs = append(pairs, [2]node{x, y})
		}
	}
	for _, c := range gateCases(t) {
		add(c.Approved, c.Live)
	}
	return schemas, pairs
}

// check tries one pair: if the gate is silent about the schemas, what live admits
// has to be admitted by approved, and nothing steers that did not.
type check struct {
	t                        *testing.T
	r                        *rand.Rand
	pairs, instances, passed int
	failed                   int
}

func (c *check) pair(approved, live node) {
	a, l := encode(approved), encode(live)
	if len(schemaSignals(Compare(tool(a), tool(l)))) > 0 {
		return
	}
	before := steering(approved)
	for v := range steering(live) {
		if !before[v] {
			c.fail("a pass steers with %s:\n%s\nbecomes\n%s", v, a, l)
			return
		}
	}
	va, vl := compile(c.t, plain(approved)), compile(c.t, plain(live))
	if va == nil || vl == nil {
		return
	}
	c.pairs++
	was, is := declared(approved), declared(live)
	for range 30 {
		g := &generator{r: c.r, root: live}
		if c.r.IntN(4) == 0 {
			g.root = approved
		}
		text := encode(g.value(g.root))
		instance := decode(c.t, text)
		c.instances++
		if vl.Validate(instance) != nil {
			continue
		}
		keys := map[string]bool{}
		keysOf(any2(text), keys)
		once := false
		for key := range keys {
			once = once || was[key] != is[key]
		}
		if once {
			continue
		}
		c.passed++
		if err := va.Validate(instance); err != nil {
			c.fail("a pass widens:\n%s\nbecomes\n%s\nwhich admits %s\n%v", a, l, text, err)
			return
		}
	}
}

// plain leaves the dialect to the validator: 2020-12, where a format asserts nothing.
func plain(n node) string {
	m := clone(n)
	delete(m, "$schema")
	return encode(m)
}

func any2(text string) any {
	var v any
	_ = json.Unmarshal([]byte(text), &v)
	return v
}

func (c *check) fail(format string, args ...any) {
	c.failed++
	if c.failed <= 10 {
		c.t.Errorf(format, args...)
	}
}

func TestAPassNeverWidens(t *testing.T) {
	schemas, pairs := seeds(t)
	c := &check{t: t, r: rand.New(rand.NewPCG(1, 2))}
	for _, p := range pairs {
		c.pair(p[0], p[1])
	}
	for wanted := wantedInstances(t); c.instances < wanted && c.failed < 10; {
		base := clone(schemas[c.r.IntN(len(schemas))])
		for range c.r.IntN(3) {
			mutate(c.r, base)
		}
		live := clone(base)
		for range 1 + c.r.IntN(3) {
			mutate(c.r, live)
		}
		c.pair(base, live)
	}
	t.Logf("%d pairs pass, %d instances, of which live admits %d", c.pairs, c.instances, c.passed)
	if c.passed < c.instances/20 {
		t.Errorf("only %d of %d instances say anything", c.passed, c.instances)
	}
}

// The same over the schemas of real tools and their real and made changes.
func TestAPassNeverWidensARealTool(t *testing.T) {
	c := &check{t: t, r: rand.New(rand.NewPCG(3, 4))}
	var schemas []node
	for _, change := range corpusChanges(t) {
		a, _ := change.approved.InputSchema()
		l, _ := change.live.InputSchema()
		approved, okA := decodeNode(a.AppendCanonical(nil))
		live, okL := decodeNode(l.AppendCanonical(nil))
		if okA && okL {
			c.pair(approved, live)
			schemas = append(schemas, approved)
		}
	}
	for wanted := wantedInstances(t) / 10; c.instances < wanted && c.failed < 10; {
		base := schemas[c.r.IntN(len(schemas))]
		live := clone(base)
		for range 1 + c.r.IntN(3) {
			mutate(c.r, live)
		}
		c.pair(base, live)
	}
	t.Logf("%d pairs pass, %d instances, of which live admits %d", c.pairs, c.instances, c.passed)
}
