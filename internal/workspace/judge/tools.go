package judge

// listed is a tool: how it is shown, and how its arguments are read.
type listed struct {
	name, title, about string
	hints              hints
	output             string // JSON Schema of the structured result; empty where there is none
	input              func() (Input, []field)
}

// hints are the annotations of MCP, all of them said.
type hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// Limits of arguments.
const (
	maxPath    = 4096     // characters
	maxPattern = 64 << 10 // characters
	maxText    = 1 << 10  // characters, of descriptions and ids
	maxCount   = 1 << 30  // lines and results
	maxTimeout = 600_000  // milliseconds
)

const pathAbout = "The path, absolute or relative to the workspace. It must lie in the workspace or an additional directory."

// tools is every tool, in listed order.
var tools = []listed{
	{
		name: "Read", title: "Read a file",
		about: "Reads a file of the workspace as numbered lines: 2,000 by default, long lines cut. " +
			"Images come as images; other binary files and files over 10 MiB are refused. A file must be read before Write or Edit may change it.",
		hints: hints{ReadOnly: true, Idempotent: true},
		input: func() (Input, []field) {
			in := &ReadInput{}
			return in, []field{
				{key: "file_path", about: pathAbout, required: true, kind: pathText, longest: maxPath, text: &in.FilePath},
				{key: "offset", about: "The line to start from; the first is 1.", kind: number, high: maxCount, num: &in.Offset},
				{key: "limit", about: "How many lines to read; 2,000 without it.", kind: number, low: 1, high: maxCount, num: &in.Limit},
			}
		},
	},
	{
		name: "Write", title: "Write a file",
		about: "Writes a whole file, in one step. A file that is there already must have been read with Read before, and not have changed since.",
		hints: hints{Destructive: true, Idempotent: true},
		output: `{"type":"object","properties":{` +
			`"file_path":{"description":"The file, relative to the workspace where it lies in it.","type":"string"},` +
			`"created":{"description":"The file was not there before.","type":"boolean"},` +
			`"bytes":{"description":"The size of the file now.","type":"integer"},` +
			`"change":{"description":"The id of the change in the ledger.","type":"string"}},` +
			`"required":["file_path","created","bytes"]}`,
		input: func() (Input, []field) {
			in := &WriteInput{}
			return in, []field{
				{key: "file_path", about: pathAbout, required: true, kind: pathText, longest: maxPath, text: &in.FilePath},
				{key: "content", about: "What the file shall hold.", required: true, text: &in.Content},
			}
		},
	},
	{
		name: "Edit", title: "Edit a file",
		about: "Replaces a text in a file, exactly as it stands there. It must stand there once, or replace_all be set. " +
			"The file must have been read with Read before, and not have changed since.",
		hints: hints{Destructive: true},
		output: `{"type":"object","properties":{` +
			`"file_path":{"description":"The file, relative to the workspace where it lies in it.","type":"string"},` +
			`"replacements":{"description":"How often the text was replaced.","type":"integer"},` +
			`"bytes":{"description":"The size of the file now.","type":"integer"},` +
			`"change":{"description":"The id of the change in the ledger.","type":"string"}},` +
			`"required":["file_path","replacements","bytes"]}`,
		input: func() (Input, []field) {
			in := &EditInput{}
			return in, []field{
				{key: "file_path", about: pathAbout, required: true, kind: pathText, longest: maxPath, text: &in.FilePath},
				{key: "old_string", about: "The text to replace, with its blanks and line breaks.", required: true, kind: someText, text: &in.OldString},
				{key: "new_string", about: "The text to put there; it must differ.", required: true, text: &in.NewString},
				{key: "replace_all", about: "Replace every place where the text stands; false without it.", kind: boolean, flag: &in.ReplaceAll},
			}
		},
	},
	{
		name: "Bash", title: "Run a command",
		about: "Runs a command with bash in the workspace, in a sandbox: no state is kept from call to call, standard input is closed, " +
			"and all that it started ends with it. Only commands that the owner's rules allow are run; every part of a compound command is judged by itself. " +
			"The output is shown up to 30,000 characters; the whole is kept in a file that Read can read.",
		hints: hints{Destructive: true, OpenWorld: true},
		output: `{"type":"object","properties":{` +
			`"output":{"description":"What the command printed, standard output and error together; the middle is left out when it is long.","type":"string"},` +
			`"exit_code":{"description":"Absent when a signal ended the command, or it runs on.","type":"integer"},` +
			`"signal":{"description":"The signal that ended the command.","type":"string"},` +
			`"timed_out":{"type":"boolean"},` +
			`"truncated":{"description":"The output shown is not all of it.","type":"boolean"},` +
			`"output_file":{"description":"The file with the whole output, for Read.","type":"string"},` +
			`"bash_id":{"description":"The id of a command that runs in the background, for BashOutput and KillShell.","type":"string"},` +
			`"withheld":{"description":"Files that the command made where it may not, and that were moved away.","type":"array","items":{"type":"string"}},` +
			`"change":{"description":"The id of the change in the ledger.","type":"string"}},` +
			`"required":["output","timed_out","truncated"]}`,
		input: func() (Input, []field) {
			in := &BashInput{}
			return in, []field{
				{key: "command", about: "The command.", required: true, kind: shellText, text: &in.Command},
				{key: "timeout", about: "Milliseconds after which it is ended: 120,000 without it, 600,000 at most.", kind: number, low: 1, high: maxTimeout, num: &in.Timeout},
				{key: "description", about: "What the command does, in a few words.", longest: maxText, text: &in.Description},
				{key: "run_in_background", about: "Return an id at once and let it run; at most 8 at a time.", kind: boolean, flag: &in.RunInBackground},
			}
		},
	},
	{
		name: "BashOutput", title: "Read the output of a background command",
		about:  "Gives what a background command of this session printed since it was last asked, and how it stands.",
		hints:  hints{ReadOnly: true},
		output: shellOutput,
		input: func() (Input, []field) {
			in := &BashOutputInput{}
			return in, []field{
				{key: "bash_id", about: "The id that Bash returned.", required: true, kind: pathText, longest: maxText, text: &in.BashID},
				{key: "filter", about: "A regular expression (RE2): only lines that match are given, the others are passed over for good.", longest: maxPattern, text: &in.Filter},
			}
		},
	},
	{
		name: "KillShell", title: "End a background command",
		about:  "Ends a background command of this session, with all that it started.",
		hints:  hints{Destructive: true, Idempotent: true},
		output: shellOutput,
		input: func() (Input, []field) {
			in := &KillShellInput{}
			return in, []field{
				{key: "shell_id", about: "The id that Bash returned.", required: true, kind: pathText, longest: maxText, text: &in.ShellID},
			}
		},
	},
	{
		name: "Grep", title: "Search in files",
		about: "Searches the files of the workspace with ripgrep. What .gitignore ignores is left out, and what may not be read, of which only the number is told.",
		hints: hints{ReadOnly: true, Idempotent: true},
		output: `{"type":"object","properties":{` +
			`"mode":{"type":"string","enum":["content","files_with_matches","count"]},` +
			`"files":{"description":"Of files_with_matches.","type":"array","items":{"type":"string"}},` +
			`"counts":{"description":"Of count.","type":"array","items":{"type":"object","properties":{"file":{"type":"string"},"count":{"type":"integer"}},"required":["file","count"]}},` +
			`"content":{"description":"Of content: the lines.","type":"string"},` +
			searchOutput + `"required":["mode","left_out","truncated"]}`,
		input: grepInput,
	},
	{
		name: "Glob", title: "Find files by name",
		about: "Finds files by a pattern such as **/*.ts, the newest first. What .gitignore ignores is left out, and what may not be read, of which only the number is told.",
		hints: hints{ReadOnly: true, Idempotent: true},
		output: `{"type":"object","properties":{` +
			`"files":{"type":"array","items":{"type":"string"}},` +
			searchOutput + `"required":["files","left_out","truncated"]}`,
		input: func() (Input, []field) {
			in := &GlobInput{}
			return in, []field{
				{key: "pattern", about: "The pattern, relative to path, or absolute; without \"..\".", required: true, kind: globText, longest: maxPath, text: &in.Pattern},
				{key: "path", about: "The folder to search in; the workspace without it.", kind: pathText, longest: maxPath, text: &in.Path},
			}
		},
	},
}

