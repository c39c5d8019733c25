package judge

// Input is one of *ReadInput, *WriteInput, *EditInput, *BashInput, *GrepInput,
// *GlobInput, *BashOutputInput, *KillShellInput.
type Input interface{ tool() string }

// Inputs, as the tools' schemas have them. Pointers are nil where a key is absent, and
// texts empty.
type (
	// ReadInput is the input of Read. Offset is a line from 1 (0 is the first too),
	// Limit a number of lines.
	ReadInput struct {
		FilePath      string
		Offset, Limit *int
	}
	// WriteInput is the input of Write.
	WriteInput struct{ FilePath, Content string }
	// EditInput is the input of Edit.
	EditInput struct {
		FilePath, OldString, NewString string
		ReplaceAll                     bool
	}
	// BashInput is the input of Bash. Timeout is in milliseconds.
	BashInput struct {
		Command, Description string
		Timeout              *int
		RunInBackground      bool
	}
	// GrepInput is the input of Grep. OutputMode is "content", "files_with_matches" or
	// "count"; empty is files_with_matches. Context is -C, or context where -C is
	// absent. LineNumbers is nil for the default. Offset is how many results are passed
	// over before HeadLimit counts; a HeadLimit of 0 is no limit.
	GrepInput struct {
		Pattern, Path, Glob, Type, OutputMode string
		IgnoreCase, Multiline                 bool
		LineNumbers                           *bool
		Before, After, Context                *int
		HeadLimit, Offset                     *int

		around *int // of context
	}
	// GlobInput is the input of Glob.
	GlobInput struct{ Pattern, Path string }
	// BashOutputInput is the input of BashOutput. Filter is a regular expression (RE2).
	BashOutputInput struct{ BashID, Filter string }
	// KillShellInput is the input of KillShell.
	KillShellInput struct{ ShellID string }
)

func (*ReadInput) tool() string       { return "Read" }
func (*WriteInput) tool() string      { return "Write" }
func (*EditInput) tool() string       { return "Edit" }
func (*BashInput) tool() string       { return "Bash" }
func (*GrepInput) tool() string       { return "Grep" }
func (*GlobInput) tool() string       { return "Glob" }
func (*BashOutputInput) tool() string { return "BashOutput" }
func (*KillShellInput) tool() string  { return "KillShell" }
