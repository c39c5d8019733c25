package settings

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxWords   = 4096     // of a hook's command that are looked at
	maxNesting = 4        // of quoted commands in quoted commands
	maxScript  = 16 << 20 // bytes of a script
)

// codeNames are endings of files that are run by a program of their own.
var codeNames = []string{
	".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".rb", ".pl", ".php", ".lua", ".ps1", ".bat", ".cmd", ".exe", ".jar", ".awk", ".jq",
}

// word is a word of a hook's command.
type word struct {
	text    string
	program bool // in the place of a program
}

// namedFiles gives the files that a hook's command names: words that lead to a regular
// file, or look like a path to one that is not there, from where the hook runs and
// from every folder that the command names. It is a reading of words and no parser:
// what stands in a variable of another name, or is put together, is not found.
func namedFiles(command, dir, home string) ([]HookFile, error) {
	words := splitWords(command, dir, home, 0)
	words = words[:min(len(words), maxWords)]
	folders := []string{dir}
	for _, w := range words {
		full := w.text
		if !filepath.IsAbs(full) {
			full = filepath.Join(dir, full)
		}
		if info, err := os.Stat(full); err == nil && info.IsDir() && !slices.Contains(folders, full) {
			folders = append(folders, full)
		}
	}
	var all []HookFile
	for _, w := range words {
		from := folders
		if filepath.IsAbs(w.text) {
			from = []string{""}
		}
		for _, folder := range from {
			f, ok, err := w.file(filepath.Join(folder, w.text), dir)
			if err != nil {
				return nil, err
			}
			if ok && !slices.ContainsFunc(all, func(o HookFile) bool { return o.Path == f.Path }) {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

// file is what a word names at a path; false when it is no file. A script is what has
// a script's name or beginning, and any program of the project; a program of the
// system, such as an interpreter, is as trusted as the system is.
func (w word) file(path, dir string) (HookFile, bool, error) {
	real, err := Disk{}.Real(path)
	if err != nil {
		return HookFile{}, false, nil // no path, but a text that looks like one
	}
	f := HookFile{Path: real}
	program := w.program && strings.Contains(w.text, "/")
	code := slices.Contains(codeNames, strings.ToLower(filepath.Ext(real)))
	info, err := os.Stat(real)
	switch {
	case err != nil && !strings.ContainsAny(w.text, " \t\n") && (strings.Contains(w.text, "/") || filepath.Ext(w.text) != ""):
		f.Missing, f.Script = true, code || program
		return f, true, nil
	case err != nil || !info.Mode().IsRegular():
		return HookFile{}, false, nil
	}
	if strings.HasPrefix(real, dir+separator) {
		code = code || program || info.Mode()&0o111 != 0
	}
	f.SHA256, f.Script, err = digestScript(real, code)
	return f, true, err
}

// digestScript gives the digest of a file that is code, or that begins as a script does.
func digestScript(path string, code bool) (sum [32]byte, script bool, err error) {
	f, err := openNow(path)
	if err != nil {
		if code {
			return sum, true, err
		}
		return sum, false, nil // data that the hook itself must be able to read
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return sum, true, errNoFile
	}
	start := make([]byte, 2)
	n, _ := io.ReadFull(f, start)
	if !code && !bytes.Equal(start[:n], []byte("#!")) {
		return sum, false, nil
	}
	h := sha256.New()
	h.Write(start[:n])
	read, err := io.Copy(h, io.LimitReader(f, maxScript))
	if err == nil && read == maxScript {
		err = errTooBig
	}
	return [32]byte(h.Sum(nil)), true, err
}

// Check says whether the file is still what it was: nil, or why a hook must not run.
func (f HookFile) Check() error {
	if !f.Script {
		return nil
	}
	info, err := os.Lstat(f.Path)
	switch {
	case f.Missing && err == nil:
		return errAppeared
	case f.Missing:
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errNoFile
	}
	sum, _, err := digestScript(f.Path, true)
	if err == nil && sum != f.SHA256 {
		err = errChanged
	}
	return err
}

// splitWords reads a command as words: quotes are taken off, "~/", $HOME and
// $CLAUDE_PROJECT_DIR filled in, and words that hold commands themselves read again.
// What an output redirection names is left out: a hook may write its log.
func splitWords(command, dir, home string, depth int) []word {
	var all []word
	var text strings.Builder
	quote, open, program, output := rune(0), false, true, false
	end := func() {
		if !open {
			return
		}
		t := text.String()
		text.Reset()
		open = false
		if output {
			output = false
			return
		}
		all = append(all, wordsOf(t, program, dir, home, depth)...)
		if !strings.Contains(t, "=") {
			program = false
		}
	}
	escaped := false
	for _, c := range command {
		switch {
		case escaped:
			text.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			text.WriteRune(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case strings.ContainsRune(" \t\n\r;|&()<>", c):
			end()
			if strings.ContainsRune("\n;|&(", c) {
				program, output = true, output && c == '|'
			}
			output = c == '>' || output && (c == '|' || c == '&' || c == ' ' || c == '\t')
		default:
			text.WriteRune(c)
			open = true
		}
	}
	end()
	return all
}

// wordsOf gives what one word of a command may name.
func wordsOf(text string, program bool, dir, home string, depth int) []word {
	var inner []word
	if depth < maxNesting && strings.ContainsAny(text, " \t\n;|&()<>'\"") {
		inner = splitWords(text, dir, home, depth+1) // a command, or a name with blanks
	}
	if name, value, ok := strings.Cut(text, "="); ok && !strings.Contains(name, "/") {
		text, program = value, false // an assignment, or an option with its value
	}
	for _, known := range []struct{ name, value string }{
		{"${CLAUDE_PROJECT_DIR}", dir}, {"$CLAUDE_PROJECT_DIR", dir}, {"${HOME}", home}, {"$HOME", home},
	} {
		text = strings.ReplaceAll(text, known.name, known.value)
	}
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		text = filepath.Join(home, rest)
	}
	if text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, "$`*?[]{}\"\x00") {
		return inner
	}
	return append(inner, word{text: text, program: program})
}
