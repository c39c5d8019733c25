package main

import "github.com/spf13/cobra"

func (a *app) workspaceCheckCommand() *cobra.Command {
	return &cobra.Command{Use: "check TOOL ARGS", Short: "Explain what a call would be allowed", Args: takes("TOOL", "ARGS")}
}
