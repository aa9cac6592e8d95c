package api_test

import (
	"testing"

	"punchcard/server/servertest"
)

// TestBadFieldsAreNamed checks that bad values of every field of every body are
// refused with a detail that names the field. The ids in the paths are unknown, since
// fields are checked before resources.
func TestBadFieldsAreNamed(t *testing.T) {
	t.Parallel()
	s := start(t)
	paths := map[string]string{}
	for _, r := range writingRoutes() {
		paths[r.ID] = nowhere.fill(t, r)
	}
	n := s.RefusesBadFields("/openapi.json", paths, func(operation, field string) servertest.Fields {
		for _, r := range writingRoutes() {
			if r.ID == operation {
				return base(r, field)
			}
		}
		return nil
	})
	if n < servertest.Sized(800, 80) {
		t.Errorf("%d requests, so the generator does not read the document", n)
	}
}
