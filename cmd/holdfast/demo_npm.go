package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The published server of the demonstration.
const (
	memoryPackage = "@modelcontextprotocol/server-memory"
	memoryVersion = "2026.8.31"
	npmTime       = 90 * time.Second
)

// installMemory installs the published server into dir and gives what to run. The
// error is a sentence part: why the demonstration goes on without it.
func installMemory(ctx context.Context, dir string) (command string, args []string, err error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", nil, errors.New("there is no Node.js here")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", nil, errors.New("there is no npm here")
	}
	entry := filepath.Join(dir, "node_modules", filepath.FromSlash(memoryPackage), "dist", "index.js")
	if _, err := os.Stat(entry); err == nil {
		return node, []string{entry}, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, errors.New("its directory can't be made")
	}
	ctx, cancel := context.WithTimeout(ctx, npmTime)
	defer cancel()
	install := exec.CommandContext(ctx, npm, "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund",
		"--prefer-offline", "--fetch-retries=1", "--fetch-timeout=20000", "--loglevel=error", memoryPackage+"@"+memoryVersion)
	install.WaitDelay = 2 * time.Second
	if err := install.Run(); err != nil {
		if ctx.Err() != nil {
			return "", nil, errors.New("npm did not install it in time")
		}
		return "", nil, errors.New("npm could not install it (is there a network?)")
	}
	if _, err := os.Stat(entry); err != nil {
		return "", nil, errors.New("the package is not what was expected")
	}
	return node, []string{entry}, nil
}
