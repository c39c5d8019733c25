package config

import "github.com/holdfast-mcp/holdfast/internal/fault"

// nearest is the known name that a misspelled one most likely means; empty when
// none is near.
func nearest(name string, known keys) string { return fault.Nearest(name, sortedKeys(known)) }
