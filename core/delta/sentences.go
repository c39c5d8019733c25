package delta

import (
	"fmt"
	"strings"
)

// sentence says in plain words what a held fact means.
func (f fact) sentence() string {
	s := f.signal
	switch s.Rule {
	case HintChange:
		if s.Reason == "dispatch" {
			return fmt.Sprintf("Calls of the tool counted as %s and count as %s now.", s.Old, s.New)
		}
		return fmt.Sprintf("The hint %s was %s and is %s now.", s.Reason, s.Old, s.New)
	case HintSaferFlip:
		return fmt.Sprintf("The tool claims to be safer: the hint %s was %s and is %s now.", s.Reason, s.Old, s.New)
	case OutputSchema:
		return map[string]string{
			OutputAdded:   "The tool declares what its results look like now.",
			OutputRemoved: "The tool does not declare any more what its results look like.",
			OutputChanged: "The declared form of the results changed.",
		}[s.Reason]
	case SchemaShape:
		return f.schemaSentence()
	default: // Field
		return fmt.Sprintf("The field %s changed.", s.Reason)
	}
}

// place names where a schema signal stands, for a sentence.
func (f fact) place() string {
	if f.signal.Path == "#" {
		return "the arguments as a whole"
	}
	return f.signal.Path
}

// name is the last step of the path.
func (f fact) name() string { return f.signal.Path[strings.LastIndexByte(f.signal.Path, '/')+1:] }

// schemaSentence is sentence for the input schema.
func (f fact) schemaSentence() string {
	at := f.place()
	switch f.signal.Reason {
	case ApprovedUnknown:
		return "No approved input schema is recorded, so there is nothing to compare the new one with."
	case Unparsable:
		return "The change can't be judged: " + f.is.text + "."
	case NewRequired:
		return fmt.Sprintf("\"%s\" has to be sent now.", f.name())
	case RequiredDropped:
		return fmt.Sprintf("\"%s\" does not have to be sent any more.", f.name())
	case Type:
		return fmt.Sprintf("Other types of values are accepted for %s.", at)
	case Ref:
		return fmt.Sprintf("The schema of %s leads elsewhere, or not every reader reads it in the same way.", at)
	case EnumAdded:
		return fmt.Sprintf("There are new values to choose from for %s.", at)
	case EnumDropped:
		return fmt.Sprintf("The list of values to choose from is gone for %s.", at)
	case EnumIntroduced:
		return fmt.Sprintf("A list of values to choose from appeared for %s.", at)
	case Const:
		return fmt.Sprintf("The one fixed value of %s appeared, changed or is gone.", at)
	case Default:
		return fmt.Sprintf("The value that is sent for %s when nothing is chosen changed.", at)
	case Pattern:
		return fmt.Sprintf("The pattern of %s changed: %s.", at, f.keyword)
	case Format:
		return fmt.Sprintf("The format of %s changed: %s.", at, f.keyword)
	case Bound:
		return fmt.Sprintf("A bound is looser or gone for %s: %s.", at, f.keyword)
	case AdditionalProperties:
		return fmt.Sprintf("More values are accepted that are not declared, at %s: %s.", at, f.keyword)
	case NewProperty:
		return fmt.Sprintf("The new property \"%s\" comes with a value that is chosen in advance.", f.name())
	}
	return f.combinedSentence(at)
}

// combinedSentence is sentence for keywords that combine schemas.
func (f fact) combinedSentence(at string) string {
	switch f.signal.Reason {
	case AnyOfGrew, OneOfGrew:
		return fmt.Sprintf("There are other alternatives for %s: %s.", at, f.keyword)
	case OneOfChanged:
		return fmt.Sprintf("The exclusive alternatives for %s changed, which can let in what two of them kept out.", at)
	case AllOfShrank:
		return fmt.Sprintf("Something that every value of %s had to meet is gone.", at)
	case ItemsForm:
		return fmt.Sprintf("The items of the list %s are described in another form.", at)
	case Not:
		return fmt.Sprintf("What %s must not be changed.", at)
	case Conditional:
		return fmt.Sprintf("A condition changed at %s: %s.", at, f.keyword)
	case Dependent:
		return fmt.Sprintf("What has to be sent together changed at %s.", at)
	default: // Keyword
		return fmt.Sprintf("A keyword that can't be judged changed at %s: %s.", at, f.keyword)
	}
}
