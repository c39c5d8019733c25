package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"sort"
	"strings"
)

// meaning is the slow second opinion on what a text means: read by encoding/json
// and written with exact fractions. It is independent of everything in this
// package. It gives false for what it has no opinion on: texts that encoding/json
// does not read, and powers of ten that would have to be written out.
func meaning(raw []byte) (string, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return "", false
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", false
	}
	var b strings.Builder
	ok := writeMeaning(&b, v)
	return b.String(), ok
}

func writeMeaning(b *strings.Builder, v any) bool {
	switch v := v.(type) {
	case json.Number:
		if _, power, ok := strings.Cut(strings.ToLower(v.String()), "e"); ok && len(strings.TrimLeft(power, "+-0")) > 3 {
			return false
		}
		r, ok := new(big.Rat).SetString(v.String())
		if !ok {
			return false
		}
		b.WriteString("#" + r.RatString())
	case []any:
		b.WriteString("[")
		for _, item := range v {
			if !writeMeaning(b, item) {
				return false
			}
			b.WriteString(";")
		}
		b.WriteString("]")
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sort.Strings(names)
		b.WriteString("{")
		for _, name := range names {
			fmt.Fprintf(b, "%q=", name)
			if !writeMeaning(b, v[name]) {
				return false
			}
		}
		b.WriteString("}")
	default: // string, bool, nil
		fmt.Fprintf(b, "%#v", v)
	}
	return true
}
