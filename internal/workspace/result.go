package workspace

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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

// encode gives the result as MCP has it. What is no UTF-8 becomes U+FFFD.
func (r result) encode() []byte {
	b := make([]byte, 0, len(r.text)+len(r.text)/16+base64.StdEncoding.EncodedLen(len(r.image))+512)
	b = append(b, `{"content":[`...)
	if r.image != nil {
		b = append(b, `{"type":"image","data":"`...)
		b = base64.StdEncoding.AppendEncode(b, r.image)
		b = append(appendText(append(b, `","mimeType":`...), r.mime), '}')
	} else {
		b = appendContent(b, r.text)
	}
	for _, text := range r.added {
		b = appendContent(append(b, ','), text)
	}
	b = append(b, ']')
	if r.structured != nil {
		// Of strings, numbers and lists of them.
		if s, err := json.Marshal(r.structured); err == nil {
			b = append(append(b, `,"structuredContent":`...), s...)
		}
	}
	if r.failed {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}')
}

func appendContent(b []byte, text string) []byte {
	return append(appendText(append(b, `{"type":"text","text":`...), text), '}')
}

func appendText(b []byte, text string) []byte {
	if quoted, err := jsontext.AppendQuote(b, text); err == nil {
		return quoted
	}
	quoted, _ := jsontext.AppendQuote(b, strings.ToValidUTF8(text, "\uFFFD")) // it is valid now
	return quoted
}
