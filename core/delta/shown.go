package delta

import (
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// maxShown is how many bytes of a value are shown on a line.
const maxShown = 400

// String shows a side of a fact; empty when it is not there.
func (s shown) String() string {
	switch {
	case !s.there:
		return ""
	case s.text != "":
		return cut(s.text)
	}
	return cut(string(appendShown(nil, s.value)))
}

// cut shortens what is shown.
func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

// appendShown writes a value for the eye: numbers as people write them, invisible
// characters escaped. It stops soon after maxShown.
func appendShown(b []byte, v contract.Value) []byte {
	switch v.Kind() {
	case contract.String:
		return append(append(append(b, '"'), strings.ReplaceAll(visibleText(v.Text()), `"`, `\"`)...), '"')
	case contract.Number:
		return append(b, plainNumber(v.Text())...)
	case contract.Array:
		b = append(b, '[')
		for i, item := range v.Items() {
			if len(b) > maxShown {
				return b
			}
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendShown(b, item)
		}
		return append(b, ']')
	case contract.Object:
		b = append(b, '{')
		for i, m := range v.Members() {
			if len(b) > maxShown {
				return b
			}
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(b, '"')
			b = append(b, visibleText(m.Name)...)
			b = append(b, `": `...)
			b = appendShown(b, m.Value)
		}
		return append(b, '}')
	default:
		return v.AppendCanonical(b)
	}
}

// plainNumber writes a canonical number out where that is short.
func plainNumber(s string) string {
	digits, power, ok := strings.Cut(s, "e")
	n, err := strconv.Atoi(power)
	if !ok || err != nil || n > 20 || n < -20 {
		return s
	}
	sign := ""
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	if n >= 0 {
		return sign + digits + strings.Repeat("0", n)
	}
	for len(digits) <= -n {
		digits = "0" + digits
	}
	return sign + digits[:len(digits)+n] + "." + digits[len(digits)+n:]
}

// visibleText is visible, with the everyday white space in its everyday escapes.
func visibleText(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	parts := strings.Split(s, "\n")
	for i, p := range parts {
		fields := strings.Split(p, "\t")
		for j, f := range fields {
			fields[j] = visible(f)
		}
		parts[i] = strings.Join(fields, `\t`)
	}
	return strings.Join(parts, `\n`)
}

// fieldPath makes a path of the reason of a Field signal.
func fieldPath(reason string) string {
	if name, ok := strings.CutPrefix(reason, "annotations."); ok {
		return "annotations/" + escapeStep(name)
	}
	return escapeStep(reason)
}

// escapeStep is pointerStep for a name that is visible already.
func escapeStep(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
