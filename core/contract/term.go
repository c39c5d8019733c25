package contract

// Term is one word of the vocabulary that people are shown. Each law keeps a table
// of its own beside its constants; the API serves all of them together
// (docs/design/rest.md).
type Term struct {
	Name     string `json:"name"`     // stable: records, the audit and clients have it
	Label    string `json:"label"`    // a few words, for a table or a chip
	Sentence string `json:"sentence"` // what it means, for a person who never saw it before
}
