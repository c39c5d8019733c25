package wire

import "strconv"

// NewRequest builds a request; params may be nil.
func NewRequest(id []byte, method string, params []byte) []byte {
	b := make([]byte, 0, 64+len(id)+len(method)+len(params))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	return appendCall(append(b, ','), method, params)
}

// NewNotification builds a notification; params may be nil.
func NewNotification(method string, params []byte) []byte {
	b := make([]byte, 0, 64+len(method)+len(params))
	return appendCall(append(b, `{"jsonrpc":"2.0",`...), method, params)
}

func appendCall(b []byte, method string, params []byte) []byte {
	b = append(b, `"method":`...)
	b = append(b, Quote(method)...)
	if params != nil {
		b = append(b, `,"params":`...)
		b = append(b, params...)
	}
	return append(b, '}')
}

// NewResult builds a response; a nil result is the empty object.
func NewResult(id, result []byte) []byte {
	if result == nil {
		result = []byte("{}")
	}
	b := make([]byte, 0, 48+len(id)+len(result))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(append(b, orNull(id)...), `,"result":`...)
	return append(append(b, result...), '}')
}

// NewError builds an error response; a nil id is null, data may be nil.
func NewError(id []byte, code int, message string, data []byte) []byte {
	return newErrorObject(id, NewErrorObject(code, message, data))
}

// NewErrorObject builds the error object of a response; data may be nil.
func NewErrorObject(code int, message string, data []byte) []byte {
	b := append([]byte(nil), `{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(append(b, `,"message":`...), Quote(message)...)
	if data != nil {
		b = append(append(b, `,"data":`...), data...)
	}
	return append(b, '}')
}

func newErrorObject(id, object []byte) []byte {
	b := make([]byte, 0, 48+len(id)+len(object))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(append(b, orNull(id)...), `,"error":`...)
	return append(append(b, object...), '}')
}

func orNull(id []byte) []byte {
	if id == nil {
		return []byte("null")
	}
	return id
}
