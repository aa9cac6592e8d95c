package dev

import (
	"strings"
	"testing"

	"punchcard/store"
)

// TestPhonesAreBounded checks that there are at most 50 phones.
func TestPhonesAreBounded(t *testing.T) {
	t.Parallel()
	ps := &Phones{list: make([]*phone, 50)}
	if _, err := ps.forCard(store.Opt[string]{}, "apple"); err == nil || !strings.Contains(err.Error(), "There are 50 phones already") {
		t.Errorf("a phone beside fifty: %v", err)
	}
}
