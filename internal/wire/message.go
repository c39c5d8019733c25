// Package wire reads and writes JSON-RPC and MCP's transports byte-faithfully: one
// strict pass, slices of what came, and edits in place. It knows nothing of
// approvals. Design: docs/design/wire.md.
package wire

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of one message.
const (
	DefaultMaxMessage = 16 << 20 // bytes
	MaxDepth          = 256      // nested arrays and objects, the envelope counted
)

// Kind of a Message.
type Kind byte

const (
	Invalid Kind = iota
	Request
	Notification
	Response // has a result or an error
)

// Message is one JSON-RPC message. The slices point into Raw.
type Message struct {
	Kind   Kind
	Raw    []byte
	ID     []byte // as written (a string or a number, any digits; null or absent only in an error response); nil in a notification
	Method string
	Params []byte // an object; nil when absent or null
	Result []byte
	Error  []byte
	// Loose says that the elements of Result's "tools" were not read: only their
	// bounds are known. Parse gives no such message; a Session does, for the answer
	// to its own tools/list when Parse refuses it.
	Loose bool

	idStart, idEnd int
}

// SyntaxError says why bytes are no message.
type SyntaxError struct {
	Offset int    // bytes from the start of the message
	What   string // sentence part, without the offending value
	Code   int    // CodeParse: no strict JSON; CodeInvalidRequest: no JSON-RPC envelope
	ID     []byte // the id, where the envelope had a good one; for the answer
}

func (e *SyntaxError) Error() string {
	return e.What + " (at byte " + strconv.Itoa(e.Offset) + " of the message)"
}

// decoders are reused, with the buffer each reads from: a message costs no
// allocation that grows with its size.
var decoders = sync.Pool{New: func() any {
	d := &decoder{}
	d.Decoder = jsontext.NewDecoder(&d.src)
	return d
}}

type decoder struct {
	*jsontext.Decoder
	src bytes.Buffer
}

func newDecoder(raw []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.src = *bytes.NewBuffer(raw)
	d.Reset(&d.src)
	return d
}

func (d *decoder) free() {
	d.src = bytes.Buffer{}
	d.Reset(&d.src) // let go of the message
	decoders.Put(d)
}

// span reads one value and says where it stands.
func (d *decoder) span() (Span, error) {
	v, err := d.ReadValue()
	if err != nil {
		return Span{}, err
	}
	end := int(d.InputOffset())
	return Span{end - len(v), end}, nil
}

// Parse reads exactly one message: strict JSON (duplicate names at any depth,
// invalid UTF-8, lone surrogates, trailing data, over MaxDepth are errors with an
// offset) and a strict envelope (jsonrpc "2.0"; case-sensitive names; params an
// object). Unknown envelope members are kept in Raw. A batch is refused, in every
// revision of MCP. The result aliases raw. Every error is a *SyntaxError. Parse
// has no limit on the size: whoever frames messages has.
func Parse(raw []byte) (Message, error) {
	if at := tooDeep(raw); at >= 0 {
		return Message{}, &SyntaxError{Offset: at, What: "arrays and objects are nested deeper than " + strconv.Itoa(MaxDepth), Code: CodeParse}
	}
	d := newDecoder(raw)
	defer d.free()
	var e envelope
	if err := e.read(d); err != nil {
		return Message{}, syntaxError(err, len(raw))
	}
	return e.message(raw)
}

// envelope is where the members of a message stand; a zero Span is absent (no
// value can stand at the first byte).
type envelope struct {
	start                                      int // of the object
	version, id, method, params, result, error Span
}

