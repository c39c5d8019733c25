package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// settle decides what of everything that was read counts.
func (p *project) settle(o Options, trusted bool) (*Settings, error) {
	s := &Settings{
		Dir: p.dir, Home: p.home, State: p.state, Trusted: trusted,
		Contracts: p.contracts, Specs: p.specs, FoldCase: foldsCase(p.dir),
	}
	s.Own = slices.Clone(p.own)
	slices.Sort(s.Own)
	s.Own = slices.Compact(s.Own)
	for _, l := range p.layers {
		if l.present {
			s.Layers = append(s.Layers, LayerSummary{
				Layer: l.layer, File: l.path,
				Allow: l.count(policy.Allow), Ask: l.count(policy.Ask), Deny: l.count(policy.Deny),
				Uncounted: !trusted && !l.owned(),
			})
		}
		if vain := l.vain(); !trusted && vain != "" {
			s.Ignored = append(s.Ignored, fmt.Sprintf("%s: %s: not counted, for the project is not trusted: read it, then run `holdfast trust`", l.path, vain))
		}
		for _, r := range l.rules {
			if trusted || l.owned() || r.effect != policy.Allow {
				s.Rules = append(s.Rules, r.rule)
			}
		}
	}
	if err := p.settleMode(o, s); err != nil {
		return nil, err
	}
	if err := p.settleRoots(o, s); err != nil {
		return nil, err
	}
	p.settleHooks(s)
	return s, p.settleSandbox(o, s)
}

// vain says what of a project's layer does not count without trust; empty when all
// of it counts.
func (l *layer) vain() string {
	if !l.present || l.owned() {
		return ""
	}
	var list []string
	if n := l.count(policy.Allow); n > 0 {
		list = append(list, fault.Plural(n, "allow rule"))
	}
	if l.mode != "" && !tightens(l.mode) {
		list = append(list, "defaultMode "+string(l.mode))
	}
	if len(l.dirs) > 0 {
		list = append(list, "additionalDirectories")
	}
	if len(l.hooks) > 0 {
		list = append(list, "hooks")
	}
	if l.confines() {
		list = append(list, "sandbox")
	}
	return strings.Join(list, ", ")
}

func (l *layer) confines() bool {
	c := l.confine
	return c.Mode != "" || c.Network != "" || l.unix != nil || len(c.Readable)+len(c.Writable)+len(c.Env) > 0
}

// tightens reports whether a mode may come from a project that nobody trusts.
func tightens(m policy.Mode) bool { return m == policy.Plan || m == policy.DontAsk }

// counting are the layers that count as a whole.
func (p *project) counting(trusted bool) []*layer {
	return slices.DeleteFunc(slices.Clone(p.layers), func(l *layer) bool { return !l.present || !trusted && !l.owned() })
}

// settleMode finds the strongest mode and has it clamped.
func (p *project) settleMode(o Options, s *Settings) error {
	c := policy.Choice{Trusted: s.Trusted, Root: o.Root}
	if o.Mode != "" {
		m, err := policy.ParseMode(o.Mode)
		if err != nil {
			return problem(policy.Place{Layer: policy.CommandLine}, fault.BadInput, "", "--mode: %s", err)
		}
		c.Flag = m
	}
	for _, l := range p.layers {
		if l.mode != "" && c.Configured == "" && (s.Trusted || l.owned() || tightens(l.mode)) {
			c.Configured, c.At = l.mode, l.place(l.modeLine)
		}
		if l.forbid > 0 && c.Forbidden == nil {
			at := l.place(l.forbid)
			c.Forbidden = &at
		}
	}
	// Managed settings are stronger than the command line. A permissive mode there says
	// nothing of an unattended start, so that it does not keep --mode from being given.
	managed := c.Configured != "" && c.At.Layer == policy.Managed && c.Configured != policy.AcceptEdits && c.Configured != policy.Bypass
	if managed && c.Flag != "" && c.Flag != c.Configured {
		s.Ignored = append(s.Ignored, fmt.Sprintf("--mode %s: not counted, for %s:%d says %s, and managed settings are the stronger", c.Flag, c.At.File, c.At.Line, c.Configured))
		c.Flag = ""
	}
	mode, clamp, err := policy.Unattended(c)
	if err != nil {
		at := policy.Place{Layer: policy.CommandLine}
		if c.Forbidden != nil {
			at = *c.Forbidden
		}
		return problem(at, fault.Forbidden, "Give another --mode, or write allow rules for what is wanted.", "%s", err)
	}
	s.Mode, s.Clamp = mode, clamp
	return nil
}

