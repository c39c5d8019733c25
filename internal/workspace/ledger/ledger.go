// Package ledger keeps what every call changed, so that it can be shown and undone.
// Design: docs/design/workspace.md section 9.
package ledger
