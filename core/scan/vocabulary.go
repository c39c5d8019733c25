package scan

import (
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// failedCheck names a scan whose findings could not be put together.
const failedCheck = "scan.failed"

// bundlePrefix begins the check of every signature of a bundle.
const bundlePrefix = "bundle."

// terms say what each check finds. The last one stands for all signatures.
var terms = []contract.Term{
	{Name: "unicode.hidden", Label: "hidden characters", Sentence: "A text holds characters that nobody sees and a model reads."},
	{Name: "terminal.escape", Label: "terminal escapes", Sentence: "A text holds control sequences that can rewrite what a terminal shows."},
	{Name: "text.concealed", Label: "concealed text", Sentence: "A text stands where a person does not look: in a comment, behind much white space, in markup that is not displayed."},
	{Name: "payload.decoded", Label: "encoded command", Sentence: "An encoded run decodes to a command or to something that sends data away."},
	{Name: "phrase.injection", Label: "instruction to the model", Sentence: "A text tells the model to ignore its instructions, to pass something on, or to keep something from the user."},
	{Name: "shadowing.cross_server", Label: "interferes with another server", Sentence: "A tool poses as another server's tool under a look-alike name, or says how another server's tool is to be used."},
	{Name: "shadowing.twin", Label: "twin of another tool", Sentence: "A tool is a near copy of another server's tool, under the same or a similar name."},
	{Name: "directive.imperative", Label: "pushes itself forward", Sentence: "A text asks to be used first, always or before every other tool, or speaks the language of jailbreaks."},
	{Name: "capability.mismatch", Label: "more than its purpose needs", Sentence: "The tool names keys, shells, addresses or a free text for its own notes that its stated purpose does not need."},
	{Name: "secret.embedded", Label: "embedded credential", Sentence: "The definition holds what looks like a live credential."},
	{Name: failedCheck, Label: "findings incomplete", Sentence: "What was found could not be put together, so it counts as dangerous."},
	{Name: bundlePrefix + "*", Label: "known attack", Sentence: "A signature of a known attack matches a text."},
}

// Terms are the words of this law: every check. That of the signatures of a bundle
// is called bundle.* .
func Terms() []contract.Term { return append([]contract.Term(nil), terms...) }

// Explain gives the term of a check. found is false where there is no such check.
func Explain(check string) (term contract.Term, found bool) {
	for _, t := range terms {
		prefix, family := strings.CutSuffix(t.Name, "*")
		if t.Name == check || family && strings.HasPrefix(check, prefix) {
			t.Name = check
			return t, true
		}
	}
	return contract.Term{}, false
}
