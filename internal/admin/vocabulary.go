package admin

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// Vocabulary is every word that the API, the audit and the command line have for
// why something is held, approved or refused. Each law keeps its own table.
type Vocabulary struct {
	HoldSignal []Term `json:"hold_signal" nullable:"false" doc:"What printed signals begin with, up to the second colon"`
	HeldReason []Term `json:"held_reason" nullable:"false" doc:"Why a contract is held"`
	Reason     []Term `json:"reason" nullable:"false" doc:"Why a record changed"`
	Refusal    []Term `json:"refusal" nullable:"false" doc:"Why a tool is not ready, or a call was refused"`
	Class      []Term `json:"class" nullable:"false" doc:"What a caller must be permitted to do"`
}

// Term is one word.
type Term struct {
	Name     string `json:"name" doc:"Stable"`
	Label    string `json:"label" doc:"A few words"`
	Sentence string `json:"sentence" doc:"What it means"`
}

// AllTerms is the vocabulary.
func AllTerms() Vocabulary {
	return Vocabulary{
		HoldSignal: termsOf(approval.SignalTerms()), HeldReason: termsOf(approval.HeldTerms()), Reason: termsOf(approval.ReasonTerms()),
		Refusal: termsOf(dispatch.Terms()), Class: termsOf(contract.ClassTerms()),
	}
}

func termsOf(terms []contract.Term) []Term {
	out := make([]Term, 0, len(terms))
	for _, t := range terms {
		out = append(out, Term(t))
	}
	return out
}

func (a *api) vocabulary(context.Context, *struct{}) (*body[Vocabulary], error) {
	return &body[Vocabulary]{AllTerms()}, nil
}

// clause makes a part of a sentence of one.
func clause(sentence string) string {
	r, n := utf8.DecodeRuneInString(sentence)
	return string(unicode.ToLower(r)) + strings.TrimSuffix(sentence[n:], ".")
}
