package fault

import (
	"fmt"
	"strings"
)

// Plural is a number of things as a sentence has it: "1 path", "2 paths", "3 entries".
func Plural(n int, one string) string {
	switch before, y := strings.CutSuffix(one, "y"); {
	case n == 1:
		return "1 " + one
	case y && !strings.HasSuffix(before, "a") && !strings.HasSuffix(before, "e") && !strings.HasSuffix(before, "o"):
		return fmt.Sprintf("%d %sies", n, before)
	}
	return fmt.Sprintf("%d %ss", n, one)
}
