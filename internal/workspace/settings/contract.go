package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Words of a contract.
var (
	topKeys     = []string{"version", "defaults", "rules"}
	axisKeys    = []string{"read", "write", "execute"}
	ruleKeys    = []string{"glob", "read", "write", "execute", "owner", "reason"}
	effectWords = []string{"allow", "ask", "deny"}
	effects     = map[string]policy.Effect{"allow": policy.Allow, "ask": policy.Ask, "deny": policy.Deny}
)

// contractReader reads one contract and collects what is wrong with it.
type contractReader struct{ reader }

// ParseContract reads the text of a contract strictly: version 1, known keys, each
// once; no anchors, aliases, tags, merges, nulls or second document. path stands in
// errors. Patterns are checked when the contract is compiled, see policy.NewContract.
func ParseContract(layer policy.Layer, path string, data []byte) (policy.ContractSpec, error) {
	return parseContract(source{layer: layer, path: path, present: true, data: data})
}

func parseContract(s source) (policy.ContractSpec, error) {
	r := &contractReader{reader{source: s}}
	spec := policy.ContractSpec{At: s.place(0)}
	if top := r.document(); top != nil {
		r.top(top, &spec)
	}
	return spec, r.err()
}

// document gives the one mapping of the file; nil when there is none.
func (r *contractReader) document() *yaml.Node {
	switch {
	case len(r.data) > maxContract:
		r.say(1, "", fmt.Sprintf("the file is over %d KiB", maxContract>>10))
		return nil
	case !utf8.Valid(r.data) || bytes.IndexByte(r.data, 0) >= 0:
		r.say(1, "", "the file is not valid UTF-8")
		return nil
	}
	d := yaml.NewDecoder(bytes.NewReader(r.data))
	var doc, more yaml.Node
	err := d.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		r.say(1, "", "the file is empty; \"version: 1\" is the smallest contract")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		r.say(max(1, more.Line), "", "something follows behind the contract: a file holds one document (nothing after --- or ...)")
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		r.say(1, "", "the file holds no contract")
		return nil
	}
	if !r.plain(doc.Content[0]) {
		return nil
	}
	return doc.Content[0]
}

// plain refuses what makes a value another than it looks: anchors, aliases, tags.
func (r *contractReader) plain(n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.say(n.Line, "", "aliases (*name) are not taken; a pattern that begins with * must stand in quotes")
	case n.Anchor != "":
		r.say(n.Line, "", "anchors (&name) are not taken")
	case n.Style&yaml.TaggedStyle != 0:
		r.say(n.Line, "", "tags (!name) are not taken; a text that begins with ! must stand in quotes")
	default:
		ok := true
		for _, c := range n.Content {
			ok = r.plain(c) && ok
		}
		return ok
	}
	return false
}

// mapping reads a mapping of known keys, each at most once.
func (r *contractReader) mapping(n *yaml.Node, key string, known []string, read func(name, key string, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.say(n.Line, key, "must be a mapping of "+strings.Join(known, ", "))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		if name.Kind != yaml.ScalarNode || name.Tag != "!!str" {
			r.say(name.Line, key, "has a key that is no word; "+nearest("", known))
			continue
		}
		path := strings.TrimPrefix(key+"."+show(name.Value), ".")
		if first, twice := seen[name.Value]; twice {
			r.say(name.Line, path, fmt.Sprintf("stands here for the second time; the first is in line %d", first))
			continue
		}
		seen[name.Value] = name.Line
		if !slices.Contains(known, name.Value) {
			r.say(name.Line, path, "unknown key; "+nearest(name.Value, known))
			continue
		}
		read(name.Value, path, n.Content[i+1])
	}
}

func (r *contractReader) top(n *yaml.Node, spec *policy.ContractSpec) {
	version := false
	r.mapping(n, "", topKeys, func(name, key string, v *yaml.Node) {
		switch name {
		case "version":
			version = true
			if v.Tag != "!!int" || v.Value != "1" {
				r.say(v.Line, key, "must be 1, the one version that there is")
			}
		case "defaults":
			r.mapping(v, key, axisKeys, func(name, key string, v *yaml.Node) { r.axis(&spec.Defaults, name, key, v) })
		case "rules":
			if v.Kind != yaml.SequenceNode {
				r.say(v.Line, key, "must be a list of rules")
				return
			}
			for i, c := range v.Content {
				spec.Rules = append(spec.Rules, r.rule(c, fmt.Sprintf("%s[%d]", key, i)))
			}
		}
	})
	if !version && n.Kind == yaml.MappingNode {
		r.say(n.Line, "", "has no version; write \"version: 1\"")
	}
}

func (r *contractReader) rule(n *yaml.Node, key string) policy.ContractRule {
	rule := policy.ContractRule{Line: n.Line}
	before := len(r.problems)
	r.mapping(n, key, ruleKeys, func(name, key string, v *yaml.Node) {
		switch name {
		case "glob":
			rule.Glob = r.word(v, key)
		case "owner":
			rule.Owner = r.word(v, key)
		case "reason":
			rule.Reason = r.word(v, key)
		default:
			r.axis(&rule.Axes, name, key, v)
		}
	})
	if len(r.problems) > before {
		return rule
	}
	if rule.Glob == "" {
		r.say(n.Line, key, "has no glob: it would name no file")
	}
	if rule.Axes == (policy.Axes{}) {
		r.say(n.Line, key, "has none of read, write, execute: it would say nothing")
	}
	return rule
}

// word reads a text that is not empty.
func (r *contractReader) word(n *yaml.Node, key string) string {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str":
		r.say(n.Line, key, "must be a text; put it in quotes")
	case strings.TrimSpace(n.Value) == "":
		r.say(n.Line, key, "must not be empty")
	case unprintable(n.Value) != "":
		r.say(n.Line, key, unprintable(n.Value))
	default:
		return n.Value
	}
	return ""
}

func (r *contractReader) axis(into *policy.Axes, name, key string, n *yaml.Node) {
	effect, ok := effects[n.Value]
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || !ok {
		r.say(n.Line, key, fmt.Sprintf("must be one of allow, ask, deny; %s", nearest(n.Value, effectWords)))
		return
	}
	switch name {
	case "read":
		into.Read = effect
	case "write":
		into.Write = effect
	case "execute":
		into.Execute = effect
	}
}

// compile makes the contract of a file; nil when the file is not there.
func (s source) compile(folder, home string) (*policy.Contract, *policy.ContractSpec, error) {
	if !s.present {
		return nil, nil, nil
	}
	spec, err := parseContract(s)
	if err != nil {
		return nil, nil, err
	}
	c, err := policy.NewContract(spec, folder, home)
	if err != nil {
		at := s.place(lineOf(spec, folder, home))
		return nil, nil, problem(at, fault.BadInput, "Put the contract right; nothing starts before.", "%s:%d: %s", s.path, at.Line, err)
	}
	return &c, &spec, nil
}

// lineOf is the line of the first rule of a contract that does not compile; 1 when
// each does alone.
func lineOf(spec policy.ContractSpec, folder, home string) int {
	for _, rule := range spec.Rules {
		if _, err := policy.NewContract(policy.ContractSpec{At: spec.At, Rules: []policy.ContractRule{rule}}, folder, home); err != nil {
			return rule.Line
		}
	}
	return 1
}