// settleRoots finds the workspace and the additional directories.
func (p *project) settleRoots(o Options, s *Settings) error {
	add := func(at policy.Place, path string) error {
		given, real, err := realFolder(path)
		if err != nil {
			return problem(at, fault.NotFound, "Make it, or take it out.", "the additional directory %s %s", path, err)
		}
		if err := p.checkRoot(real, at); err != nil {
			return err
		}
		if !slices.Contains(s.Roots, real) {
			s.Roots = append(s.Roots, real)
		}
		if given != real && !slices.Contains(s.Given, given) {
			s.Given = append(s.Given, given)
		}
		return nil
	}
	if err := add(policy.Place{}, p.given); err != nil {
		return err
	}
	for _, dir := range o.AddDirs {
		if err := add(policy.Place{Layer: policy.CommandLine}, dir); err != nil {
			return err
		}
	}
	for _, l := range p.counting(s.Trusted) {
		folder := ""
		if !l.owned() {
			folder = p.dir
		}
		for _, dir := range l.dirs {
			full, err := fullPath(dir.value, folder, p.home)
			if err == nil {
				err = add(l.place(dir.line), full)
			}
			if err != nil {
				return err
			}
		}
	}
	if s.Roots[0] != p.dir {
		return problem(policy.Place{}, fault.Conflict, "Start again.", "the workspace %s was replaced while it was read", p.given)
	}
	return nil
}

// settleHooks finds the hooks that run: disableAllHooks switches off those of its own
// layer and of weaker ones, and the strongest that says something speaks.
func (p *project) settleHooks(s *Settings) {
	off := policy.NoLayer
	for _, l := range p.layers {
		if l.hooksOff != nil {
			if *l.hooksOff {
				off = l.layer
			}
			break
		}
	}
	s.HooksOff = off != policy.NoLayer
	for _, l := range p.counting(s.Trusted) {
		if !s.HooksOff || l.layer < off {
			s.Hooks = append(s.Hooks, l.hooks...)
		}
	}
	for n, h := range s.Hooks {
		s.Hooks[n].Modules = s.modules(h)
	}
}

// settleSandbox joins what the layers say of the sandbox, strongest first.
func (p *project) settleSandbox(o Options, s *Settings) error {
	if o.Sandbox != "" && !slices.Contains([]string{"read-only", "workspace-write", "off"}, o.Sandbox) {
		return problem(policy.Place{Layer: policy.CommandLine}, fault.BadInput, "", "--sandbox: %q is not one of them; %s",
			show(o.Sandbox), nearest(o.Sandbox, []string{"off", "read-only", "workspace-write"}))
	}
	var unix *bool
	for _, l := range p.counting(s.Trusted) {
		if l.layer > policy.CommandLine && s.Sandbox.Mode == "" {
			s.Sandbox.Mode = o.Sandbox
		}
		if s.Sandbox.Mode == "" {
			s.Sandbox.Mode = l.confine.Mode
		}
		if s.Sandbox.Network == "" {
			s.Sandbox.Network = l.confine.Network
		}
		if unix == nil {
			unix = l.unix
		}
		s.Sandbox.Readable = append(s.Sandbox.Readable, l.confine.Readable...)
		s.Sandbox.Writable = append(s.Sandbox.Writable, l.confine.Writable...)
		s.Sandbox.Env = append(s.Sandbox.Env, l.confine.Env...)
	}
	if s.Sandbox.Mode == "" {
		s.Sandbox.Mode = o.Sandbox
	}
	if o.Sandbox != "" && o.Sandbox != s.Sandbox.Mode {
		s.Ignored = append(s.Ignored, fmt.Sprintf("--sandbox %s: not counted, for the managed settings say %s, and are the stronger", o.Sandbox, s.Sandbox.Mode))
	}
	if s.Sandbox.Mode == "" {
		s.Sandbox.Mode = "workspace-write"
	}
	if s.Sandbox.Network == "" {
		s.Sandbox.Network = "none"
	}
	s.Sandbox.UnixSockets = unix != nil && *unix
	return nil
}

// foldsCase reports whether the file system takes names that differ in case for one.
func foldsCase(dir string) bool {
	for path := dir; ; path = filepath.Dir(path) {
		base := filepath.Base(path)
		other := strings.ToUpper(base)
		if other == base {
			other = strings.ToLower(base)
		}
		if other != base {
			return sameFile(path, filepath.Join(filepath.Dir(path), other))
		}
		if filepath.Dir(path) == path {
			return false
		}
	}
}
