package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

const (
	maxSecret   = 64 << 10         // bytes of a file that a reference names
	maxMasked   = 16 << 10         // bytes of a text that is shown in part; a longer one is hidden whole
	keyringWait = 20 * time.Second // for the keyring to answer; it may ask the person
)

// reference is one ${kind:name}; "$${" is a written "${".
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\$\{|\$\{[^{}]*\}?`) })

// split gives the kind and name of what stands between the braces.
func split(match string) (kind, name string, err error) {
	if !strings.HasSuffix(match, "}") {
		return "", "", errors.New("has a ${ that is not closed; write $${ for a literal one")
	}
	inner := match[len("${") : len(match)-1]
	kind, name, ok := strings.Cut(inner, ":")
	switch {
	case !ok:
		return "", "", errors.New("has a reference without a kind; write ${env:NAME}, ${file:PATH} or ${keyring:NAME}, or $${ for a literal ${")
	case kind != "env" && kind != "file" && kind != "keyring":
		return "", "", fmt.Errorf("has a reference of the unknown kind %q; known are env, file and keyring", show(kind))
	case name == "":
		return "", "", fmt.Errorf("has a reference ${%s:} without a name", kind)
	}
	return kind, name, nil
}

// checkReferences finds what is wrong with the references of s.
func checkReferences(s string) error {
	for _, m := range reference().FindAllString(s, -1) {
		if strings.HasPrefix(m, "$$") {
			continue
		}
		if _, _, err := split(m); err != nil {
			return err
		}
	}
	return nil
}

// withoutReferences is s with a letter in the place of each reference.
func withoutReferences(s string) string {
	return reference().ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		return "x"
	})
}

// Expand resolves ${env:NAME}, ${file:PATH} and ${keyring:NAME} in s, and "$${" to
// "${". What a reference gives is not looked at again. The error names the
// reference and never contains a value. It may wait for a keyring, 20 seconds at most.
func Expand(s string) (string, error) {
	var failed error
	out := reference().ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		if failed != nil {
			return ""
		}
		kind, name, err := split(m)
		if err != nil {
			failed = fault.New(fault.BadInput, "a value "+err.Error(), "")
			return ""
		}
		value, err := resolve(kind, name)
		if err != nil {
			failed = err
		}
		return value
	})
	if failed != nil {
		return "", failed
	}
	if strings.ContainsRune(out, 0) {
		return "", fault.New(fault.BadInput, "a reference gives a value with a NUL character", "")
	}
	return out, nil
}

func resolve(kind, name string) (string, error) {
	switch kind {
	case "env":
		value, ok := os.LookupEnv(name)
		if !ok {
			return "", fault.New(fault.NotFound, fmt.Sprintf("${env:%s}: there is no environment variable of that name", show(name)), "Set it where Holdfast is started.")
		}
		return value, nil
	case "file":
		return fromFile(name)
	default:
		return fromKeyring(name)
	}
}

// fromFile reads a secret from a file; one line break at its end is not part of it.
func fromFile(path string) (string, error) {
	full := path
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fault.Wrap(err, fault.NotFound, "${file:~/...}: there is no home directory", "")
		}
		full = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(full) {
		return "", fault.New(fault.BadInput, fmt.Sprintf("${file:%s}: the path must be absolute or begin with ~/", path), "")
	}
	data, err := readBounded(full, maxSecret)
	if errors.Is(err, errTooBig) {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("${file:%s}: the file is over 64 KiB, too large for one value", path), "")
	}
	if err != nil {
		return "", fault.Wrap(err, fault.NotFound, fmt.Sprintf("${file:%s}: %s", path, reason(err)), "")
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// keyringCommand is the system's own program that reads a keyring; nil where none
// is known. The entries are those of service "holdfast".
func keyringCommand(goos, name string) []string {
	switch goos {
	case "darwin":
		return []string{"/usr/bin/security", "find-generic-password", "-s", "holdfast", "-a", name, "-w"}
	case "windows", "plan9", "js", "wasip1":
		return nil
	default:
		return []string{"secret-tool", "lookup", "service", "holdfast", "name", name}
	}
}

func fromKeyring(name string) (string, error) {
	args := keyringCommand(runtime.GOOS, name)
	if args == nil {
		return "", fault.New(fault.Unavailable, fmt.Sprintf("${keyring:%s}: the keyring of this system can't be read", show(name)), "Use ${env:NAME} or ${file:PATH}.")
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyringWait)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	value := strings.TrimSuffix(string(out), "\n")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fault.Wrap(err, fault.Unavailable, fmt.Sprintf("${keyring:%s}: %s is not installed", show(name), args[0]), "Install it (libsecret), or use ${env:NAME} or ${file:PATH}.")
	case ctx.Err() != nil:
		return "", fault.New(fault.Timeout, fmt.Sprintf("${keyring:%s}: the keyring did not answer in %s", show(name), keyringWait), "Unlock it and try again.")
	case err != nil || value == "":
		return "", fault.New(fault.NotFound, fmt.Sprintf("${keyring:%s}: the keyring has no such entry of service holdfast, or is locked", show(name)), "")
	}
	return value, nil
}

// hidden stands for what is not shown.
const hidden = "***"

var (
	secretName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(token|secret|passw|pwd|credential|authorization|cookie|session|private|api[-_]?key|access[-_]?key|(^|[-_.])key$|(^|[-_.])auth$|signature|(^|[-_.])pat$)`)
	})
	secretText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(sk|pk|rk|ghp|gho|ghu|ghs|glpat|xox[a-z]|npm|pypi|holdfast)[-_][A-Za-z0-9_-]{8,}|github_pat_\w{8,}|AKIA[0-9A-Z]{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,}(\.[\w-]*)*|[A-Za-z0-9+/_=-]{32,}`)
	})
	assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([\w.-]+)=([^&\s;,]+)`) })
	userinfo   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(://)[^/@\s]+@`) })
	bearer     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(bearer|basic|token)\s+\S+`) })
)

// Mask gives s with everything secret-looking hidden: for showing it. key is
// "command", "cwd", "type", "args" or "url" for those; any other is the name of an
// environment variable or a header, of which the whole value is hidden. References
// stay: they say where a secret is, not what it is.
func Mask(key, s string) string {
	if len(s) > maxMasked {
		return hidden // nobody reads it, and looking through it takes time
	}
	var shown strings.Builder
	last := 0
	for _, m := range reference().FindAllStringIndex(s, -1) {
		if strings.HasPrefix(s[m[0]:m[1]], "$$") {
			continue
		}
		shown.WriteString(maskLiteral(key, s[last:m[0]]))
		shown.WriteString(s[m[0]:m[1]])
		last = m[1]
	}
	shown.WriteString(maskLiteral(key, s[last:]))
	return shown.String()
}

func maskLiteral(key, s string) string {
	switch key {
	case "type", "command", "cwd", "args", "url":
	default:
		if strings.TrimSpace(s) == "" {
			return s
		}
		return hidden
	}
	s = userinfo().ReplaceAllString(s, "${1}"+hidden+"@")
	s = bearer().ReplaceAllString(s, "${1} "+hidden)
	s = assignment().ReplaceAllStringFunc(s, func(m string) string {
		name, _, _ := strings.Cut(m, "=")
		if secretName().MatchString(name) {
			return name + "=" + hidden
		}
		return m
	})
	return secretText().ReplaceAllStringFunc(s, func(m string) string {
		if key == "command" || key == "cwd" || strings.Count(m, "/") > 2 || !strings.ContainsAny(m, "0123456789") {
			return m // a path or words
		}
		return hidden
	})
}

// MaskProgram gives a program with Mask applied to all that it has; in args also
// the value that follows an option with a secret-looking name (--token VALUE).
func MaskProgram(p approval.Program) approval.Program {
	args := make([]string, len(p.Args))
	follows := false
	for n, arg := range p.Args {
		args[n] = Mask("args", arg)
		option := strings.HasPrefix(arg, "-")
		if follows && !option {
			args[n] = Mask("value", arg)
		}
		follows = option && !strings.Contains(arg, "=") && secretName().MatchString(strings.TrimLeft(arg, "-"))
	}
	if p.Args != nil {
		p.Args = args
	}
	p.URL = Mask("url", p.URL)
	p.Env, p.Headers = maskAll(p.Env), maskAll(p.Headers)
	return p
}

func maskAll(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	masked := make(map[string]string, len(m))
	for name, value := range m {
		masked[name] = Mask(name, value)
	}
	return masked
}
