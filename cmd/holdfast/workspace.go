package main

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// workspaceCommand serves a project directory to an agent, and holds what explains and
// shows it.
func (a *app) workspaceCommand() *cobra.Command {
	return a.workspaceServing(group("workspace", "Give an agent one project directory, by the owner's rules",
		a.workspaceCheckCommand()))
}

// place is where a workspace is, and where its owner's settings are: flags that the
// commands of the workspace share.
type place struct {
	dir, home, managed string
}

// at adds -C and --home.
func (p *place) at(f *pflag.FlagSet) {
	f.StringVarP(&p.dir, "dir", "C", ".", "the project directory")
	f.StringVar(&p.home, "home", "", "a directory that stands for the home directory, with its settings and its state")
}

// managedAt adds --managed.
func (p *place) managedAt(f *pflag.FlagSet) {
	f.StringVar(&p.managed, "managed", "", "a directory that stands for "+managedDir())
}

// managedDir is where an administrator's settings are.
func managedDir() string {
	if dir := os.Getenv("ProgramData"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "holdfast")
	}
	return "/etc/holdfast"
}

// options are those of a start here. What belongs to the server alone, and not to the
// place, is left to the caller.
func (a *app) options(p place) (settings.Options, error) {
	o := settings.Options{Dir: p.dir, Home: p.home, Managed: p.managed}
	if o.Managed == "" {
		o.Managed = managedDir()
	}
	if o.Home != "" {
		o.Config = filepath.Join(o.Home, ".config", "holdfast")
		o.State = filepath.Join(o.Home, ".local", "state", "holdfast")
	} else {
		var err error
		if o.Home, err = os.UserHomeDir(); err != nil {
			return o, fail(exitUsage, fault.BadInput, "there is no home directory to find the settings in", "give --home")
		}
		config, err := os.UserConfigDir()
		if err != nil {
			return o, fail(exitUsage, fault.BadInput, "there is no directory for the user's settings: "+plain(err), "give --home")
		}
		o.Config = filepath.Join(config, "holdfast")
		if o.State, err = a.dataDirectory(); err != nil {
			return o, err
		}
		if file := a.configFile(); file != "" {
			o.Executables = append(o.Executables, file) // the gateway's, which may start this one
		}
	}
	program, err := os.Executable()
	if err != nil {
		return o, fail(exitFailed, fault.Internal, "this program's own file can't be found: "+plain(err), "")
	}
	o.Executables = append(o.Executables, program)
	return o, nil
}
