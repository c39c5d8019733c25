package main

import "github.com/spf13/cobra"

// workspaceCommand serves a project directory to an agent, and holds what explains and
// shows it.
func (a *app) workspaceCommand() *cobra.Command {
	return group("workspace", "Give an agent one project directory, by the owner's rules",
		a.workspaceCheckCommand())
}
