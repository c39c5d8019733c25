package delta

import (
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// lead is one reference as it was written: $ref or $dynamicRef.
type lead struct {
	key keyword
	to  string
}

// settling is how far the references of a place are followed.
type settling uint8

const (
	unsettled settling = iota
	underway
	settled
)

// identify sets what the place's references start from, and remembers the names
// that references may use.
func (d *document) identify(p *place) {
	id, ok := stringOf(p, "$id")
	if _, there := p.value.Get("$id"); !there {
		id, ok = stringOf(p, "id")
	}
	if ok {
		base, fragment := d.resolve(p.base, id)
		if p.isRoot() || !strings.HasPrefix(id, "#") && id != "" {
			p.base, p.scope = base, p
		}
		if fragment != "" {
			d.anchor(p, fragment)
		}
	}
	if p.scope == p && !d.extra && !p.isRoot() {
		if d.scopes == nil { // most schemas have no $id but that of the root
			d.scopes = map[string]*place{d.root.base: d.root}
		}
		remember(d, &d.scopes, p, p.base, "$id")
	}
	if name, ok := stringOf(p, "$anchor"); ok {
		d.anchor(p, name)
	}
	if name, ok := stringOf(p, "$dynamicAnchor"); ok && !d.extra {
		d.anchor(p, name)
		if d.dynamic == nil {
			d.dynamic = map[string][]*place{}
		}
		d.dynamic[name] = append(d.dynamic[name], p)
	}
}

func stringOf(p *place, name string) (string, bool) {
	v, ok := p.value.Get(name)
	return v.Text(), ok && v.Kind() == contract.String
}

func (d *document) anchor(p *place, name string) {
	if !d.extra {
		remember(d, &d.anchors, p, anchorKey{p.scope, name}, "$anchor")
	}
}

// remember keeps who has a name. Two that have one would be told apart
// differently by every reader.
func remember[K comparable](d *document, into *map[K]*place, p *place, name K, what string) {
	if *into == nil {
		*into = map[K]*place{}
	}
	switch other := (*into)[name]; other {
	case nil:
		(*into)[name] = p
	case p:
	default:
		d.wrong(p, what+" is given twice in one schema")
	}
}

// settleAll follows every reference of the schema, also in places that nothing
// uses, for a keyword there may turn out to be malformed.
func (d *document) settleAll() {
	d.settle(d.root)
	d.eachPart(d.root)
}

func (d *document) eachPart(p *place) {
	for i := range p.parts {
		if q := p.parts[i].to; q.up == p {
			d.settle(q)
			d.eachPart(q)
		}
	}
}

// settle resolves the references of a place: a bare one makes it an alias, others
// become branches of allOf or are merged.
func (d *document) settle(p *place) {
	if p.state != unsettled {
		return
	}
	if len(p.leads) == 0 {
		p.state = settled
		return
	}
	p.state = underway
	var targets []*place
	for _, l := range p.leads {
		if to := d.follow(p, l); to != nil {
			targets = append(targets, to)
		}
	}
	bare := len(p.leads) == 1 && len(targets) == 1 && len(p.beside) == 0 && p.saysNothingElse()
	if bare {
		d.settle(targets[0])
		// A ring of bare references leads nowhere.
		if to := targets[0].follow(); to != p && !(to.state == underway && to.saysNothingElse() && len(to.beside) == 0) {
			p.alias = to
		} else {
			p.extern = append(p.extern, "#")
		}
		p.state = settled
		return
	}
	if p.asserts() || len(p.leads) > 1 {
		d.uses |= from2019
		p.mixed = true
		p.own = d.newPlace()
		*p.own = place{
			doc: d, value: p.value, up: p.up, key: p.key, name: p.name, index: p.index, typed: p.typed, kinds: p.kinds, nullable: p.nullable,
			limited: p.limited, members: p.members, required: p.required, depends: p.depends, words: p.wordsBut(kwDefault), parts: p.parts, state: settled,
		}
		p.targets = targets
		p.defaults = slices.DeleteFunc(slices.Clone(p.words), func(w word) bool { return w.key != kwDefault })
	} else if _, ok := p.word(kwDefault); ok {
		d.uses |= from2019
	}
	p.extendAll(targets)
	p.state = settled
}

// saysNothingElse reports whether there is nothing beside the references but
// texts and definitions.
func (p *place) saysNothingElse() bool { return !p.asserts() && len(p.words) == 0 }

// asserts reports whether keywords beside the references say what is admitted.
func (p *place) asserts() bool {
	defs := len(p.list(kwDefs)) + len(p.list(kwDefinitions))
	return p.typed || p.limited || len(p.required) > 0 || len(p.depends) > 0 || len(p.parts) > defs || len(p.wordsBut(kwID, kwSchema, kwDefault)) > 0
}

// wordsBut gives the words without those of some keywords.
func (p *place) wordsBut(keys ...keyword) []word {
	return slices.DeleteFunc(slices.Clone(p.words), func(w word) bool { return slices.Contains(keys, w.key) })
}

// follow gives where a reference leads, nil where it leaves the document or leads
// nowhere. Below an $id of a subschema there are readers that look from the root,
// so where that gives something else, both are kept.
func (d *document) follow(p *place, l lead) *place {
	to, key := d.lookUp(p.base, l)
	if p.scope != d.root {
		switch other, _ := d.lookUp(d.root.base, l); {
		case other != nil && other != to:
			p.beside = append(p.beside, other)
		case other == nil && to != nil:
			p.beside = append(p.beside, nil)
		}
	}
	if to == nil {
		p.extern = append(p.extern, key)
		if _, name := d.resolve(p.base, l.to); l.key == kwDynamicRef {
			p.beside = append(p.beside, d.dynamic[unescape(name)]...) // it may be any of these
		}
	}
	return to
}

// maxURIs is how many bytes of URIs are read in one schema.
const maxURIs = 16 << 20

// resolve is resolve, counted: a long $id must not be read for ever.
func (d *document) resolve(base, reference string) (string, string) {
	if d.uris += len(base) + len(reference); d.uris > maxURIs {
		d.tooLarge = true
		return "", ""
	}
	return resolve(base, reference)
}

// lookUp resolves a reference, and gives a name for one that does not resolve.
func (d *document) lookUp(base string, l lead) (*place, string) {
	uri, fragment := d.resolve(base, l.to)
	fragment = unescape(fragment)
	scope, key := d.scopes[uri], "#"+fragment
	if uri == d.root.base {
		scope = d.root
	} else {
		key = uri + key
	}
	switch {
	case scope == nil:
		return nil, key
	case fragment == "":
		return scope, key
	case strings.HasPrefix(fragment, "/"):
		return d.pointer(scope, fragment), key
	case l.key == kwDynamicRef:
		return d.dynamicAnchor(d.anchors[anchorKey{scope, fragment}], fragment), key
	}
	return d.anchors[anchorKey{scope, fragment}], key
}

// dynamicAnchor gives the one place that a $dynamicRef can lead to, whoever asks;
// there is a place that a plain $ref would lead to, or nil.
func (d *document) dynamicAnchor(there *place, name string) *place {
	switch all := d.dynamic[name]; {
	case len(all) == 0, there != nil && !slices.Contains(all, there):
		return there
	case len(all) == 1:
		return all[0]
	}
	return nil
}

var unquoteStep = strings.NewReplacer("~1", "/", "~0", "~")

// pointer walks a JSON Pointer from a place. What stands under a keyword that
// holds no schemas is read when a reference makes it one.
func (d *document) pointer(p *place, pointer string) *place {
	steps := strings.Split(pointer[1:], "/")
	for i := range steps {
		steps[i] = unquoteStep.Replace(steps[i])
	}
	for len(steps) > 0 {
		next, used := p.step(steps)
		if next == nil {
			return d.extraPlace(p, steps)
		}
		p, steps = next, steps[used:]
	}
	return p
}

// step goes to the subschema that the first one or two steps name.
func (p *place) step(steps []string) (*place, int) {
	key := keywordOf(steps[0])
	_, isList := p.value.Get("prefixItems")
	switch {
	case key == kwAdditionalItems:
		key = kwItems
	case key == kwItems && len(steps) > 1 && !isList && p.has(kwPrefixItems):
		key = kwPrefixItems
	case key == kwDependencies:
		key = kwDependentSchemas
	}
	used := 2
	if key.holdsOne() {
		used = 1
	}
	if len(steps) < used {
		return nil, 0
	}
	want := part{key: key, index: -1}
	switch {
	case key.mapsNames():
		want.name = steps[1]
	case key.holdsList():
		i, ok := indexOf(steps[1])
		if !ok {
			return nil, 0
		}
		want.index = i
	}
	i, ok := slices.BinarySearchFunc(p.parts, want, compareParts)
	if !ok || p.parts[i].to.up != p { // a reference may have put it there
		return nil, 0
	}
	return p.parts[i].to, used
}

// indexOf reads a step into a list, in its one spelling.
func indexOf(step string) (int, bool) {
	i, err := strconv.Atoi(step)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == step
}

// extraPlace reads a schema where no keyword of JSON Schema expects one.
func (d *document) extraPlace(p *place, steps []string) *place {
	v := p.value
	for _, step := range steps {
		switch v.Kind() {
		case contract.Object:
			member, ok := v.Get(step)
			if !ok {
				return nil
			}
			v = member
		case contract.Array:
			i, ok := indexOf(step)
			if !ok || i >= len(v.Items()) {
				return nil
			}
			v = v.Items()[i]
		default:
			return nil
		}
	}
	key := p.where() + "\x00" + strings.Join(steps, "\x00")
	if known := d.extras[key]; known != nil {
		return known
	}
	if d.extras == nil {
		d.extras = map[string]*place{}
	}
	outside := d.extra
	d.extra = true
	for i := range steps {
		steps[i] = pointerStep(steps[i])
	}
	q := d.place(v, p, kwText, strings.Join(steps, "/"), -1)
	d.extra = outside
	d.extras[key] = q
	d.eachPart(q)
	return q
}
