package servertest

import (
	"fmt"
	"maps"
	"net/url"
	"path"

	"punchcard/store"
)

// Types are the program types.
var Types = []string{store.ProgramStandard, store.ProgramPrivate, store.ProgramDiscount, store.ProgramAccess, store.ProgramPrepaid}

// Programs has the required fields of a program of each type.
var Programs = map[string]Fields{
	"standard": {"type": "standard", "name": "S", "total_stamps": 10, "icon_key": "cup"},
	"private":  {"type": "private", "name": "P", "total_stamps": 10, "icon_key": "cup"},
	"discount": {"type": "discount", "name": "D", "discount_percent": 12.5},
	"access":   {"type": "access", "name": "A", "access_image_url": "https://example.com/a.png"},
	"prepaid":  {"type": "prepaid", "name": "V", "initial_balance_cents": 500},
}

// Merge returns a copy of f in which the fields of more are set.
func Merge(f, more Fields) Fields {
	c := Fields{}
	maps.Copy(c, f)
	maps.Copy(c, more)
	return c
}

// NewProgram creates a program of a type, publishes it if publish is set, and returns
// its id.
func (s *Server) NewProgram(kind string, publish bool, more Fields) string {
	s.T.Helper()
	rest := s.REST()
	id := rest.Post("/programs", Merge(Programs[kind], more)).NewID()
	if publish {
		rest.Post("/programs/"+id+"/publish", nil).Want(200)
	}
	return id
}

// NewPrize adds a prize to a program and returns its id.
func (s *Server) NewPrize(program string, threshold int) string {
	s.T.Helper()
	return s.REST().Post("/programs/"+program+"/prizes", Fields{
		"threshold": threshold, "name": fmt.Sprint("At ", threshold),
	}).NewID()
}

// Issue issues a card and returns its id.
func (s *Server) Issue(program string, body Fields) string {
	s.T.Helper()
	return s.REST().Post("/programs/"+program+"/cards", Merge(body, nil)).NewID()
}

// Install puts a card on a device, which also marks its program.
func (s *Server) Install(card string) {
	s.T.Helper()
	key, now := s.Row(store.KindCard, card), s.App.Store.Now()
	s.SQL("UPDATE cards SET installed_at=?1, activated_at=?1, platform='apple' WHERE id=?2", int64(now), key)
	s.SQL("UPDATE programs SET has_installed_cards=1 WHERE id=(SELECT program_id FROM cards WHERE id=?)", key)
}

// Activate marks a card as active.
func (s *Server) Activate(card string) {
	s.T.Helper()
	s.SQL("UPDATE cards SET activated_at=? WHERE id=?", int64(s.App.Store.Now()), s.Row(store.KindCard, card))
}

// NewKey creates an API key and returns a client with it, and the key's id.
func (s *Server) NewKey(body Fields) (client *Server, id string) {
	s.T.Helper()
	r := s.Control("POST", "/keys", body)
	return s.With(r.Str("key")), r.Str("id")
}

// NewShop creates another shop in the same file and returns a client with its key.
// Both LocationIDs of the client are the shop's only location.
func (s *Server) NewShop(body Fields) *Server {
	s.T.Helper()
	r := s.Control("POST", "/shops", Merge(body, nil))
	other := s.With(r.Str("api_key"))
	ready := *s.Ready
	ready.ShopID, ready.LocationIDs, ready.ProgramIDs = r.Str("shop_id"), []string{r.Str("location_id"), r.Str("location_id")}, nil
	other.Ready = &ready
	return other
}

// NewDevice creates a device at a location and returns a client with its token.
func (s *Server) NewDevice(location string) *Server {
	s.T.Helper()
	return s.Till(s.Control("POST", "/devices", Fields{"location_id": location}).Str("token"))
}

// Count returns how many items the first page of a list has, at most 100.
func (s *Server) Count(path string) int {
	s.T.Helper()
	data, _ := s.Get(path + "?limit=100").Want(200).At("data").([]any)
	return len(data)
}

// All reads a list page by page and returns its ids. query are name, value pairs.
func (s *Server) All(path string, query ...string) (ids []string, pages int) {
	s.T.Helper()
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	for ; pages < 1000; pages++ {
		r := s.Get(path + "?" + q.Encode()).Want(200)
		ids = append(ids, r.IDs()...)
		next := r.At("next_cursor")
		if next == nil {
			return ids, pages + 1
		}
		q.Set("cursor", next.(string))
	}
	s.T.Fatalf("%s does not end", path)
	return nil, 0
}

// Codes returns the content of the QR code and the short code of the card of an
// install link.
func (s *Server) Codes(installURL string) (qr, short string) {
	s.T.Helper()
	token := path.Base(installURL)
	var makeCode func(*store.Tx) error
	h := s.holderCard(installURL, func(v *store.View) (err error) {
		makeCode, err = v.ShortCodeOfLink(token)
		return err
	})
	if makeCode != nil {
		if err := s.App.Store.Write(s.T.Context(), store.Write{Do: makeCode}); err != nil {
			s.T.Fatal(err)
		}
		h = s.holderCard(installURL, nil)
	}
	return h.Code, h.ShortCode
}

// CardPage returns the URL of the page of an install link's card.
func (s *Server) CardPage(installURL string) string {
	s.T.Helper()
	return s.Origin + "/c/" + s.holderCard(installURL, nil).PageToken
}

// holderCard returns the card of an install link. It calls also, unless that is nil, with the same view.
func (s *Server) holderCard(installURL string, also func(*store.View) error) (h store.HolderCard) {
	s.T.Helper()
	err := s.App.Store.View(0, func(v *store.View) (err error) {
		if h, err = v.HolderCard(path.Base(installURL)); err == nil && also != nil {
			err = also(v)
		}
		return err
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return h
}
