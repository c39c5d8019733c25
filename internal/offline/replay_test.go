package offline

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// corpus is the folder with the real listings, which stands outside of the repository.
func corpus(t testing.TB) string {
	dir := os.Getenv("HOLDFAST_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("NO CORPUS IN %s: real upgrades are NOT replayed; set HOLDFAST_CORPUS", dir)
	}
	return dir
}

func TestX(t *testing.T) {
	r, err := Replay(filepath.Join(corpus(t), "listings"), contract.Destructive)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Servers {
		t.Logf("%+v", s)
	}
	for _, s := range r.Rules {
		t.Logf("%+v", s)
	}
	t.Logf("%+v %d", r.Total, r.Skipped)
}
