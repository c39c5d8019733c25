// Package wire reads and writes JSON-RPC and MCP's transports byte-faithfully: one
// strict pass, slices of what came, and edits in place. It knows nothing of
// approvals. Design: docs/design/wire.md.
package wire

// Limits of one message.
const (
	DefaultMaxMessage = 16 << 20 // bytes
	MaxDepth          = 256      // nested arrays and objects
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
	ID     []byte // as written (a string or a number, any digits; null only in an error response); nil in a notification
	Method string
	Params []byte // nil when absent
	Result []byte
	Error  []byte

	idStart, idEnd int
}

// Parse reads exactly one message: strict JSON (duplicate names at any depth,
// invalid UTF-8, lone surrogates, trailing data, over MaxDepth are errors with an
// offset) and a strict envelope (jsonrpc "2.0"; case-sensitive names). Unknown
// envelope members are kept in Raw. The result aliases raw.
func Parse(raw []byte) (Message, error) { panic("unwritten") }

// SyntaxError says why bytes are no message.
type SyntaxError struct {
	Offset int    // bytes from the start of the message
	What   string // sentence part, without the offending value
}

func (e *SyntaxError) Error() string { panic("unwritten") }

// WithID gives the message's bytes with another id in place.
func (m Message) WithID(id []byte) []byte { panic("unwritten") }

// Span is a half-open range of bytes.
type Span struct{ Start, End int }

// Find gives the span of the value at a path of member names in obj, which must
// already have been read strictly. ok is false when there is none.
func Find(obj []byte, path ...string) (s Span, ok bool) { panic("unwritten") }

// Edit replaces a span.
type Edit struct {
	Span
	With []byte
}

// Splice gives a copy of raw with all edits made; they may come in any order and
// must not overlap.
func Splice(raw []byte, edits ...Edit) []byte { panic("unwritten") }

// Quote gives s as a JSON string.
func Quote(s string) []byte { panic("unwritten") }

// Builders for messages of our own.
func NewRequest(id []byte, method string, params []byte) []byte        { panic("unwritten") }
func NewNotification(method string, params []byte) []byte              { panic("unwritten") }
func NewResult(id, result []byte) []byte                               { panic("unwritten") }
func NewError(id []byte, code int, message string, data []byte) []byte { panic("unwritten") }

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
