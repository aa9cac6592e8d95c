package store

import (
	"strings"
	"testing"
)

// TestProgramLogo checks that programs share a logo, that a logo without a program is deleted,
// and that the logo of a program with installed cards cannot be changed.
func TestProgramLogo(t *testing.T) {
	k := startTill(t)
	f := k.fixture
	one, two := f.draft(stamps("One")), f.program(stamps("Two"))
	first, second := NewLogo([]byte("first")), NewLogo([]byte("second"))
	logoOf := func(program string) (hash string) {
		f.view(func(v *View) error {
			p, err := v.ProgramForm(f.a.Shop, program)
			hash = p.LogoHash.V
			return err
		})
		return hash
	}
	give := func(program string, l *Logo) error {
		return errorOf(attempt(f, func(tx *Tx) (ProgramDetail, error) { return tx.SetProgramLogo(f.a.Shop, program, l) }))
	}
	kept := func(want string) {
		t.Helper()
		if got := strings.Join(f.lines("SELECT CAST(bytes AS TEXT) FROM logos ORDER BY bytes"), " "); got != want {
			t.Errorf("the logos are %q, want %q", got, want)
		}
	}
	for _, step := range []struct {
		program string
		logo    *Logo
		kept    string
	}{
		{one, &first, "first"}, {two, &first, "first"}, {one, &second, "first second"},
		{one, &second, "first second"}, {two, nil, "second"}, {two, nil, "second"},
	} {
		succeed(give(step.program, step.logo))
		want := ""
		if step.logo != nil {
			want = step.logo.Hash
		}
		if got := logoOf(step.program); got != want || len(second.Hash) != 32 {
			t.Errorf("the logo is %q, want %q", got, want)
		}
		kept(step.kept)
	}
	f.reads(func(v *View) {
		l, err := v.Logo(second.Hash)
		if err != nil || string(l.Bytes) != "second" || l.ContentType != "image/png" {
			t.Errorf("%+v, %v", l, err)
		}
		refused(t, errorOf(v.Logo(first.Hash)), NotFound)
	})
	f.deleteProgram(one)
	kept("")
	refused(t, give(one, &first), NotFound)
	card := f.issue(two, CardFields{})
	check(k.install(card.InstallURL))
	refused(t, give(two, &first), ProgramHasInstalledCards)
	f.checkFile()
}
