package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/offline"
)

// formsHelp says what a file with a listing may be.
const formsHelp = `A listing is one tool, a list of tools, {"tools": [...]}, the answer to
tools/list, or {"servers": {NAME: {"tools": [...]}}}; - is standard input.`

// openListing opens a listing. What can't be opened is a mistake of the command line.
func (a *app) openListing(path string) (*offline.Listing, error) {
	l, err := offline.Open(path, a.in)
	if err != nil {
		return nil, asUsage(err)
	}
	if l.More() {
		a.notef("note: %s says that another page of tools follows, which is not in it\n", visible(path))
	}
	if l.Len() > approval.MaxTools {
		a.notef("note: %s has %s; a daemon takes %d of a server\n", visible(path), plural(l.Len(), "tool"), approval.MaxTools)
	}
	return l, nil
}

// asUsage makes a fault of what was named on the command line one of the command.
func asUsage(err error) error {
	if kind := fault.KindOf(err); kind != fault.NotFound && kind != fault.BadInput {
		return err
	}
	f := failureOf(err)
	f.exit = exitUsage
	return f
}

// missing reports whether nothing stands at a path.
func missing(path string) bool {
	_, err := os.Stat(path)
	return path != "-" && os.IsNotExist(err)
}

// formFlags are the flags for another form of the answer.
func (a *app) formFlags(c *cobra.Command, sarif *bool) {
	c.Flags().BoolVar(sarif, "sarif", false, "print a SARIF 2.1.0 log, for CI")
}

func (a *app) oneForm(sarif bool) error {
	if sarif && a.json {
		return usage("both --json and --sarif are given", "choose the one form in which the answer is wanted")
	}
	return nil
}

// classFlag adds --unannotated.
func classFlag(c *cobra.Command, word *string) {
	c.Flags().StringVar(word, "unannotated", "destructive", "class of tools without hints: read, write or destructive")
}

func parseClass(word string) (contract.Class, error) {
	class, ok := contract.ParseClass(word)
	if !ok {
		return contract.NoClass, usage(fmt.Sprintf("%q is no class of tools", visible(word)), "say --unannotated read, write or destructive")
	}
	return class, nil
}

// buffered gives an answer that may be long a buffer; done writes the rest of it.
func (a *app) buffered() (b *app, done func() error) {
	w := bufio.NewWriterSize(a.out, 64<<10)
	on := *a
	on.out = w
	if isTerminal(a.out) {
		on.out = a.out
	}
	return &on, w.Flush
}

// shownTool is a tool as a person reads it.
func shownTool(server, name string) string {
	if name == "" {
		name = "(no name)"
	}
	if server != "" {
		name = server + "/" + name
	}
	return visible(name)
}

// unwritten explains an answer that could not be printed.
func unwritten(err error) error {
	if err == nil || failureOf(err).Code != string(fault.Internal) {
		return err
	}
	return fail(exitFailed, fault.Storage, "the answer could not be written: "+plain(err), "")
}
