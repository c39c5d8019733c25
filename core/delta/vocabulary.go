package delta

import (
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// rules say what each rule holds, whatever the reason.
var rules = []contract.Term{
	{Name: string(HintChange), Label: "hint changed", Sentence: "A hint about what the tool does is another, or the class in which it is called."},
	{Name: string(HintSaferFlip), Label: "claims to be safer", Sentence: "A hint now claims that the tool does less harm than before, which is what an attacker would claim."},
	{Name: string(SchemaShape), Label: "input changed", Sentence: "The input takes, asks for or presets something that it did not before."},
	{Name: string(OutputSchema), Label: "results changed", Sentence: "The declared form of the results is another, so a strict client may refuse them or read them differently."},
	{Name: string(Field), Label: "other field changed", Sentence: "Another part of the definition that a client or a model reads is not what was approved."},
	{Name: string(Unavailable), Label: "not compared", Sentence: "The two definitions could not be compared, so the change is held."},
}

// reasons say what each reason holds, under the rule.
var reasons = map[Rule][]contract.Term{
	HintChange: {
		{Name: "readOnlyHint", Label: "read-only hint changed", Sentence: "The tool said that it only reads, and no longer says so."},
		{Name: "destructiveHint", Label: "destructive hint changed", Sentence: "The tool now says, or lets be assumed, that it may destroy something."},
		{Name: "idempotentHint", Label: "idempotent hint changed", Sentence: "Whether calling the tool twice does the same as calling it once is another than it was."},
		{Name: "openWorldHint", Label: "open-world hint changed", Sentence: "Whether the tool reaches beyond its own system is another than it was."},
		{Name: "dispatch", Label: "call class changed", Sentence: "Calls of the tool count as another class (read, write, destructive), so other permissions decide about them."},
	},
	HintSaferFlip: {
		{Name: "readOnlyHint", Label: "now claims to be read-only", Sentence: "The tool now claims that it only reads, so it would be called under weaker permissions."},
		{Name: "destructiveHint", Label: "now claims to be harmless", Sentence: "The tool now claims that it destroys nothing, so it would be called under weaker permissions."},
	},
	SchemaShape: {
		{Name: ApprovedUnknown, Label: "nothing to compare with", Sentence: "No approved definition or input schema is recorded that the new one could be compared with."},
		{Name: Unparsable, Label: "can't be read", Sentence: "The definition can't be read in exactly one way, or its schema can't be compared, so nobody can tell what it takes."},
		{Name: NewRequired, Label: "new required argument", Sentence: "The model has to send an argument that it did not have to send before."},
		{Name: RequiredDropped, Label: "argument no longer required", Sentence: "An argument that every call had to have may now be left out."},
		{Name: Type, Label: "wider type", Sentence: "A place accepts values of a type that it did not accept before."},
		{Name: Ref, Label: "reference changed", Sentence: "A schema leads to another document or place, or not every reader follows it in the same way."},
		{Name: EnumAdded, Label: "new choice", Sentence: "There is a new value to choose from."},
		{Name: EnumDropped, Label: "choices gone", Sentence: "A list of permitted values is gone, so any value is accepted."},
		{Name: EnumIntroduced, Label: "choices introduced", Sentence: "A list of values appeared where the model chose freely, so the server chooses what can be sent."},
		{Name: Const, Label: "fixed value", Sentence: "A place has exactly one permitted value now, or another one than before, or none any more: the server says what is sent."},
		{Name: Default, Label: "default changed", Sentence: "The value that is sent when nothing is chosen appeared, changed or is gone."},
		{Name: Pattern, Label: "pattern changed", Sentence: "The pattern that a text or a name has to fit is another."},
		{Name: Format, Label: "format changed", Sentence: "The format or encoding of a value is another."},
		{Name: Bound, Label: "looser bound", Sentence: "A limit of size, length or number is looser or gone."},
		{Name: AdditionalProperties, Label: "undeclared values accepted", Sentence: "Values are accepted that the schema does not declare, and were not before."},
		{Name: NewProperty, Label: "new preset argument", Sentence: "There is a new argument that comes with a value, or a list of values, that the server chose."},
		{Name: AnyOfGrew, Label: "new alternative", Sentence: "There is another way in which a value may look."},
		{Name: OneOfGrew, Label: "new exclusive alternative", Sentence: "There is another way in which a value may look, of which exactly one has to fit."},
		{Name: OneOfChanged, Label: "exclusive alternatives changed", Sentence: "Alternatives of which exactly one has to fit changed, which can let in what two of them kept out."},
		{Name: AllOfShrank, Label: "condition gone", Sentence: "Something that every value had to meet is gone."},
		{Name: ItemsForm, Label: "list described differently", Sentence: "The items of a list are described in another form than before."},
		{Name: Not, Label: "exclusion changed", Sentence: "What a value must not be is another."},
		{Name: Conditional, Label: "condition changed", Sentence: "What is accepted depends on other arguments in another way than before."},
		{Name: Dependent, Label: "dependency changed", Sentence: "What has to be sent together with an argument is another."},
		{Name: Keyword, Label: "keyword that can't be judged", Sentence: "A keyword, or the dialect of the schema, changed whose effect can't be judged."},
	},
	OutputSchema: {
		{Name: OutputAdded, Label: "results declared", Sentence: "The tool declares what its results look like, and did not before."},
		{Name: OutputRemoved, Label: "results no longer declared", Sentence: "The tool does not declare any more what its results look like."},
		{Name: OutputChanged, Label: "results changed", Sentence: "The declared form of the results is another."},
	},
}

// Terms are the words of this law as printed signals begin with them: each rule,
// and each reason under its rule. Fields have no reasons of their own.
func Terms() []contract.Term {
	var all []contract.Term
	for _, rule := range rules {
		all = append(all, rule)
		for _, reason := range reasons[Rule(rule.Name)] {
			reason.Name = rule.Name + ":" + reason.Name
			all = append(all, reason)
		}
	}
	return all
}

// Explain gives the term of a printed signal, compacted ones included: that of its
// reason where there is one, else that of its rule. found is false for a signal of
// another law.
func Explain(printed string) (term contract.Term, found bool) {
	rule, rest, _ := strings.Cut(printed, ":")
	reason, _, _ := strings.Cut(rest, ":")
	for _, t := range reasons[Rule(rule)] {
		if t.Name == reason {
			t.Name = rule + ":" + reason
			return t, true
		}
	}
	for _, t := range rules {
		if t.Name == rule {
			return t, true
		}
	}
	return contract.Term{}, false
}
