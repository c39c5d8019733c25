//go:build unix

package shell

// tokens are pieces of scripts: thrown together they find where bash and the parser part.
// Any of them may come to stand behind a ">": none is the path of a file outside of the lab.
var tokens = []string{
	"m1", "m2", "m3", "m4 a", `m5 "a b"`, "m1", "m2", "m3", " ", " ", " ", " ", " ", " ", ";", ";", "\n", "\n",
	"&&", "||", "|", "&", "$(", ")", ")", "(", "{ ", "; }", "}", `"`, `"`, "'", "'", `\`, "`", "`", "#", " #",
	"if ", "; then ", "; fi", " else ", "while ", "; do ", "; done", "for x in ", "case a in a) ", ";; esac", "esac", "*)", "a)", "in",
	"!", "! ", "time ", "coproc ", "function f ", "f() ", "f", "select ", "until ", "[[ ", " ]]", "((", "))", "$((", "${x:-", "${x", "}", "${x#", "${x/a/",
	"$x", `"$x"`, "$'", `\'`, `$"`, "<<E\n", "<<'E'\n", "<<-E\n", "\nE\n", "\n\tE\n", "<<<", ">f1", "> f2", ">&", "2>&1", "&>f3", ">>f4", "<(", ">(", "&>>", ">|", "<>",
	"=", "x=", "x=(", "a[0]=", "+=", "~", "*", "?", "[a]", "{m1,m2}", "{a,b}", ",", "\\\n", "$[", "]", ";;", ";&", "|&", "-", "--",
	"eval ", "eval '", "bash -c '", `sh -c "`, "env ", "env A=1 ", "timeout 5 ", "xargs ", "trap '", "' EXIT", "exec ", "command ", "builtin ", "nice ", ". ",
	"bash -s ", "sh ", "p/sh ", "-s ", "-c ", "-cs ", "-O extglob ", "sh <<'E'\n", "read x\n", "read -rN3 x\n", "exec <<<", "-I{} ", "-I~ ", "-n2 ", "{}", "find . -maxdepth 0 ", "-exec ", "-name ", `\;`,
	"nice() { cd a; }; ", "bash() { cd a; }; ", "env -C a ", "env - ", "trap -- '-x; ", "trap 99 EXIT", "99() { ",
	"$@", `"$@"`, "$#", "$?", "!(", "@(", "+(", "cd a", "cd b", "cd ..", "cd a && ", "(cd a; ", "exit", "return", "break", "set -e", "test ", "[ ", " ]",
	"IFS=1; ", "IFS=", "$((51))", "a=~", ":~", "CD\\\nPATH=a; ", "export $'\\x43DPATH=a'; ", "declare  -a y; ", `declare y="$x"; `, "x='($(m1))'; ", "printf -v x ", "-v 'a[$(m1)]' ", "wait -n -p x ", "-p ",
	"echo ", "printf ", ": ", "true", "false", "let ", "declare ", "export ", "local ", "read x", "then", "do", "done", "fi", `\"`, `\$`, "\\`",
}

// quoting is pieces that open, close and escape: where readers go wrong most.
var quoting = []string{
	"'", "'", `"`, `"`, "`", "`", `\`, `\`, "$(", "$(", ")", ")", "${x:-", "${x#", "}", "}", "<<E\n", "<<'E'\n", "\nE\n", "\nE\n", "#", " #", " ", " ", "\n", "\n",
	"m1", "m1", "m2", "m1 a", ";", ";", "$'", "((", "))", "$((", "[[ a ", " ]]", "(", "|", "&", "<(", "{ ", "; }", "case a in ", "a) ", ";; esac", "$", "echo ", "\\\n", "!", "=", "[", "]",
}
