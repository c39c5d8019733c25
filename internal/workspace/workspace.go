// Package workspace serves Read, Write, Edit, Bash, Grep and Glob in one project
// directory. Design: docs/design/workspace.md.
package workspace
