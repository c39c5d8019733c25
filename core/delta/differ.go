package delta

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// definition tells everything that changed in a definition and is not told by a
// held fact.
func (c *changes) definition(a, l contract.Value) {
	c.members(a, l, "", func(name, path string, was, is shown) {
		switch name {
		case "name":
		case "title", "description":
			c.text(path, name, was, is)
		case "inputSchema", "outputSchema":
			c.schema(path, name, was, is)
		case "annotations":
			c.members(was.value, is.value, path+"/", func(name, path string, was, is shown) {
				if isText(was) && isText(is) {
					c.text(path, name, was, is)
				} else {
					c.other(path, "annotations."+name, was, is)
				}
			})
		default:
			c.other(path, name, was, is)
		}
	})
}

// members goes through the members that differ, by name.
func (c *changes) members(a, l contract.Value, prefix string, differs func(name, path string, was, is shown)) {
	var names []string
	for _, m := range a.Members() {
		names = append(names, m.Name)
	}
	for _, m := range l.Members() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		was, is := value(a.Get(name)), value(l.Get(name))
		if was.there == is.there && was.value.Equal(is.value) {
			continue
		}
		if c.room(prefix, name) {
			differs(name, prefix+pointerStep(name), was, is)
		}
	}
}

// room reports whether one more path may be written; else the change is counted.
func (c *changes) room(prefix, name string) bool {
	c.paths += len(prefix) + len(name)
	if c.paths > maxPrinted {
		c.left++
	}
	return c.paths <= maxPrinted
}

// text tells a change of a text, word by word where both are strings.
func (c *changes) text(path, keyword string, was, is shown) {
	line := Line{Was: was.String(), Is: is.String()}
	switch {
	case !was.there:
		line.Sentence = fmt.Sprintf("The text %s is new.", visible(keyword))
	case !is.there:
		line.Sentence = fmt.Sprintf("The text %s is gone.", visible(keyword))
	default:
		line.Sentence = fmt.Sprintf("The text %s changed.", visible(keyword))
	}
	if was.value.Kind() == contract.String || is.value.Kind() == contract.String {
		line.Runs = wordRuns(was.value.Text(), is.value.Text())
	}
	c.add(path, keyword, line)
}

// other tells a change of anything else.
func (c *changes) other(path, keyword string, was, is shown) {
	c.labelled(path, keyword, visible(keyword), was, is)
}

// labelled is other under the name that a person has for the thing.
func (c *changes) labelled(path, keyword, label string, was, is shown) {
	verb := "changed"
	switch {
	case !was.there:
		verb = "is new"
	case !is.there:
		verb = "is gone"
	}
	c.add(path, keyword, Line{Sentence: fmt.Sprintf("%s %s.", label, verb), Was: was.String(), Is: is.String()})
}

// schema tells what changed in a schema, keyword by keyword. path is that of the
// schema, keyword that which holds it.
func (c *changes) schema(path, keyword string, was, is shown) {
	if was.value.Kind() != contract.Object || is.value.Kind() != contract.Object {
		c.other(path, keyword, was, is)
		return
	}
	c.members(was.value, is.value, path+"/", func(name, at string, was, is shown) {
		key := keywordOf(name)
		switch {
		case key == kwText:
			c.text(at, name, was, is)
		case key == kwRequired:
			c.required(path, was.value, is.value)
		case key.mapsNames() && was.value.Kind() == contract.Object && is.value.Kind() == contract.Object:
			c.members(was.value, is.value, at+"/", func(sub, at string, was, is shown) {
				c.named(path, at, name, fmt.Sprintf("%s \"%s\"", name, visible(sub)), was, is)
			})
		case key.holdsOne() && was.there && is.there && was.value.Kind() != contract.Array:
			c.schema(at, name, was, is)
		case key.holdsList() || key == kwItems && was.value.Kind() == contract.Array:
			c.list(path, at, name, was.value, is.value)
		default:
			c.keyword(path, name, was, is)
		}
	})
}

// keyword tells a change of a keyword at a place.
func (c *changes) keyword(place, name string, was, is shown) {
	if c.told[place+"\x00"+name] {
		return
	}
	c.other(place+"/"+pointerStep(name), name, was, is)
}

// required tells the names that came and went.
func (c *changes) required(place string, was, is contract.Value) {
	a, okA := namesOf(was)
	l, okL := namesOf(is)
	if !okA && was.Kind() != contract.Null || !okL && is.Kind() != contract.Null {
		c.keyword(place, "required", value(was, true), value(is, true))
		return
	}
	for _, name := range l {
		if !contains(a, name) && c.room(place, name) {
			c.add(place+"/"+pointerStep(name), "required", Line{Sentence: fmt.Sprintf("\"%s\" is required.", visible(name))})
		}
	}
	for _, name := range a {
		if !contains(l, name) && c.room(place, name) {
			c.add(place+"/"+pointerStep(name), "required", Line{Sentence: fmt.Sprintf("\"%s\" is not required any more.", visible(name))})
		}
	}
}

// contains looks into names, which are sorted.
func contains(names []string, name string) bool {
	_, ok := slices.BinarySearch(names, name)
	return ok
}

// named tells a change of a schema under a name.
func (c *changes) named(place, path, keyword, label string, was, is shown) {
	switch {
	case was.there && is.there:
		c.schema(path, keyword, was, is)
	case !c.told[place+"\x00"+keyword]:
		if keyword == "properties" {
			label = "The property" + label[len(keyword):]
		}
		c.labelled(path, keyword, label, was, is)
	}
}

// list tells changes of branches and of items, one by one in their order.
func (c *changes) list(place, path, keyword string, was, is contract.Value) {
	a, l := was.Items(), is.Items()
	for i := range max(len(a), len(l)) {
		if i < min(len(a), len(l)) && a[i].Equal(l[i]) || !c.room(path, keyword) {
			continue
		}
		at, label := path+"/"+strconv.Itoa(i), fmt.Sprintf("%s %d", keyword, i)
		switch {
		case i >= len(a):
			c.named(place, at, keyword, label, shown{}, value(l[i], true))
		case i >= len(l):
			c.named(place, at, keyword, label, value(a[i], true), shown{})
		default:
			c.schema(at, keyword, value(a[i], true), value(l[i], true))
		}
	}
}
