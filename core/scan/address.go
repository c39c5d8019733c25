package scan

import (
	"bytes"
	"slices"
	"strings"
)

// address reads a link, a mail address or a host name that begins with the word
// b[start:end] of hash h, and gives where it ends.
func (z *tokenizer) address(b []byte, start, end int, h uint64) (int, bool) {
	if end-start >= 4 && digit(b[start+3]) || end-start == 42 {
		if stop := payee(b, start, end); stop > 0 {
			z.note("payee", start, stop)
			return stop, true
		}
	}
	if end+1 >= len(b) {
		return 0, false
	}
	switch b[end] {
	case ':':
		if end+3 < len(b) && b[end+1] == '/' && b[end+2] == '/' && b[end+3] > ' ' {
			stop := runEnd(b, end+3)
			if slices.Contains(schemes, string(b[start:end])) {
				z.note("url", start, stop)
			} else {
				z.note("path", start, stop)
			}
			if string(b[start:end]) == "file" && secretPath(b[end:stop]) {
				z.emit(z.lex.bitOf("secretpath"), z.raw(start), z.end(stop))
			}
			if e := z.lex.find(h); e != nil {
				z.emit(e.means, z.raw(start), z.end(stop)) // a scheme can be a word turned
			}
			return stop, true
		}
		if end-start == 1 && (b[end+1] == '\\' || b[end+1] == '/') && b[end+1] != b[end] {
			return z.path(b, start), true
		}
	case '@':
		if stop := hostEnd(b, end+1); stop > 0 {
			z.note("mail", start, stop)
			if e := z.lex.find(h); e != nil { // user@..., name@...
				z.r.tokens[len(z.r.tokens)-1].means = e.means.or(z.lex.bitOf("mail"))
				z.means = z.means.or(e.means)
			}
			return stop, true
		}
	case '.', '-':
		if start > 0 && (b[start-1] == '.' || b[start-1] == '/') || !isWord[b[end+1]] {
			return 0, false
		}
		if stop := hostEnd(b, start); stop > end {
			if stop < len(b) && b[stop] == '@' {
				return 0, false // the local part of a mail address
			}
			if stop < len(b) && (b[stop] == '/' || b[stop] == ':') {
				stop = runEnd(b, stop)
			}
			z.note("host", start, stop)
			return stop, true
		}
	}
	return 0, false
}

// schemes are those of links that lead to other machines. Others are names of things
// that a program has itself.
var schemes = []string{"http", "https", "hxxp", "hxxps", "ftp", "ftps", "sftp", "ssh", "ws", "wss", "file", "s3", "gs", "tcp", "udp", "ldap", "ldaps", "smb", "nfs", "rtmp", "data", "mailto"}

func (z *tokenizer) note(name string, start, end int) {
	z.count++
	z.emit(z.lex.bitOf(name), z.raw(start), z.end(end))
	z.singles, z.lastHit = 0, true
}

// runEnd is where a run without white space, quotes or angle brackets ends, less
// the punctuation of the sentence.
func runEnd(b []byte, i int) int {
	from := i
	for i < len(b) && b[i] > ' ' && b[i] != '"' && b[i] != '\'' && b[i] != '`' && b[i] != '<' && b[i] != '>' && b[i] != '|' {
		i++
	}
	for i > from && strings.IndexByte(".,;:!?)]}", b[i-1]) >= 0 {
		i--
	}
	return i
}

// topLevels are last labels by which a dotted name is taken for a host. Those that
// are also endings of file names are left out.
var topLevels = []string{
	"com", "net", "org", "io", "example", "invalid", "test", "dev", "app", "xyz", "ru", "cn", "info", "biz", "site", "online", "club",
	"me", "co", "ai", "cc", "tk", "ws", "to", "link", "live", "cloud", "tech", "store", "shop", "top", "eu", "de", "fr", "uk", "nl", "onion", "local", "internal",
}

// hostEnd is where a host name or an IPv4 address that begins at i ends; 0 when
// there is none.
func hostEnd(b []byte, i int) int {
	from, dots, digits := i, 0, true
	last := i
	for i < len(b) && i-from < 255 && (isWord[b[i]] && b[i] != '\'' || b[i] == '-' || b[i] == '.' && i+1 < len(b) && isWord[b[i+1]]) {
		if b[i] == '.' {
			dots++
			last = i + 1
		} else if b[i] < '0' || b[i] > '9' {
			digits = false
		}
		i++
	}
	if dots == 0 || i == last {
		return 0
	}
	if digits && dots == 3 || !digits && slices.Contains(topLevels, string(b[last:i])) {
		return i
	}
	return 0
}

