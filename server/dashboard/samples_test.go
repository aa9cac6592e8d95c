package dashboard_test

import (
	"regexp"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// samples are the ids of a shop's things, by the word before them in paths.
type samples map[string]string

// sample makes one of each thing in a shop, with a name.
func (s *demo) sample(on *servertest.Server, name string) samples {
	s.T.Helper()
	shop := s.Row(store.KindShop, on.ShopID)
	program := on.NewProgram("standard", false, object{"name": name})
	prize := on.REST().Post("/programs/"+program+"/prizes", object{"name": name, "threshold": 3}).NewID()
	on.REST().Post("/programs/"+program+"/publish", nil).Want(200)
	location := s.Control("POST", "/locations", object{"shop_id": on.ShopID, "name": name}).Str("id")
	device := s.Control("POST", "/devices", object{"location_id": location, "name": name, "accept_card_ids": true})
	hook := on.REST().
		Post("/programs/"+program+"/webhooks", object{
			"url": "http://127.0.0.1:9/hooks", "events": []string{"card.*"}, "description": name,
		}).NewID()
	sent := on.REST().Post("/programs/"+program+"/webhooks/"+hook+"/test", nil).Want(202).Str("id")
	_, key := on.NewKey(object{"shop_id": on.ShopID, "name": name})
	card := on.Issue(program, object{"holder_name": name})
	out := samples{
		"program":  program,
		"prize":    prize,
		"location": location,
		"till":     device.Str("id"),
		"card":     card,
		"merge":    on.Issue(program, object{"holder_name": name}),
		"key":      key,
		"webhook":  hook,
		"delivery": sent,
		"transaction": s.Till(device.Str("token")).
			Post("/cards/"+card+"/stamps", object{"count": 1}).
			Want(201).
			Str("transaction.id"),
	}
	out["staff"] = s.newStaff(on.ShopID, location, name)
	servertest.Write(s.T, s.App.Store, func(tx *store.Tx) error {
		if _, err := tx.UpdateEnrolment(shop, program, store.EnrolmentFields{
			Enabled: store.Given(true), Slug: store.Given(strings.TrimPrefix(program, "prg_")), MaxCards: store.Given[int64](5),
		}); err != nil {
			return err
		}
		user, err := tx.AddUser(store.NewUser{Email: "m" + on.ShopID + "@test.example", Name: name, Language: "en"})
		if err != nil {
			return err
		}
		if err := tx.AddMember(user, shop, store.RoleViewer); err != nil {
			return err
		}
		var rows store.ImportParts
		rows.Add(store.RawRow{Line: 2, Cells: []string{name}})
		run, err := tx.UploadImport(shop, store.ImportFile{Columns: []string{"name"}}, &rows)
		if err != nil {
			return err
		}
		out["import"] = run.ID
		session, _, err := tx.BeginSession(store.NewSession{User: user, Shop: shop})
		if err != nil {
			return err
		}
		changes, err := tx.StartCardRun(shop, store.RunFields{Action: store.Given("unlock"), CardIDs: store.Given([]string{card})},
			store.Total{})
		if err != nil {
			return err
		}
		out["run"] = changes.ID
		l, err := tx.Invite(shop, "invited@test.example", store.RoleViewer)
		out["person"], out["invitation"], out["session"] = s.App.Store.ID(store.KindUser, user), l.ID, session.ID
		return err
	})
	out["user"], out["shop"], out["invite"] = out["person"], on.ShopID, "x"
	return out
}

// parameter matches a parameter of a pattern with the word before it.
var parameter = regexp.MustCompile(`/([a-z-]+)/:(\w+)`)

// path returns a pattern with the ids in place of its parameters.
func (ids samples) path(t *testing.T, pattern string) string {
	t.Helper()
	return parameter.ReplaceAllStringFunc(pattern, func(part string) string {
		word := parameter.FindStringSubmatch(part)[1]
		if ids[word] == "" {
			t.Errorf("%s: there is no sample of a %s", pattern, word)
		}
		return "/" + word + "/" + ids[word]
	})
}
