//go:build unix

package shell

import "testing"

// tricks run m1 in ways that a reader may miss.
var tricks = []string{
	`x='a[$(m1)]'; [[ $x -eq 1 ]]`, `x='a[$(m1)]'; (( x ))`, `x='a[$(m1)]'; echo $((x))`, `x='a[$(m1)]'; let x`, `let 'a[$(m1)]'`,
	`x='a[$(m1)]'; echo ${b[x]}`, `x='a[$(m1)]'; b[x]=1`, `x='a[$(m1)]'; s=abc; echo ${s:x}`, `x='a[$(m1)]'; echo $[x]`,
	`x='a[$(m1)]'; printf -v "$x" y`, `x='-va[$(m1)]'; printf "$x" y`, `x='-v a[$(m1)]'; printf $x y`, `x='a[$(m1)]'; read "$x" <<<1`,
	`a=(1); x='a[$(m1)]'; unset "$x"`, `x='a[$(m1)]'; test -v "$x"`, `x='a[$(m1)]'; [ -v "$x" ]`, `x='a[$(m1)]'; [[ -v $x ]]`,
	`x='-v a[$(m1)]'; [ $x ]`, `x=-v; [ "$x" 'a[$(m1)]' ]`, `x='a[$(m1)]'; declare -i y=x`, `x='a[$(m1)]'; declare "$x=1"`,
	`f() { local 'a[$(m1)]=1'; }; f`, `typeset 'a[$(m1)]=1'`, `declare -n r='a[$(m1)]'; echo $r`, `declare -a 'y=($(m1))'`,
	`x='($(m1))'; declare -a y="$x"`, `y=(); x='($(m1))'; declare y="$x"`, `x='($(m1))'; f() { local -a y=$x; }; f`,
	`mapfile -C m1 -c 1 a <<<x`, `readarray -t -c1 -Cm1 a <<<x`, `PS4='$(m1)'; set -x; :`, `x=PS4; printf -v "$x" '$(m1)'; set -x; :`,
	`read PS4 <<<'$(m1)'; set -x; :`, `for PS4 in '$(m1)'; do set -x; :; done`, `: ${PS4:=a}`, `export PS4='$(m1)'; set -x; :`,
	`RANDOM='a[$(m1)]'`, `SRANDOM='a[$(m1)]'`, `HISTCMD='a[$(m1)]'`, `OPTIND='a[$(m1)]'`, `for RANDOM in 'a[$(m1)]'; do :; done`,
	`printf -v RANDOM %s 'a[$(m1)]'`, `read OPTIND <<<'a[$(m1)]'`, `export RANDOM='a[$(m1)]'`, `true & wait -n -p 'x[$(m1)]'`,
	`trap m1 EXIT`, `trap 'm1' DEBUG; :`, `x=m1; trap "$x" EXIT`, `eval m1`, `eval 'm''1'`, `x=m1; eval "$x"`, `eval eval eval m1`,
	`$(echo m1)`, "`echo m1`", `x=m1; $x`, `x=m1; ${x}`, `m\1`, `"m"1`, `'m1'`, `$'\x6d1'`, `$'\155\61'`, `$'\u006d1'`, `$"m1"`, `{m1,a}`, `./m?`, `./[m]1`, `m\` + "\n1",
	`echo "${x:-'$(m1)'}"`, "cat <<E\n${x:-'$(m1)'}\nE", `echo "${x:-"$(m1)"}"`, `echo $(( '$(m1)' ))`, `echo "$(( $(m1) ))"`, `: "${x:='$(m1)'}"`, `echo "${x+'$(m1)'}"`,
	`!(m1)`, `coproc A=1 m1`, `coproc $'m1' 2>f`, `coproc m1 2>f; wait`, `coproc x { m1; }; wait`, `exec {x[$(m1)]}>/dev/null`,
	`echo a >&'$(m1)'`, `x='$(m1)'; echo a >&$x`, `x='$(m1)'; echo ${x@P}`, `x='a[$(m1)]'; echo ${!x}`, `echo ${x:=$(m1)}`,
	`find . -maxdepth 0 -exec m1 \;`, `find . -maxdepth 0 -execdir m1 {} +`, `printf '%s\n' -exec m1 ';' | xargs find .`, `x='-exec m1 ;'; find . $x`,
	`x=-exec; find . -maxdepth 0 "$x" m1 \;`, `set -- -exec m1 \;; find . -maxdepth 0 "$@"`, `find . -maxdepth 0 {-exec,m1,\;}`,
	`echo m1 | xargs -I{} {}`, `echo m1 | xargs env`, `echo m1 | xargs nice`, `echo m1 | xargs timeout 5`, `xargs -n1 bash -c <<<m1`, `echo m1 | xargs -I{} sh -c '{}'`, `echo x | xargs m1`,
	`x='5 m1'; timeout $x ls`, `x='A=1 m1'; env $x ls`, `x='1 m1'; env A=$x ls`, `env -S 'm1 a'`, `env -S'm1' a`, `env -i PATH="$PATH" HOLDFAST_LOG="$HOLDFAST_LOG" m1`, `env A=1 B=2 m1`,
	`command -p m1`, `command command m1`, `command m1`, `builtin eval m1`, `builtin command m1`, `exec m1`, `exec -a x m1`, `exec -c m1`, `nice -n 5 m1`, `nice m1`, `timeout 5 m1`, `timeout -k 5 5 m1`, `timeout --foreground 5 m1`, `nohup m1`, `setsid -w m1`, `stdbuf -oL m1`,
	`bash <<<m1`, "bash <<E\nm1\nE", "bash -s <<'E'\nm1\nE", `echo m1 | bash`, `echo m1 | sh`, `bash -c m1`, `bash -xc m1`, `bash -ce -x m1`, `bash -c -- m1`, `bash -O extglob -c m1`, `bash --norc -c m1`, `sh -c m1`, `sh -c '[[ x || m1 ]]'`, `sh -c '[[ x && m1 ]] ; m1'`,
	`bash -c '"$@"' _ m1`, `bash -c '$0' m1`, `bash -c 'eval "$1"' _ m1`, `x=-c; bash $x m1`, `x=m1; bash -c "$x"`, `bash -c "m$((1))"`, `bash +e -c m1`, `bash -o posix -c m1`, `bash --rcfile x -c m1`, `bash -i -c m1`, `bash -lc m1`,
	`. <(echo m1)`, `source /dev/stdin <<<m1`, `bash /dev/stdin <<<m1`, `bash <(echo m1)`, `x='$(m1)'; BASH_ENV=$x bash -c :`, `BASH_ENV='$(m1)' bash -c :`, `env BASH_ENV='$(m1)' bash -c :`,
	`env 'BASH_FUNC_f%%=() { m1; }' bash -c f`, `f() { m1; }; export -f f; bash -c f`, `f() { m1; }; f`, `echo() { m1; }; echo`, `command_not_found_handle() { m1; }; zz`, `function f { m1; }; f`, `f() (m1); f`, `f() if m1; then :; fi; f`,
	"shopt -s expand_aliases\nalias x=m1\nx", "shopt -s expand_aliases\nBASH_ALIASES[x]=m1\nx", "BASH_CMDS[x]=./m1; x", "hash -p ./m1 x; x", "compgen -C m1 x", `compgen -W '$(m1)' x`, `compgen -F f x; f() { m1; }`, "jobs -x m1", "complete -C m1 x",
	"shopt -s extglob\n!(m1)", "shopt -s extglob\necho @(a|$(m1))", "shopt -s lastpipe; echo m1 | read x; $x", "set -o history; m1; fc -s m1", "set -o posix; m1",
	`set -- m1; "$@"`, `set -- m1; $1`, `set m1; $*`, `a=(m1); "${a[@]}"`, `a=(m1 b); ${a[*]}`, `x=m1; "$x"`, `x='m1 a'; $x`,
	"select x in a; do m1; break; done <<<1", `case a in a) m1;; esac`, `case $(m1) in a);; esac`, `case a in $(m1)) ;; esac`, `if m1; then :; fi`, `until m1; do break; done`, `while m1; do break; done`, `time m1`, `time -p m1`, `! m1`, `m1 &`, "m1 & wait", `(m1)`, `{ m1; }`, `m1|cat`, `true|m1`, `false||m1`, `true&&m1`,
	`x=$(m1)`, `x=($(m1))`, `x=(["$(m1)"]=a)`, `A=$(m1) true`, `echo <(m1)`, `echo >(m1)`, `cat < <(m1)`, "cat <<E\n$(m1)\nE", "cat <<E\n`m1`\nE", "cat <<-E\n\t$(m1)\n\tE", `cat <<<$(m1)`, `[[ -n $(m1) ]]`, `[[ $(m1) =~ x ]]`, `[[ a =~ $(m1) ]]`, `[[ a == $(m1) ]]`, `(( $(m1) ))`, `for ((i=$(m1);i<0;i++)); do :; done`,
	`echo ${x:-$(m1)}`, `echo ${x/$(m1)/}`, `x=a; echo ${x/a/$(m1)}`, `x=a; echo ${x#$(m1)}`, `x=a; echo ${x:$(m1)}`, `x=a; echo ${x^^$(m1)}`, `arr[$(m1)]=1`, `echo ${arr[$(m1)]}`, `echo ${#arr[$(m1)]}`, `declare x=$(m1)`, `export x=$(m1)`, `exec 3< <(m1)`, `echo > "$(m1)f"`, `echo 2>$(m1)f`, `for x in $(m1); do :; done`, `select x in $(m1); do break; done <<<1`,
	"cat <<E\na\\\nE\nm1\nE\nm1", "cat <<\\E\n$(m1)\nE\nm1", "cat <<E; m1\nE", "cat <<'E F'\nE\nE F\nm1", "cat <<E\nE \nE\nm1", "cat <<E <<F\nE\nF\nm1", "cat <<E; cat <<F\n$(m1)\nE\nF", "echo $(cat <<E\n$(m1)\nE\n)", "cat <<$(m1)\n$(m1)\nm1", "cat <<\"E\"F\nEF\nm1",
	"cat <<X\n$(echo '\nX\nm1\necho ')\nX\n", "cat <<X\n$(echo \"\nX\nm1\necho \")\nX", "cat <<X\n${x:-\nX\nm1\n}\nX", "cat <<X\n`echo\nX\nm1\n`\nX\n", "cat <<X\n$((1+\nX\nm1\n1))\nX\n",
	"cat <<EF\nE\\\nF\nm1\nEF\n", "cat <<E\na\\\nE\necho '\nE\nm1\necho '\n", "cat <<-E\n\ta\\\n\tE\necho '\n\tE\nm1\necho '", "cat <<$'E\\x41'\nEA\nm1\nE\\x41\n", "cat <<\"E\\A\"\nE\\A\nm1\nEA\n", "cat <<E''\nE\nm1\nE''\n",
	"echo $(cat <<E)\nm1\nE\n", "echo `cat <<E`\nm1\nE\n", "(cat <<E)\nm1\nE\nm2", "cat <<E $(m1\n)\nE\n", "cat <<E; echo '\nE\nm1 '\nE\n", "cat <<E \"$(cat <<F\nF\n)\nE\nm1\nE\n\"", "echo \"$(cat <<E\n\"\nE\n)\"; m1", "x=$(cat <<E\n)\nE\n); m1",
	"m2 # x\\\nm1", "#\\\nm1 a", "m2 #\\\\\nm1", "case a in # x\\\n*) m1;; esac", "x=( # \\\n$(m1))", "echo $(m2 # \\\nm1\n)", "if m2; # \\\nthen m1; fi",
	"# a\nm1", "#\\\nm1", "echo a # b\nm1", "echo a#b;m1", "echo $(# c)\nm1\n)", "echo $#;m1", "echo ${#}\nm1", "echo \"a\nb\" ;m1", "echo \\\n;m1", "echo a\\;m1;m1", "echo '\\';m1", "echo \"\\\\\";m1", `echo $'a\'';m1`, `echo $'\\';m1`, `echo "$'";m1`, `echo \';m1`, "echo `echo \\`m1\\``", "echo \"`echo \\\"$(m1)\\\"`\"",
	`echo {a,$(m1)}`, `echo {1..$(m1)}`, `echo ~$(m1)`, `echo "~$(m1)"`, `x=~$(m1)`, `echo a=$(m1)`, `echo *$(m1)*`, `a=b m1`, `a=b c=d m1`, `>f m1`, `<<<x m1`, `2>&1 m1`, `x=1 >f m1`, `>f x=1 m1`, "m1;", ";;m1", "m1 \\\n a",
	`sh -c "echo \$'a\\';m1 # '"`, `sh -c 'm1 &>f'`, `sh -c "echo \$'a' \$\"b\"; m1"`, `sh -c 'echo {a,b};m1'`, `sh -c 'x=1;((x));m1'`, `sh -c 'function f { m1; }; f'`, `sh -c 'time m1'`, `sh -c 'select x in a; do m1; done'`, `sh -c 'm2 |& m1'`, `sh -c 'coproc m1'`,
	`echo a | xargs --max-lines m1 m2`, `echo a | xargs -L 1 m1`, `echo a | xargs -0I{} m1 {}`, `echo a | xargs -n 1 -- m1`, `echo a | xargs --replace m1 {}`, `echo a | xargs -i m1 {}`, `echo a | xargs -l m1`, `echo a | xargs -P1 -t m1`, `echo ';' | xargs -I{} find . -maxdepth 0 -exec m1 {}`, `echo -exec | xargs -I{} find . -maxdepth 0 {} m1 \;`,
	`env - PATH="$PATH" HOLDFAST_LOG="$HOLDFAST_LOG" m1`, `env -u X -- A=1 m1`, `timeout -s9 5 m1`, `nice -n -1 m1`, `nice --adjustment 1 m1`, `exec -la x m1`, `timeout 5 timeout 5 env nice m1`, `: "${x[$(m1)]:=y}"`, `x[$(m1)]+=1`, `((x[$(m1)]))`, `case x in (x|y) m1;; esac`, `f() { :; } > $(m1)f; f`, `f() { return; }; trap m1 RETURN; f`, `trap m1 ERR; false`, `echo "${@:$(m1)}"`,
	`cd nope; echo > f`, `cd a; echo > f`, `cd a || cd b; echo > f`, `cd nope || echo > f`, `f() { cd a; }; f; echo > f`, `for x in 1 2; do echo > f$((x)); cd a; done`, `for x in 1 2; do echo > f; cd a; done`, `cd a/.. && echo > f`, `ln -s a/b l; cd l/.. && echo > f`, `eval 'cd a'; echo > f`, `trap 'cd a' DEBUG; :; echo > f`, `cd() { builtin cd b; }; cd a; echo > f`, `exit() { :; }; cd nope || exit; echo > f`, `cd a | true; echo > f`, `{ cd a; } > f; echo > g`, `(cd a) > f`, `x=a; cd $x; echo > f`, `cd a && cd - && echo > f`, `pushd a; echo > f`, `CDPATH=a cd b; echo > f`, `CDPATH=a; cd b; echo > f`, `shopt -s lastpipe; true | cd a; echo > f`, `command cd a; echo > f`, `env cd a; echo > f`, `cd a & wait; echo > f`, `! cd a || echo > f`, `while cd a; do echo > f; done`, `if cd nope; then :; else echo > f; fi`, `echo 3>f`, `echo >&f`, `echo &>f`, `exec >f; echo`, `echo {x}>f`, `: >f >g`, `>f`, `echo >"f"g`, `echo >f{1,2}`, `echo >$'f'`, `echo >'~'`, `bash -c 'cd a; echo > f'`, `coproc { cd a; echo > f; }; wait`, `echo <>f`, `echo >|f`, `cat <<E >f
E`,
	"CD\\\nPATH=a; cd b; echo > f", `export $'\x43DPATH=a'; cd b; echo > f`, `eval $'\x43DPATH=a'; cd b; echo > f`, `read $'\x43DPATH' <<<a; cd b; echo > f`, `printf -v CDPATH a; cd b; echo > f`, `for CDPATH in a; do cd b; echo > f; done`, `for x in 1 2; do (cd b; echo > f); read CDPATH <<<a; done`, `f() { cd b; echo > f; }; mapfile -t CDPATH <<<a; f`,
	`declare  -a y; x='($(m1))'; declare y="$x"`, `read  -a y <<<1; x='($(m1))'; declare y="$x"`, `read -ra y <<<1; x='($(m1))'; declare y="$x"`, `declare $'-a' y; declare y=$'\x28$(m1))'`, `export -a y; x='($(m1))'; declare y="$x"`, `: ${y[0]:=1}; x='($(m1))'; declare y="$x"`, `eval $'\x79=()'; x='($(m1))'; declare y="$x"`, `f() { declare y="$x"; }; x='($(m1))'; y=(); f`, `coproc y { :; }; x='($(m1))'; declare y="$x"`,
	`printf -v x -v 'a[$(m1)]' hi`, `printf -vx -v'a[$(m1)]' hi`, `y='-va[$(m1)]'; printf -v x "$y" hi`, `printf -v x %n 'a[$(m1)]'`, `true & wait -n -p x -p 'a[$(m1)]'`, `true & wait -np x -p'a[$(m1)]'`, `read -a x -a 'a[$(m1)]' <<<1`,
	`IFS=2; env A=$((2))m1 echo`, `IFS=1; nice -n $((51))m1 echo`, "I\\\nFS=2; env A=$((2))m1 echo", `read IFS <<<2; env A=$((2))m1 echo`, `IFS=-; env A=$((-2))m1 echo`, `IFS=x0; env A=$#m1 echo`, `IFS=0; env A=${#x}m1 echo`, `f() { env A=$((2))m1 echo; }; for IFS in 2; do f; done`,
	`sudo m1`, `doas -u x m1`, `busybox sh -c m1`, `sudo -E bash -c m1`, `sudo sh -c 'true; m1'`, `ionice -c 3 m1`, `env time m1`, `trap -- m1 EXIT`, `trap -p; trap m1 0`, `trap '' EXIT; m1`, `test -n "$(m1)"`, `cd "$(m1)"`, `exit $(m1)`, `return $(m1)`, `unset x$(m1)`,
	"bash -s -c 'm1 x' <<'E'\ntrue\nE\n", "sh -s -c 'm1 x' <<'E'\ntrue\nE\n", "bash -so pipefail -c 'm1 x' <<'E'\ntrue\nE\n", `echo m1 x | sh -cs true`, "sh -cs true <<'E'\nm1 x\nE\n", "sh -c -s true <<'E'\nm1 x\nE\n", `bash -c -- m1`, `x=m1; bash -c -- "$x"`, `bash -nv -c m1`, `HOME=m1; bash -c ~`,
	`HOME='m1;'; eval ~/x`, `HOME='m1;'; trap ~/x EXIT`, `echo m1 x | xargs -I{} -n2 env`, `echo m1 x | xargs -I{} -L2 env`, `echo m1 x | xargs -I{} --max-args=3 nice`, `echo a | xargs -n1 -I{} m1 {}`, `echo b | xargs -I ~ m1 ~`, `echo b | xargs -I~ m1 ~`, `echo b | xargs -I/ m1 ~`,
	`x={; echo b | xargs -I{} m1 "$x"}`, `x={}; echo b | xargs -I{} m1 $x`, `x=}; find a -maxdepth 0 -exec m1 "{$x" \;`, `find . -maxdepth 0 ! -name -exec -exec m1 x {} \;`, `find . -maxdepth 0 -printf -exec -exec m1 x \;`, `find . -maxdepth 0 -fprintf /dev/null -exec -exec m1 x \;`,
	`find . -maxdepth 0 -exec find . -maxdepth 0 -exec m1 \; \;`, `trap -- '-x; m1 y' EXIT`, `99() { m1; }; trap 99 EXIT`, `trap -- - EXIT; m1`, `trap -p EXIT; m1`, `/bin/bash -c '{m1,x}'`, `/bin/bash -c "m\\1"`, `bash -O extglob -c '{m1,x}'`, `/bin/sh -c m1 a`, `env -C . sh -c '{m1,x}'`,
	`env -C a bash -c 'echo > f'`, `env -C . env -C a bash -c 'echo > f'`, "bash -O extglob <<'E'\nm1 x\nE\n", `echo m1 x | bash -O extglob`, `bash -o posix <<<'m1 x'`, "bash --rcfile x <<'E'\nm1 x\nE\n", "/bin/bash -s <<'E'\nm1 x\nE\n", `echo m1 x | /bin/sh -s`, "/bin/bash - <<'E'\nm1 x\nE\n",
	"/bin/sh <<'E'\nm1\nE\n", `echo m1 | /bin/sh`, `echo m1 | env -C . sh`, "bash //dev/stdin <<'E'\nm1 x\nE\n", `. /./dev/stdin <<<'m1 x'`, `cd /dev && . ./stdin <<<'m1 x'`, `cd /dev/fd && . ./0 <<<'m1 x'`, `bash /proc/self/fd/0 <<<'m1 x'`, `cd /dev && bash stdin <<<'m1 x'`, `env -- - PATH="$PATH" HOLDFAST_LOG="$HOLDFAST_LOG" m1 x`,
	`env - -i m1`, `env - PATH="$PATH" HOLDFAST_LOG="$HOLDFAST_LOG" m1 x`, "bash <<'E'\nexec <<'F'\nm1 x\nF\nE\n", "bash <<'E'\nread -rN 4 y\n: '\nm1 x\n: '\nE\n", "bash <<'E'\nread -rN 5 y\necho m1 x\nE\n", "sh <<'E'\neval 'exec <<F\nm1 x\nF\n'\nE\n", "bash <<'E'\n{ read -u3 -rN5 x; } 3<&0\necho m1 x\nE\n",
	"bash <<'E'\necho $(read -rN5 x) </dev/null\necho m1 x\nE\n", "bash <<'E'\nread x </dev/stdin\n: '\nm1 x\n: '\nE\n", "bash <<'E'\nselect x in a b; do break; done\n: '\nm1 x\n: '\nE\n", "bash <<'E'\nf() { exec <<<'m1 x'; }\nf\nE\n", "bash <<'E'\ncommand exec <<<'m1 x'\nE\n",
	"bash <<'E'\nread x; : '\nm1 x\n: '\nE\n", "bash <<'E'\ntrap 'read -rN5 x' DEBUG\n:\necho m1 x\nE\n", "bash <<'E'\necho 'm1 x' > /dev/stdin\nE\n", "bash <<'E'\necho 'm1 x' >> /dev/fd/0\nE\n", "HOME=m1; ~ x", "bash <<'E'\nread -rN1 y\n#m1 x\nE\n", `sh -c "eval '[[ x || m1 y ]]'"`, `sh -c "trap '[[ x || m1 y ]]' EXIT"`, "sh <<'E'\neval '[[ x || m1 y ]]'\nE\n", `nice() { cd a; }; nice true; echo > f`, `bash() { cd a; }; bash -c true; echo > f`,
	`function let { cd a; }; let 1; echo > f`, `find() { cd a; }; find .; echo > f`, `env() { cd a; }; env -C . true; echo > f`, `eval() { m1; }; eval true`,
}

// TestTricks runs each for real: what runs must be shown, or the command refused.
func TestTricks(t *testing.T) {
	l, sets := newLab(t), grantedSets(t)
	for n, text := range tricks {
		checkSound(t, l, n, text, sets)
	}
}
