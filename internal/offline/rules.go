package offline

import (
	"github.com/holdfast-mcp/holdfast/core/delta"
)

// rule is what a result is about, as a SARIF log explains it.
type rule struct{ id, short, full string }

// ruleOf names the rule of a signal. Names of fields are the server's, so that they
// are no part of it.
func ruleOf(s delta.Signal) rule {
	switch s.Rule {
	case delta.HintChange, delta.HintSaferFlip:
		if s.Reason == "dispatch" {
			return rule{string(s.Rule) + "/dispatch", "The class of calls changed", "What a caller must be permitted to do to call the tool (read, write or destructive) is another than what was approved."}
		}
		if s.Rule == delta.HintSaferFlip {
			return rule{string(s.Rule) + "/" + s.Reason, "The tool claims to be safer", "A hint claims that the tool does less harm than was approved. An attacker would claim that too, so a person has to look."}
		}
		return rule{string(s.Rule) + "/" + s.Reason, "A hint changed", "A hint about what the tool does has another effective value than what was approved."}
	case delta.OutputSchema:
		return rule{string(s.Rule) + "/" + s.Reason, "The output schema changed", "What the tool declares about its results is not what was approved; strict clients refuse results that do not meet it."}
	case delta.Field:
		return rule{string(s.Rule), "Another field changed", "A field of the definition that is neither a schema nor a text has another value than what was approved."}
	case delta.SchemaShape:
		short, known := shapes[s.Reason]
		if !known {
			short = "The input schema changed"
		}
		return rule{string(s.Rule) + "/" + s.Reason, short, short + ". The tool may accept more, or the model may send more, than was approved."}
	default:
		return rule{string(s.Rule), "Not comparable", "The two definitions could not be compared, so that the change is held."}
	}
}

// shapes says each reason of docs/design/structural-gate.md section 4 in short.
var shapes = map[string]string{
	delta.ApprovedUnknown:      "No approved contract is recorded to compare with",
	delta.Unparsable:           "The definition can't be read in exactly one way",
	delta.NewRequired:          "Something has to be sent that had not to be sent",
	delta.RequiredDropped:      "Something that had to be sent need not be sent any more",
	delta.Type:                 "Other types of values are accepted",
	delta.Ref:                  "A reference leads elsewhere, or can be read in more than one way",
	delta.EnumAdded:            "There are new values to choose from",
	delta.EnumDropped:          "A list of values to choose from is gone",
	delta.EnumIntroduced:       "A list of values to choose from appeared",
	delta.Const:                "A fixed value appeared, changed or is gone",
	delta.Default:              "A default value appeared, changed or is gone",
	delta.Pattern:              "A pattern appeared, changed or is gone",
	delta.Format:               "A format appeared, changed or is gone",
	delta.Bound:                "A bound is looser or gone",
	delta.AdditionalProperties: "More values are accepted that are not declared",
	delta.NewProperty:          "A new property comes with a value that is chosen in advance",
	delta.AnyOfGrew:            "There are new alternatives",
	delta.OneOfGrew:            "There are new exclusive alternatives",
	delta.OneOfChanged:         "Exclusive alternatives changed",
	delta.AllOfShrank:          "Something that every value had to meet is gone",
	delta.ItemsForm:            "The items of a list are described in another form",
	delta.Not:                  "What a value must not be changed",
	delta.Conditional:          "A condition changed",
	delta.Dependent:            "What has to be sent together changed",
	delta.Keyword:              "A keyword changed that can't be judged",
}

// checkRule names the rule of a finding.
func checkRule(check string) rule {
	if said, known := checkTexts[check]; known {
		return rule{check, said[0], said[1]}
	}
	return rule{check, "A known attack", "A signature of the bundle speaks: the text is like that of an attack that was seen."}
}

// checkTexts says each check of docs/design/scan.md in short, and what it finds.
var checkTexts = map[string][2]string{
	"unicode.hidden":         {"Hidden characters", "A text has characters that a person does not see and a model reads."},
	"terminal.escape":        {"Terminal controls", "A text has control characters, with which it can show something else on a terminal than it says."},
	"text.concealed":         {"Concealed text", "A text stands where a person does not look: in a comment, behind much white space, in invisible markup."},
	"payload.decoded":        {"An encoded command", "A text has an encoded run that decodes to a command."},
	"phrase.injection":       {"Orders to a model", "A text gives orders: to ignore other instructions, to send secrets or files, or to keep something from the user."},
	"shadowing.cross_server": {"It poses as another server's tool", "A tool takes a name that can be taken for that of another server's tool, or says how that tool is to be used."},
	"shadowing.twin":         {"A near copy of another server's tool", "A tool resembles one of another server under the same or a similar name."},
	"directive.imperative":   {"It pushes itself forward", "A text wants the tool to be called always, first or before others."},
	"capability.mismatch":    {"It asks for more than its purpose needs", "A text or a parameter asks for something that the purpose of the tool does not explain."},
	"secret.embedded":        {"A secret in the definition", "The definition holds what looks like a live credential."},
	Unreadable:               {"The definition can't be read", "The definition can't be read in exactly one way, so that nobody can tell what it says, and it can't be approved."},
	Nameless:                 {"The definition has no name", "Without a name this is no tool, so that the input is perhaps not what it was taken for."},
}
