//go:build race

package delta

// racing: the gate has no goroutines, so under the race detector, which makes it
// ten times slower, a sample is enough.
const racing = true
