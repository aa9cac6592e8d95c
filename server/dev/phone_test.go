package dev_test

import (
	"bytes"
	"image/png"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/store"
)

// phoneState is what the control API says of a phone.
type phoneState struct {
	ID, Platform string
	Arrived      int
	Notices      []string
	Problem      *string
	Passes       []struct {
		CardID       string `json:"card_id"`
		SerialNumber string `json:"serial_number"`
		Voided       bool
		PictureURL   string `json:"picture_url"`
		Fields       []struct{ Key, Place, Label, Value string }
	}
}

// field returns a field of a pass of the phone.
func (p phoneState) field(pass int, key string) string {
	for _, f := range p.Passes[pass].Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// newCard issues a card of the demo shop's stamp program and returns its id.
func newCard(s *server, holder string) string {
	s.T.Helper()
	return callREST(s, "POST", cardsPath(s), fields{"holder_name": holder}).NewID()
}

func addToPhone(s *server, body fields) phoneState {
	s.T.Helper()
	return servertest.Decode[phoneState](s.Control("POST", "/wallet/phones", body))
}

// await waits until passes have arrived on a phone so many times.
func await(s *server, id, arrived string) phoneState {
	s.T.Helper()
	return servertest.Decode[phoneState](s.Control("GET", "/wallet/phones/"+id+"?timeout_ms=60000&arrived="+arrived, nil))
}

// TestPhone starts the fixture as it is, and stamps a card that is on a phone. What arrives there is awaited, not settled.
func TestPhone(t *testing.T) {
	// The phone finds the server whatever its public URL.
	s := start(t, func(c *app.Config) { c.PublicURL = "https://cards.example.com" })
	card := newCard(s, "Ada")
	before := callREST(s, "GET", "/cards/"+card, nil).Want(200).Body
	made := addToPhone(s, fields{"card_id": card, "platform": "apple"})
	if made.Platform != "apple" || made.Arrived != 1 || made.field(0, "count") != "0/10" || made.field(0, "holder") != "Ada" {
		t.Errorf("the phone has %+v", made)
	}
	if after := callREST(s, "GET", "/cards/"+card, nil).Want(200).Body; !bytes.Equal(after, before) {
		t.Errorf("a card that is on a phone is %s, and was %s", after, before)
	}
	callTill(s, "POST", "/cards/"+card+"/stamps", fields{"count": 4}).Want(201)
	now := await(s, made.ID, "2")
	if now.field(0, "count") != "4/10" || !slices.Equal(now.Notices, []string{"You have 4/10 stamps."}) || now.Problem != nil {
		t.Errorf("after four stamps the phone has %+v", now)
	}
	pass := now.Passes[0]
	picture := send(s, "GET", pass.PictureURL, nil).Want(200)
	kind := picture.Header.Get("Content-Type")
	if m, err := png.Decode(bytes.NewReader(picture.Body)); err != nil || m.Bounds().Dx() < 300 || kind != "image/png" {
		t.Errorf("the picture is %s: %v", kind, err)
	}
	if german := send(s, "GET", pass.PictureURL+"?lang=de", nil).Want(200); bytes.Equal(german.Body, picture.Body) {
		t.Error("the picture in German is the one in English")
	}

	second := newCard(s, "Eva")
	both := addToPhone(s, fields{"card_id": second, "platform": "apple", "phone_id": made.ID})
	if both.ID != made.ID || len(both.Passes) != 2 || both.Passes[0].CardID != card || both.Passes[1].CardID != second {
		t.Errorf("the phone with two cards has %+v", both)
	}
	callTill(s, "POST", "/cards/"+second+"/stamps", fields{"count": 1}).Want(201)
	settle(s)
	s.Control("POST", "/cards/"+card+"/delete", nil)
	settle(s)
	end := await(s, made.ID, "0")
	if !end.Passes[0].Voided || end.field(0, "holder") != "" || end.field(1, "count") != "1/10" || end.Passes[1].Voided {
		t.Errorf("after one card was erased the phone has %+v", end)
	}
	testGooglePhone(s)
	if list := s.Control("GET", "/wallet/phones", nil).IDs(); len(list) != 2 {
		t.Errorf("there are %d phones", len(list))
	}
	s.Control("POST", "/reset", nil)
	callControl(s, "GET", "/wallet/phones/"+made.ID, nil).Want(404, "not_found")
}

// testGooglePhone stamps and erases a card at Google Wallet. The object follows.
func testGooglePhone(s *server) {
	s.T.Helper()
	card := newCard(s, "Ada")
	made := addToPhone(s, fields{"card_id": card, "platform": "google"})
	if made.Arrived != 1 || made.Problem != nil || made.field(0, "count") != "0/10" || made.field(0, "holder") != "Ada" {
		s.T.Fatalf("the phone has %+v", made)
	}
	if saved := s.Value("SELECT sum(saved) FROM google_objects"); saved != "1" {
		s.T.Errorf("the server knows of %s cards on phones", saved)
	}
	picture := send(s, "GET", made.Passes[0].PictureURL, nil).Want(200)
	if _, err := png.Decode(bytes.NewReader(picture.Body)); err != nil {
		s.T.Errorf("the picture: %v", err)
	}
	callTill(s, "POST", "/cards/"+card+"/stamps", fields{"count": 6}).Want(201)
	settle(s)
	now := await(s, made.ID, "0")
	told := slices.Equal(now.Notices, []string{"Your pass has changed."})
	if now.Arrived != 2 || now.field(0, "count") != "6/10" || now.Passes[0].Voided || !told {
		s.T.Errorf("after six stamps the phone has %+v", now)
	}
	s.Control("POST", "/cards/"+card+"/delete", nil)
	settle(s)
	if end := await(s, made.ID, "3"); !end.Passes[0].Voided || end.field(0, "holder") != "" {
		s.T.Errorf("after the card was erased the phone has %+v", end)
	}
}

// TestPhoneInput checks what is refused, and that no phone is left of it.
func TestPhoneInput(t *testing.T) {
	s := start(t)
	card := newCard(s, "Ada")
	body := func(change fields) fields {
		f := fields{"card_id": card, "platform": "apple"}
		for name, value := range change {
			f[name] = value
		}
		return f
	}
	add := func(b any) *reply { return callControl(s, "POST", "/wallet/phones", b) }
	add(fields{}).Invalid("card_id required", "platform required")
	add(body(fields{"card_id": 7, "platform": nil})).Invalid("card_id invalid_type", "platform required")
	add(body(fields{"card_id": "", "phone_id": strings.Repeat("x", 256), "x": 1})).
		Invalid("card_id too_short", "phone_id too_long", "x unknown_field")
	add(body(fields{"platform": "windows"})).Invalid("platform invalid_value")
	add(body(fields{"card_id": "crd_none"})).Want(404, "not_found")
	add(body(fields{"card_id": s.ProgramIDs["standard"]})).Want(404, "not_found")
	add(body(fields{"phone_id": "phn_none"})).Want(404, "not_found")
	callControl(s, "GET", "/wallet/phones/phn_none", nil).Want(404, "not_found")
	callControl(s, "GET", "/wallet/phones/phn_none?arrived=-1&timeout_ms=60001", nil).Invalid("arrived too_small", "timeout_ms too_large")
	callControl(s, "GET", "/wallet/phones/phn_none/passes/x/picture", nil).Want(404, "not_found")

	archived := newCard(s, "Eva")
	s.Control("POST", "/cards/"+archived+"/archive", nil)
	says := func(r *reply, text string) {
		t.Helper()
		if got := r.Want(422, "unprocessable_entity").Body; !bytes.Contains(got, []byte(text)) {
			t.Errorf("the refusal is %s", got)
		}
	}
	says(add(body(fields{"card_id": archived})), "the server answers 410")
	says(add(body(fields{"card_id": archived, "platform": "google"})), "the server answers 410")
	if n := len(s.Control("GET", "/wallet/phones", nil).IDs()); n != 0 {
		t.Errorf("what was refused has left %d phones", n)
	}

	phone := addToPhone(s, body(nil))
	add(body(fields{"platform": "google", "phone_id": phone.ID})).Invalid("platform invalid_value")
	callControl(s, "GET", "/wallet/phones/"+phone.ID+"/passes/x/picture", nil).Want(404, "not_found")
	for range 9 {
		addToPhone(s, fields{"card_id": newCard(s, "Ada"), "platform": "apple", "phone_id": phone.ID})
	}
	says(add(body(fields{"card_id": newCard(s, "Ada"), "phone_id": phone.ID})), "There are 10 passes on the phone already")

	shop := s.Row(store.KindShop, s.ShopID)
	servertest.Write(t, s.App.Store, func(tx *store.Tx) error {
		_, err := tx.RemoveAppleWallet(shop, store.RemoveFields{Yes: store.Given(true)})
		if err == nil {
			_, err = tx.RemoveGoogleWallet(shop, store.RemoveFields{})
		}
		return err
	})
	says(add(body(fields{"phone_id": phone.ID})), "has not set up Apple Wallet")
	says(add(body(fields{"platform": "google"})), "has not set up Google Wallet")
}

// TestPhoneOfEarlierRun checks that a push to a phone of an earlier run ends its registration, and that its card can be added again.
func TestPhoneOfEarlierRun(t *testing.T) {
	db := t.TempDir() + "/dev.db"
	keep := func(c *app.Config) { c.DB = db }
	s := start(t, keep)
	card := newCard(s, "Ada")
	addToPhone(s, fields{"card_id": card, "platform": "apple"})
	addToPhone(s, fields{"card_id": card, "platform": "google"})
	s.Stop()
	s = serve(t, keep)
	phones := func() string { return s.Value("SELECT count(*) FROM apple_devices") }
	if phones() != "1" {
		t.Error("the file does not know the phone")
	}
	// Google Wallet, whose stand-in has started again, makes the card anew.
	if p := addToPhone(s, fields{"card_id": card, "platform": "google"}); p.field(0, "count") != "0/10" {
		t.Errorf("the new phone with Google Wallet has %+v", p)
	}
	callTill(s, "POST", "/cards/"+card+"/stamps", fields{"count": 1}).Want(201)
	settle(s)
	if phones() != "0" {
		t.Error("the phone of the earlier run is still woken")
	}
	if p := addToPhone(s, fields{"card_id": card, "platform": "apple"}); p.field(0, "count") != "1/10" {
		t.Errorf("the new phone has %+v", p)
	}
}

// TestPhonesDuringReset resets the fixture while phones download passes of it. Neither waits for the other.
func TestPhonesDuringReset(t *testing.T) {
	s := start(t)
	for range 2 {
		card := newCard(s, "Ada")
		all := servertest.Simultaneously(8, func(i int) *reply {
			if i == 4 {
				return callControl(s, "POST", "/reset", nil)
			}
			platform := []string{"apple", "google"}[i%2]
			return s.ControlAPI().Try(t.Context(), "POST", "/wallet/phones", fields{"card_id": card, "platform": platform})
		})
		for _, r := range all {
			if r.Err != nil || r.Status != 200 && r.Status != 201 && r.Status != 404 && r.Status != 503 {
				t.Errorf("%s: %d %s %v", r.What, r.Status, r.Body, r.Err)
			}
		}
	}
	if p := addToPhone(s, fields{"card_id": newCard(s, "Ada"), "platform": "apple"}); p.Arrived != 1 {
		t.Errorf("after the resets a phone has %+v", p)
	}
}
