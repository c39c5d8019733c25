//go:build linux

package sandboxtest

import (
	"os"
	"os/exec"
	"strings"
)

// honestTests are the everyday work that has to run in every sandbox.
var honestTests = []test{
	{"shells and pipes", func(s *scene) {
		s.writing()
		s.says(s.bash(`set -euo pipefail; diff <(echo a) <(echo a); f=$(mktemp); sort -R <(seq 1000) > $f; [ $(sort -n $f | tail -1) = 1000 ]; cat <<<x >/dev/null; seq 3 | xargs -P3 -I{} echo {} | wc -l; tar cf - . | tar tf - >/dev/null; date +%Y; id -un; sleep 0.01 & wait; echo DONE`), "DONE")
	}},
	{"python", func(s *scene) {
		s.writing()
		s.need("python3")
		s.says(s.python(`
import subprocess, tempfile, threading, multiprocessing
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
t = threading.Thread(target=lambda: None); t.start(); t.join()
subprocess.run(["true"], check=True)
q = multiprocessing.Lock()
print("DONE")`), "DONE")
	}},
	{"node", func(s *scene) {
		s.writing()
		s.need("node")
		said, _ := s.run("node", "-e", `
const fs = require("fs"), cp = require("child_process"), { Worker } = require("worker_threads");
fs.writeFileSync("out.txt", "x");
cp.execFileSync("true");
new Worker("require('worker_threads').parentPort.postMessage(1)", { eval: true }).on("message", () =>
  new WebAssembly.Memory({ initial: 1, maximum: 10 }) && require("http").createServer((q, r) => r.end("x")).listen(0, "127.0.0.1", function () {
    require("http").get({ port: this.address().port, host: "127.0.0.1" }, r => { console.log("DONE", r.statusCode); process.exit(); });
  }));`)
		s.says(said, "DONE 200")
		s.holds("out.txt", "x")
	}},
	{"go", func(s *scene) {
		s.writing()
		s.need("go")
		cache := s.goCache()
		s.policy.Writable = []string{cache}
		s.write("go.mod", "module tiny\n\ngo 1.24\n")
		s.write("main.go", "package main\n\nfunc main() { println(\"DONE\") }\n")
		said := s.bash(`export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE=` + cache + ` GOENV=off GOTELEMETRY=off; go build -gcflags=-e -o tiny . && ./tiny`)
		s.says(said, "DONE")
	}},
	{"git", func(s *scene) {
		s.writing()
		s.repository(s.ws)
		s.says(s.bash(`echo y > y && git add -A && git commit -q -m second && git status --short | wc -l && git diff HEAD~1 --stat && echo DONE`), "DONE")
	}},
}

// goCache is the build cache of this machine: without it every build would begin with
// the standard library.
func (s *scene) goCache() string {
	s.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		s.Fatal(err)
	}
	dir := strings.TrimSpace(string(out))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.Skipf("there is no build cache: %v", err)
	}
	return real(s.T, dir)
}
