package contract

// Term is one word of the vocabulary that people are shown. Each law keeps a table
// of its own beside its constants; the tables together are docs/design/vocabulary.md
// and what the API serves.
type Term struct {
	Name     string `json:"name"`     // stable: records, the audit and clients have it
	Label    string `json:"label"`    // a few words, for a table or a chip
	Sentence string `json:"sentence"` // what it means, for a person who never saw it before
}
