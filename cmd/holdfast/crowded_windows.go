package main

// openFiles is not limited by a number here.
func openFiles() uint64 { return 0 }
