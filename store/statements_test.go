package store

import (
	"fmt"
	"path/filepath"
	"testing"
)

// A connection that keeps few statements runs any number, and lets none go
// whose rows are being walked.
func TestFewStatements(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "few.db"), Options{Ephemeral: true, Small: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.View(0, func(v *View) error {
		walk := v.query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 9) SELECT i FROM n")
		var sum int64
		for walk.next() {
			sum += walk.int()
			for i := range 40 {
				if n, err := v.number(fmt.Sprintf("SELECT %d", i)); err != nil || n != int64(i) {
					t.Errorf("statement %d gives %d, %v", i, n, err)
				}
			}
			if kept := len(v.stmts) + len(v.older); kept > 2*fewStatements+1 {
				t.Fatalf("%d statements are kept", kept)
			}
		}
		if err := walk.close(); err != nil || sum != 45 {
			t.Errorf("the walk gives %d, %v", sum, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