// startsPath reports whether a path begins at the sign at i.
func startsPath(b []byte, i int) bool {
	if i+1 >= len(b) || i > 0 && (isWord[b[i-1]] || b[i-1] == b[i] || b[i-1] == '/' || b[i-1] == '<') {
		return false
	}
	switch next := b[i+1]; b[i] {
	case '/', '.':
		return isWord[next] || next == '.' || next == '/'
	case '~':
		return next == '/' || next == '\\'
	case '$', '%':
		return isWord[next] && next > '9'
	}
	return false
}

// path reads the path at i and says whether it leads to secrets.
func (z *tokenizer) path(b []byte, i int) int {
	stop := runEnd(b, i)
	if stop <= i+1 {
		return i + 1
	}
	run := b[i:stop]
	means := "path"
	if secretPath(run) {
		means = "secretpath"
	}
	if bytes.IndexByte(run, '/') < 0 && bytes.IndexByte(run, '\\') < 0 && means == "path" {
		return i + 1 // a word behind a sign
	}
	z.note(means, i, stop)
	return stop
}

// secretPlaces are parts of paths behind which keys, passwords, sessions or the
// configuration of agents lie.
var secretPlaces = []string{
	".ssh", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "authorized_keys", "/etc/shadow", "/etc/passwd", "/etc/sudoers", "/etc/master.passwd",
	"/.aws", "\\.aws", "/.azure", ".gcloud", "/gcloud", ".kube", "kubeconfig", ".docker/config", ".npmrc", ".pypirc", ".netrc", "_netrc", ".pgpass", ".my.cnf",
	".git-credentials", ".gitconfig", ".gnupg", ".password-store", "keychain", "login data", "cookies", "logins.json", "key4.db", "wallet", ".electrum",
	".bitcoin", ".ethereum", ".bash_history", ".zsh_history", ".history", ".viminfo", "mcp.json", "claude_desktop_config", ".claude", ".cursor", ".codex",
	"credentials", "secrets", "/proc/self/environ", "/environ", ".vault-token", ".terraformrc", "serviceaccount", "htpasswd", ".bashrc", ".zshrc", ".bash_profile", "/sam", "ntds.dit",
	".config/gh", ".config/hub", "hosts.yml", ".mozilla", "google-chrome", "user data", ".pem", ".p12", ".pfx", ".keystore", ".jks", ".kdbx", ".ovpn",
}

// openPlaces are endings of files that look like those of secrets and are meant for
// everybody: the public half of a key, templates.
var openPlaces = []string{".pub", ".example", ".sample", ".template", ".dist"}

func secretPath(run []byte) bool {
	for _, open := range openPlaces {
		if bytes.HasSuffix(run, []byte(open)) {
			return false
		}
	}
	for _, p := range secretPlaces {
		if bytes.Contains(run, []byte(p)) {
			return true
		}
	}
	at := bytes.Index(run, []byte(".env"))
	return at >= 0 && (at+4 == len(run) || run[at+4] == '.' || run[at+4] == '*') && (at == 0 || run[at-1] == '/' || run[at-1] == '\\')
}

// payee is where the number of a bank account (ISO 13616) or the address of a
// wallet that begins with b[start:end] ends; 0 when there is none.
func payee(b []byte, start, end int) int {
	if end-start >= 42 && end-start <= 62 && bytes.HasPrefix(b[start:end], []byte("bc1")) {
		return end
	}
	if end-start == 42 && b[start] == '0' && b[start+1] == 'x' && allHex(string(b[start+2:end])) {
		return end
	}
	if end-start < 4 || end-start > 34 || b[start] < 'a' || b[start+1] < 'a' || !digit(b[start+2]) || !digit(b[start+3]) {
		return 0
	}
	count, digits, i := 0, 0, start
	for i < len(b) && count < 34 {
		if b[i] == ' ' && i+1 < len(b) && isWord[b[i+1]] && (i-start)%5 == 4 && (i < start+10 || digit(b[i-1]) && digit(b[i+1])) {
			i++
			continue
		}
		if !isWord[b[i]] || b[i] >= 0x80 || b[i] == '\'' {
			break
		}
		if digit(b[i]) {
			digits++
		}
		count++
		i++
	}
	if count < 15 || digits < 10 {
		return 0
	}
	return i
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
