// Command holdfast stands between AI agents and their MCP servers. One file a
// command group; the rooms under internal do the work.
package main

import (
	"context"
	"io"
	"os"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// version is set when a release is built (-ldflags "-X main.version=...").
var version = "0.1.0-dev"

func main() {
	sandbox.Main() // does not return in a child that is being confined
	os.Exit(run())
}

func run() int {
	defer sandbox.Quit()
	return execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

func execute(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int {
	a := &app{in: in, out: out, err: err, getenv: os.Getenv}
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	root := a.root(first)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(err)
	return a.report(root.ExecuteContext(ctx))
}
