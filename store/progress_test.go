package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// seenStep is a step of long work, with the numbers that were reported of it.
type seenStep struct {
	Step
	done  []int64
	total int64
}

// progressLog is a Progress that records what is reported to it.
type progressLog struct {
	t     *testing.T
	steps []*seenStep
	ended bool
}

func (l *progressLog) note(step Step, done, total int64) {
	if step == (Step{}) {
		l.ended = true
		return
	}
	n := len(l.steps)
	if n == 0 || l.steps[n-1].Step != step || done < l.steps[n-1].done[len(l.steps[n-1].done)-1] {
		l.steps, n = append(l.steps, &seenStep{Step: step, total: total}), n+1
		if done != 0 {
			l.t.Errorf("%s begins with %d", step.Name, done)
		}
	}
	s := l.steps[n-1]
	s.done = append(s.done, done)
	if total != s.total || done > total || (total == 0) != (step.Unit == "") {
		l.t.Errorf("%s: %d of %d %s, and the first report was of %d", step.Name, done, total, step.Unit, s.total)
	}
}

// finished checks that the end of the work was reported, that each step reached its total, and
// that exactly the named steps, in this order, were also reported between their beginning and
// end. It then forgets all steps.
func (l *progressLog) finished(names ...string) {
	l.t.Helper()
	if !l.ended {
		l.t.Error("the end of the work was not reported")
	}
	var between []string
	for _, s := range l.steps {
		if last := s.done[len(s.done)-1]; last != s.total {
			l.t.Errorf("%s ends with %d of %d", s.Name, last, s.total)
		}
		if slices.ContainsFunc(s.done, func(done int64) bool { return 0 < done && done < s.total }) {
			between = append(between, s.Name)
		}
	}
	if !slices.Equal(between, names) {
		l.t.Errorf("reported before their ends:\n%s\nwant\n%s", strings.Join(between, "\n"), strings.Join(names, "\n"))
	}
	l.steps, l.ended = nil, false
}

// TestProgress checks that a migration, a check and a recount of the statistics report each of
// their steps, from 0 to its total.
func TestProgress(t *testing.T) {
	t.Parallel()
	const cards = 12_000
	path := filepath.Join(t.TempDir(), "older.db")
	createOlder(t, path, firstVersion, fmt.Sprintf(`INSERT INTO shops (id, name, mode, timezone, subscription_state, api_addon, mcp_access,
			included_locations, created_at, updated_at, live_cards) VALUES (1, 'S', 'test', 'UTC', 'active', 1, 1, 1, 0, 0, %[1]d);
		INSERT INTO programs (id, shop_id, type, name, name_localizations, description, description_localizations, category,
		repeat_after_reset,
			brand_color_hex, bg_color_hex, text_color_hex, visible_in_catalog, border_enabled, location_scope, created_at, updated_at)
			VALUES (1, 1, 'access', 'P', '{}', '', '{}', 'other', 0, '#000000', '#000000', '#000000', 1, 0, 'all_locations', 0, 0);
		INSERT INTO program_counts (program_id) VALUES (1);
		INSERT INTO cards (id, shop_id, program_id, source, holder_name, live, created_at, updated_at)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%[1]d) SELECT i, 1, 1, 'api', 'Ada', 1, i*900000, 0 FROM n;
		INSERT INTO users (email, email_key, name, password, language, operator, password_changed_at, created_at, updated_at)
			SELECT id, id, 'Ada', '', 'en', 1, 0, 0, 0 FROM cards`, cards))
	l := &progressLog{t: t}
	s := open(t, path, Options{Serve: true, Progress: l.note})
	l.finished("copying", "migrating to schema 12: UPDATE users SET", "migrating to schema 12: CREATE INDEX cards_forget")
	f := &fixture{Store: s, t: t}
	f.must((*Tx).RecountStats)
	l.finished("counting the statistics", "counting the statistics by day", "computing the days on which cards were seen")
	if found, err := s.Check(); err != nil || len(found) > 0 {
		t.Errorf("check: %q, %v", found, err)
	}
	l.finished("checking the integrity", "checking the invariants", "checking the references")
	if _, err := CheckQuick(t.Context(), s.Path(), l.note); err != nil {
		t.Error(err)
	}
	l.finished("checking the integrity")

	path = s.Path()
	succeed(s.Close())
	open(t, path, Options{Progress: func(step Step, _, _ int64) {
		if step != (Step{}) {
			t.Errorf("opening a file of this version: %s", step.Name)
		}
	}})
}