func (e *envelope) read(d *decoder) error {
	switch d.PeekKind() {
	case jsontext.KindBeginObject, jsontext.KindInvalid:
	case jsontext.KindBeginArray:
		return &SyntaxError{Offset: int(d.InputOffset()), What: "is a batch of messages, which is not accepted: send each message by itself", Code: CodeInvalidRequest}
	default:
		if _, err := d.span(); err != nil {
			return err
		}
		return &SyntaxError{What: "is not a JSON object", Code: CodeInvalidRequest}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	e.start = int(d.InputOffset()) - 1
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		member := e.member(name)
		value, err := d.span()
		if err != nil {
			return err
		}
		if member != nil {
			*member = value
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	end := int(d.InputOffset())
	if _, err := d.ReadToken(); err == nil {
		return &SyntaxError{Offset: end, What: "more data follows the message", Code: CodeParse}
	} else if err != io.EOF {
		return err
	}
	return nil
}

// member gives the place for the member of a quoted name; nil when it is unknown.
func (e *envelope) member(quoted []byte) *Span {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name, _ = jsontext.AppendUnquote(nil, quoted) // read strictly before
	}
	switch string(name) {
	case "jsonrpc":
		return &e.version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.error
	}
	return nil
}

func (s Span) of(raw []byte) []byte { return raw[s.Start:s.End:s.End] }
func (s Span) absent() bool         { return s.End == 0 }

// message checks the envelope that was read.
func (e *envelope) message(raw []byte) (Message, error) {
	m := Message{Raw: raw}
	var at int
	var wrong string
	switch v := e.version; {
	case v.absent():
		at, wrong = e.start, `has no "jsonrpc"`
	case !named(v.of(raw), "2.0"):
		at, wrong = v.Start, `"jsonrpc" is not "2.0"`
	case !e.method.absent():
		at, wrong = e.call(&m)
	default:
		at, wrong = e.response(&m)
	}
	if wrong != "" {
		id, _ := e.validID(raw)
		return Message{}, &SyntaxError{Offset: at, What: wrong, Code: CodeInvalidRequest, ID: id}
	}
	if !e.id.absent() {
		m.ID, m.idStart, m.idEnd = e.id.of(raw), e.id.Start, e.id.End
	}
	return m, nil
}

// call fills in a request or a notification; or says what is wrong, and where.
func (e *envelope) call(m *Message) (at int, wrong string) {
	var ok bool
	if m.Method, ok = text(e.method.of(m.Raw)); !ok || m.Method == "" {
		return e.method.Start, `"method" is not a name`
	}
	if !e.result.absent() || !e.error.absent() {
		return max(e.result.Start, e.error.Start), `has "method" and a result or an error`
	}
	m.Kind = Notification
	if !e.id.absent() {
		m.Kind = Request
		if _, ok := e.validID(m.Raw); !ok {
			return e.id.Start, `"id" is neither a string nor a number`
		}
	}
	if e.params.absent() || isNull(e.params.of(m.Raw)) {
		return 0, ""
	}
	if m.Params = e.params.of(m.Raw); m.Params[0] != '{' {
		return e.params.Start, `"params" is not an object`
	}
	return 0, ""
}

// response fills in a response; or says what is wrong, and where.
func (e *envelope) response(m *Message) (at int, wrong string) {
	m.Kind = Response
	hasResult, hasError := !e.result.absent(), !e.error.absent()
	if hasResult && hasError { // some servers send both, with null for the one that does not count
		hasError = !isNull(e.error.of(m.Raw))
		hasResult = !hasError || !isNull(e.result.of(m.Raw))
	}
	_, idOK := e.validID(m.Raw)
	switch {
	case hasResult && hasError:
		return max(e.result.Start, e.error.Start), `has both "result" and "error"`
	case hasResult:
		m.Result = e.result.of(m.Raw)
	case hasError:
		if m.Error = e.error.of(m.Raw); m.Error[0] != '{' {
			return e.error.Start, `"error" is not an object`
		}
		idOK = idOK || e.id.absent() || isNull(e.id.of(m.Raw))
	default:
		return e.start, `has neither "method" nor "result" nor "error"`
	}
	if !idOK {
		return max(e.start, e.id.Start), `"id" of a response is neither a string nor a number`
	}
	return 0, ""
}

// validID gives the id when it is a string or a number.
func (e *envelope) validID(raw []byte) (id []byte, ok bool) {
	if e.id.absent() {
		return nil, false
	}
	id = e.id.of(raw)
	if c := id[0]; c == '"' || c == '-' || '0' <= c && c <= '9' {
		return id, true
	}
	return nil, false
}

func isNull(v []byte) bool { return v[0] == 'n' }

// text gives the content of a JSON string that was read strictly.
func text(v []byte) (string, bool) {
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	b, err := jsontext.AppendUnquote(nil, v)
	return string(b), err == nil
}

// syntaxError puts what the decoder says into words that repeat nothing of the message.
func syntaxError(err error, size int) *SyntaxError {
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		return e
	}
	e := &SyntaxError{Offset: size, What: "is not valid JSON", Code: CodeParse}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		e.Offset = int(s.ByteOffset)
		err = s.Err // without the pointer, which holds names of the message
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		e.What = "ends before the message is complete"
	case errors.Is(err, jsontext.ErrDuplicateName):
		e.What = "an object has two members of the same name"
	case errors.Is(err, jsontext.ErrNonStringName):
		e.What = "the name of an object's member is not a string"
	case strings.Contains(err.Error(), "invalid UTF-8"), strings.Contains(err.Error(), "surrogate"):
		e.What = "text is not valid UTF-8 or has a lone surrogate"
	}
	return e
}

// tooDeep gives the offset of the bracket that goes deeper than MaxDepth, or -1.
// It counts brackets outside strings, which is all it takes in valid JSON, and
// skips the work where there are not enough brackets to matter.
func tooDeep(raw []byte) int {
	if bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= MaxDepth {
		return -1
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch nesting[raw[i]] {
		case neither:
		case quotes:
			if i = skipString(raw, i) - 1; i >= len(raw) {
				return -1
			}
		case opens:
			if depth++; depth > MaxDepth {
				return i
			}
		case closes:
			depth--
		}
	}
	return -1
}

// nesting is what a byte does to the depth.
var nesting = [256]byte{'"': quotes, '{': opens, '[': opens, '}': closes, ']': closes}

const (
	neither = iota
	quotes
	opens
	closes
)

// WithID gives the message's bytes with another id in place; a message that has
// none is given as it is.
func (m Message) WithID(id []byte) []byte {
	if m.ID == nil {
		return bytes.Clone(m.Raw)
	}
	return Splice(m.Raw, Edit{Span{m.idStart, m.idEnd}, id})
}

// JSON-RPC and MCP error codes that Holdfast itself gives.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeNotFound       = -32002 // resource not found
)

// Versions of MCP with sessions that are spoken, newest first.
var Versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
