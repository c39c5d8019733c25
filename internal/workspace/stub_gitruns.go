package workspace

import "strings"

func gitRuns(rel string) bool { return strings.HasPrefix(rel, "hooks") || strings.HasPrefix(rel, "config") || strings.HasPrefix(rel, "info") }