const (
	searchOutput = `"left_out":{"description":"How many results may not be read.","type":"integer"},` +
		`"truncated":{"description":"There are more results.","type":"boolean"}},`
	shellOutput = `{"type":"object","properties":{` +
		`"id":{"type":"string"},` +
		`"status":{"type":"string","enum":["running","exited","killed"]},` +
		`"output":{"type":"string"},` +
		`"exit_code":{"type":"integer"},` +
		`"signal":{"type":"string"},` +
		`"truncated":{"type":"boolean"},` +
		`"change":{"description":"The id of the change in the ledger, once it has ended.","type":"string"}},` +
		`"required":["id","status"]}`
)

func grepInput() (Input, []field) {
	in := &GrepInput{}
	return in, []field{
		{key: "pattern", about: "The regular expression, as ripgrep reads it.", required: true, kind: wordText, longest: maxPattern, text: &in.Pattern},
		{key: "path", about: "The file or folder to search in; the workspace without it.", kind: pathText, longest: maxPath, text: &in.Path},
		{key: "glob", about: "Search only files whose path matches, such as *.{ts,tsx}.", kind: pathText, longest: maxPath, text: &in.Glob},
		{
			key: "output_mode", about: "content: the lines; files_with_matches (without it): the files; count: how often.",
			kind: choice, words: []string{"content", "files_with_matches", "count"}, text: &in.OutputMode,
		},
		{key: "-A", about: "Lines to show after each match, of content.", kind: number, high: maxCount, num: &in.After},
		{key: "-B", about: "Lines to show before each match, of content.", kind: number, high: maxCount, num: &in.Before},
		{key: "-C", about: "Lines to show before and after each match, of content.", kind: number, high: maxCount, num: &in.Context},
		{key: "context", about: "The same as -C, which goes before it.", kind: number, high: maxCount, num: &in.around},
		{key: "-n", about: "Show line numbers, of content; true without it.", kind: boolean, may: &in.LineNumbers},
		{key: "-i", about: "Let upper and lower case be the same.", kind: boolean, flag: &in.IgnoreCase},
		{key: "type", about: "Search only files of a type that ripgrep knows: go, js, py, rust, ...", kind: pathText, longest: maxText, text: &in.Type},
		{key: "head_limit", about: "Show only the first results; 0 is no limit.", kind: number, high: maxCount, num: &in.HeadLimit},
		{key: "offset", about: "Results to pass over before head_limit counts.", kind: number, high: maxCount, num: &in.Offset},
		{key: "multiline", about: "Let the pattern reach over lines, and . match line breaks.", kind: boolean, flag: &in.Multiline},
	}
}
