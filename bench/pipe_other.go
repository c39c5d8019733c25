//go:build !unix

package main

import "os"

// stdio gives the standard streams.
func stdio() (in, out *os.File) { return os.Stdin, os.Stdout }
