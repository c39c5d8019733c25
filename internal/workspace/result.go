package workspace

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// result is what a tool answers.
type result struct {
	text       string
	image      []byte // in place of the text
	mime       string
	structured any // where the tool has an output schema; nil: none
	failed     bool
	added      []string // by PostToolUse hooks
}

// failure is the result of a call that did nothing, or not what it should.
func failure(format string, a ...any) result {
	return result{text: fmt.Sprintf(format, a...), failed: true}
}

type content struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitempty"`
	Data string  `json:"data,omitempty"`
	Mime string  `json:"mimeType,omitempty"`
}

// encode gives the result as MCP has it. What is no UTF-8 becomes U+FFFD.
func (r result) encode() []byte {
	var all []content
	if r.image != nil {
		all = append(all, content{Type: "image", Data: base64.StdEncoding.EncodeToString(r.image), Mime: r.mime})
	} else {
		all = append(all, content{Type: "text", Text: &r.text})
	}
	for _, text := range r.added {
		all = append(all, content{Type: "text", Text: &text})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		Content    []content `json:"content"`
		Structured any       `json:"structuredContent,omitempty"`
		IsError    bool      `json:"isError,omitempty"`
	}{all, r.structured, r.failed})
	if err != nil { // of strings, numbers and lists of them
		return []byte(`{"content":[{"type":"text","text":"the result can't be written as JSON"}],"isError":true}`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
