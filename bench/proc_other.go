//go:build !linux

package main

import "time"

// used is what a set of processes has taken so far.
type used struct {
	cpu time.Duration
	rss int64
}

// usage is only known on Linux; elsewhere these columns are zero.
func usage([]int) (used, error) { return used{}, nil }
