package holder

import "testing"

// TestTemplates parses all pages.
func TestTemplates(t *testing.T) {
	if err := templates().Check(); err != nil {
		t.Fatal(err)
	}
}
