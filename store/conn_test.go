package store

import "testing"

// TestNullColumns checks that null and values of the domain's types are read as they were bound.
func TestNullColumns(t *testing.T) {
	f := start(t, Options{})
	f.view(func(v *View) error {
		_, err := v.one(func(r *rows) {
			if at, n, x := r.nullTime(), r.nullInt(), r.nullFloat(); at.Valid || n.Valid || x.Valid {
				t.Errorf("null is read as %v, %v and %v", at, n, x)
			}
			if at, n, x, s := r.nullTime(), r.nullInt(), r.nullFloat(), r.nullStr(); at != Some(Time(1<<40)) || n != Some(int64(-7)) || x != Some(0.5) || s != Some("a") {
				t.Errorf("values are read as %v, %v, %v and %v", at, n, x, s)
			}
			if at, kind, code, s := r.time(), r.int(), r.str(), r.nullStr(); at != 1<<40 || kind != int64(KindCard) || code != string(Gone) || s.Valid {
				t.Errorf("plain values are read as %v, %v, %v and %v", at, kind, code, s)
			}
		}, "SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?", Null[Time]{}, Null[int64]{}, Null[float64]{}, Some(Time(1<<40)), Some(int64(-7)), Some(0.5), Some("a"),
			Time(1<<40), KindCard, Gone, Null[string]{})
		return err
	})
}
