package delta

import (
	"slices"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// fact is one thing that was found: the signal it stands for, the keyword it is
// about, and for a person what was and what is.
type fact struct {
	signal  Signal
	keyword string
	was, is shown
}

// shown is one side of a fact: a value of the definition, or a text of ours.
type shown struct {
	value contract.Value
	text  string
	there bool
}

func value(v contract.Value, ok bool) shown { return shown{value: v, there: ok} }

func text(s string) shown { return shown{text: s, there: s != ""} }

// walk compares two schemas place by place.
type walk struct {
	*steps
	facts []fact
	mode  mode
	at    location
	empty *place

	frames []frame          // what is being compared or searched, outermost first
	inside map[frameKey]int // frames by what they compare
	silent map[frameKey]int // the ending of pairs that gave nothing
	ended  []ending         // by the serial number of the frame
}

// frameKey is a pair that is compared, or a live place that is searched.
type frameKey struct {
	a, l *place
	at   location
	mode mode
}

// location is where in an instance a pair of places looks at: the places that stand
// there for the first time. Branches of allOf and the like look at the same spot.
type location struct{ a, l *place }

// mode is what a search does not look at, or looks at in addition.
type mode uint8

const (
	everywhere  mode = 1 << iota // also below not, if and dependencies
	pastDefault                  // not at the default of the place itself
)

// frame is one step of the walk that is not finished. found is how many facts there
// were before; relies are the frames further up that were met again and skipped.
type frame struct {
	key    frameKey
	serial int
	found  int
	relies []int
}

// ending is what became of a frame. One that gave nothing did so because it skipped
// what it relies on; where one of these found something after all, it has to be
// gone through again, for then there is another path to that.
type ending struct {
	state  state
	relies []int
}

type state uint8

const (
	going state = iota
	quiet
	loud
)

// enter begins a pair. It reports false when there is nothing to do: the pair is
// being compared further up, gave nothing before, or the work is too much.
func (w *walk) enter(a, l *place, m mode) bool {
	key := frameKey{a, l, w.at, m}
	if at, ok := w.inside[key]; ok {
		w.rely(w.frames[at].serial)
		return false
	}
	if serial, ok := w.silent[key]; ok && w.stillQuiet(serial) {
		w.rely(w.ended[serial].relies...)
		return false
	}
	if w.over || w.place() {
		return false
	}
	w.inside[key] = len(w.frames)
	w.frames = append(w.frames, frame{key: key, serial: len(w.ended), found: len(w.facts)})
	w.ended = append(w.ended, ending{})
	return true
}

// stillQuiet reports whether nothing that a frame relied on found anything since.
// Afterwards it relies on frames alone that are still going.
func (w *walk) stillQuiet(serial int) bool {
	e := &w.ended[serial]
	if e.state != quiet || !slices.ContainsFunc(e.relies, func(r int) bool { return w.ended[r].state != going }) {
		return e.state == quiet
	}
	var relies []int
	for _, r := range e.relies { // all of them are older
		switch {
		case w.take(1) || w.ended[r].state != going && !w.stillQuiet(r):
			e.state = loud
			return false
		case w.ended[r].state == going:
			relies = append(relies, r)
		default:
			relies = append(relies, w.ended[r].relies...)
		}
	}
	slices.Sort(relies)
	w.ended[serial].relies = slices.Compact(relies)
	return true
}

// rely notes that the innermost frame found nothing below because of others.
func (w *walk) rely(serials ...int) {
	top := &w.frames[len(w.frames)-1]
	for _, serial := range serials {
		if i, ok := slices.BinarySearch(top.relies, serial); !ok {
			top.relies = slices.Insert(top.relies, i, serial)
			w.take(1)
		}
	}
}

// leave ends the innermost pair.
func (w *walk) leave() {
	n := len(w.frames) - 1
	top := w.frames[n]
	w.frames = w.frames[:n]
	delete(w.inside, top.key)
	if i := len(top.relies); i > 0 && top.relies[i-1] == top.serial {
		top.relies = top.relies[:i-1] // on itself
	}
	if len(w.facts) > top.found {
		w.ended[top.serial].state = loud
	} else {
		w.ended[top.serial] = ending{quiet, top.relies}
		if w.silent != nil { // nil remembers nothing: tests compare with that
			w.silent[top.key] = top.serial
		}
	}
	if n > 0 {
		w.rely(top.relies...)
	}
}

// hold notes a reason against the change.
func (w *walk) hold(reason string, path *trail, about keyword, was, is shown) {
	w.holdName(reason, path, "", about, was, is)
}

// holdName is hold; for required it is at a name below the place. What is printed
// counts as work: a name may be long, and so may be the way to it.
func (w *walk) holdName(reason string, path *trail, name string, about keyword, was, is shown) {
	if w.over {
		return
	}
	at := path.path()
	if about == kwRequired {
		at = under(at, name)
	}
	w.take(1 + path.depth + len(at)/64)
	w.facts = append(w.facts, fact{signal: Signal{Rule: SchemaShape, Reason: reason, Path: at}, keyword: about.String(), was: was, is: is})
}

// pair compares a live place with the approved one, at a spot of the instance that
// was not looked at before.
func (w *walk) pair(a, l *place, t *trail) {
	outer := w.at
	w.at = location{a.follow(), l.follow()}
	w.branch(a, l, t)
	w.at = outer
}

// branch compares two places that look at the same spot as those around them.
func (w *walk) branch(a, l *place, t *trail) {
	a, l = a.follow(), l.follow()
	if a.class == l.class || !w.enter(a, l, 0) {
		return
	}
	defer w.leave()
	w.references(a, l, t)
	switch {
	case l.form == formFalse: // nothing is admitted any more
		return
	case a.form == formFalse:
		w.hold(Type, t, kwType, text("nothing is admitted"), value(l.value, true))
		return
	}
	w.opaque(a, l, t)
	if more := l.admitted() &^ a.kinds; more != 0 {
		w.hold(Type, t, kwType, text(a.kinds.String()), text(l.admitted().String()))
	}
	w.required(a, l, t)
	w.members(a, l, t)
	w.texts(a, l, t)
	w.bounds(a, l, t)
	w.properties(a, l, t)
	w.rests(a, l, t)
	w.items(a, l, t)
	w.choices(a, l, t)
	w.turned(a, l, t)
}

// references compares what can't be followed, and who the place says it is.
func (w *walk) references(a, l *place, t *trail) {
	switch {
	case !slices.Equal(a.extern, l.extern):
		w.hold(Ref, t, kwRef, text(join(a.extern)), text(join(l.extern)))
	case !besideEqual(a, l):
		w.hold(Ref, t, kwRef, shown{}, text("the reference can be read in more than one way"))
	case l.mixed && !(a.mixed && a.own.class == l.own.class && slices.EqualFunc(a.targets, l.targets, sameClass)):
		w.hold(Ref, t, kwRef, shown{}, text("readers of older drafts ignore what stands beside $ref"))
	}
	if !w.equalWord(a, l, kwID) {
		w.hold(Ref, t, kwID, value(a.word(kwID)), value(l.word(kwID)))
	}
	if dialectWord(a) != dialectWord(l) {
		w.hold(Keyword, t, kwSchema, value(a.word(kwSchema)), value(l.word(kwSchema)))
	}
}

// dialectWord is the dialect of a $schema below the root, empty where there is none.
func dialectWord(p *place) string {
	if v, ok := p.word(kwSchema); ok {
		return dialectOf(v.Text())
	}
	return ""
}

// besideEqual reports whether the other readings of the references lead to the same.
// One that leads to the same as the first reading does not count.
func besideEqual(a, l *place) bool {
	return slices.Equal(a.besides(), l.besides())
}

// besides gives the classes of the readings, 0 for one that leads nowhere.
func (p *place) besides() []int32 {
	var classes []int32
	for _, q := range p.beside {
		class := int32(0)
		if q != nil {
			class = q.follow().class
		}
		classes = append(classes, class)
	}
	return classes
}

func sameClass(p, q *place) bool { return p.follow().class == q.follow().class }

// equalWord reports whether a keyword has the same value on both sides or none.
func (w *walk) equalWord(a, l *place, k keyword) bool {
	was, had := a.word(k)
	is, has := l.word(k)
	return had == has && (!had || was.Equal(is))
}

// opaque compares the keywords that would need a validator of their own.
func (w *walk) opaque(a, l *place, t *trail) {
	for k := kwVocabulary; k.opaque(); k++ {
		if !w.equalWord(a, l, k) {
			w.hold(Keyword, t, k, value(a.word(k)), value(l.word(k)))
		}
	}
}

// required compares the names that have to be there.
func (w *walk) required(a, l *place, t *trail) {
	for _, name := range l.required {
		if !a.requires(name) {
			w.holdName(NewRequired, t, name, kwRequired, shown{}, text(visible(name)))
		}
	}
	for _, name := range a.required {
		if !l.requires(name) {
			w.holdName(RequiredDropped, t, name, kwRequired, text(visible(name)), shown{})
		}
	}
}

// members compares enum, const, the only value, and the default.
func (w *walk) members(a, l *place, t *trail) {
	hold := func(reason string) {
		w.hold(reason, t, pick(reason == Const, kwConst, kwEnum), a.shownMembers(), l.shownMembers())
	}
	isConst := (a.limited || l.limited) && compareMembers(a, l, hold)
	if !isConst {
		if v, pinned := (pinning{w.steps, true}).pinned(l); pinned {
			if _, before := (pinning{w.steps, false}).pinned(a); !before {
				w.hold(Const, t, kwConst, shown{}, value(v, true))
			}
		}
	}
	if !w.equalWord(a, l, kwDefault) {
		w.hold(Default, t, kwDefault, value(a.word(kwDefault)), value(l.word(kwDefault)))
	}
}

// compareMembers tells what became of enum and const, and whether that was a const.
func compareMembers(a, l *place, hold func(string)) bool {
	oneWas, oneIs := a.limited && len(a.members) == 1, l.limited && len(l.members) == 1
	switch {
	case !a.limited && oneIs, oneWas && (!l.limited || len(l.members) == 0), oneWas && oneIs && !a.members[0].Equal(l.members[0]):
		hold(Const)
		return true
	case !a.limited:
		hold(EnumIntroduced)
	case !l.limited, len(l.members) == 0 && len(a.members) > 1:
		hold(EnumDropped)
	case slices.ContainsFunc(l.members, func(v contract.Value) bool { return !includes(a.members, v) }):
		hold(EnumAdded)
		fallthrough
	default:
		if oneIs && len(a.members) > 1 {
			hold(Const)
			return true
		}
	}
	return false
}

// shownMembers gives an enum or const as it was sent.
func (p *place) shownMembers() shown {
	for _, k := range [...]keyword{kwEnum, kwConst} {
		if v, ok := p.value.Get(k.String()); ok {
			return value(v, true)
		}
	}
	if p.limited {
		return text("given by what it refers to")
	}
	return shown{}
}

// texts compares pattern and format, which are compared as they are written.
func (w *walk) texts(a, l *place, t *trail) {
	for _, k := range [...]keyword{kwPattern, kwFormat, kwContentEncoding, kwContentMediaType} {
		if !w.equalWord(a, l, k) {
			w.hold(pickText(k), t, k, value(a.word(k)), value(l.word(k)))
		}
	}
	if was, is := a.part(kwContentSchema), l.part(kwContentSchema); !equalPlaces(was, is) {
		w.hold(Format, t, kwContentSchema, was.shown(), is.shown())
	}
}

func pickText(k keyword) string {
	if k == kwPattern {
		return Pattern
	}
	return Format
}

// equalPlaces reports whether both are absent or mean the same.
func equalPlaces(p, q *place) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.class == q.class
}

// shown gives a subschema for the eye; nothing for an absent one.
func (p *place) shown() shown {
	if p == nil {
		return shown{}
	}
	return value(p.value, true)
}
