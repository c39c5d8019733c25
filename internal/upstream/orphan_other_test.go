//go:build !linux

package upstream

func runParent() {}
