package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// strictJSON reads bodies in one way only: a name that stands twice, or bytes that
// are no UTF-8, would let two readers see two requests.
var strictJSON = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	},
	Unmarshal: func(data []byte, v any) error {
		if err := unambiguous(data); err != nil {
			return err
		}
		return json.Unmarshal(data, v)
	},
}

func unambiguous(data []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	if _, err := d.ReadValue(); err != nil {
		return fmt.Errorf("not valid JSON at byte %d", d.InputOffset())
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return fmt.Errorf("something follows the JSON value at byte %d", d.InputOffset())
	}
	return nil
}

func indent(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
