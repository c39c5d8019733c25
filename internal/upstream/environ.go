package upstream

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// A program gets these of Holdfast's own variables and no others: what it needs to
// run, and nothing that holds a secret by habit.
var (
	inherited = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ",
		"LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	}
	inheritedPrefixes = []string{"LC_", "XDG_"}
	inheritedProxies  = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"}
	inheritedWindows  = []string{
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
		"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "USERPROFILE", "USERNAME", "USERDOMAIN",
		"HOMEDRIVE", "HOMEPATH", "PUBLIC", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS",
	}
)

// environment gives a program's variables: of ours those on the list, then its own,
// sorted.
func environment(own map[string]string, ours []string, goos string) []string {
	env := map[string]string{}
	for _, e := range ours {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			continue // Windows keeps the directories of its drives so
		}
		if value, ok = inherit(name, value, goos); ok {
			env[name] = value
		}
	}
	for name, value := range own {
		maps.DeleteFunc(env, func(n, _ string) bool { return sameName(n, name, goos) })
		env[name] = value
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

func sameName(a, b, goos string) bool {
	return a == b || goos == "windows" && strings.EqualFold(a, b)
}

func inherit(name, value, goos string) (string, bool) {
	on := func(list []string) bool {
		return slices.ContainsFunc(list, func(n string) bool { return sameName(n, name, goos) })
	}
	switch {
	case on(inheritedProxies):
		return withoutCredentials(name, value)
	case on(inherited), goos == "windows" && on(inheritedWindows):
		return value, true
	}
	return value, slices.ContainsFunc(inheritedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// withoutCredentials takes user and password out of a proxy's URL. One that can't
// be read is left out.
func withoutCredentials(name, value string) (string, bool) {
	if strings.EqualFold(name, "NO_PROXY") || !strings.Contains(value, "@") {
		return value, true
	}
	scheme := ""
	if !strings.Contains(value, "://") {
		scheme = "http://"
	}
	u, err := url.Parse(scheme + value)
	if err != nil || u.Host == "" || strings.Contains(u.Host, "@") {
		return "", false
	}
	u.User = nil
	return strings.TrimPrefix(u.String(), scheme), true
}
