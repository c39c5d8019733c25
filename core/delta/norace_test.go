//go:build !race

package delta

const racing = false
