//go:build race

package offline

// underRace: the race detector is on, which makes everything ten times slower.
const underRace = true
