package settings

import (
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// grants is what of a project's layer counts only when it is trusted, in words.
func (l *layer) grants() []Grant {
	var all []Grant
	add := func(kind, what string, at policy.Place) { all = append(all, Grant{kind, what, at}) }
	for _, r := range l.rules {
		if r.effect == policy.Allow {
			what := r.rule.Text()
			if how := r.rule.AnyProgram(); how != "" {
				what += " (lets any program be run: " + how + ")"
			}
			add("allow", what, r.rule.Place())
		}
	}
	if l.mode != "" && !tightens(l.mode) {
		add("defaultMode", string(l.mode), l.place(l.modeLine))
	}
	for _, d := range l.dirs {
		add("additionalDirectories", d.value, l.place(d.line))
	}
	for _, h := range l.hooks {
		add("hook", fmt.Sprintf("%s %q: %s", h.Event, h.Matcher, h.Command), h.At)
		for _, f := range h.Files {
			if f.Script && !f.Missing {
				add("script", f.Path, h.At)
			}
		}
	}
	for _, part := range []struct{ key, value string }{
		{"mode", l.confine.Mode},
		{"network", l.confine.Network},
		{"readable", strings.Join(l.confine.Readable, ", ")},
		{"writable", strings.Join(l.confine.Writable, ", ")},
		{"env", strings.Join(l.confine.Env, ", ")},
	} {
		if part.value != "" {
			add("sandbox", part.key+" "+part.value, l.place(0))
		}
	}
	if l.unix != nil && *l.unix {
		add("sandbox", "unixSockets", l.place(0))
	}
	return all
}
