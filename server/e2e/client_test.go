package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"punchcard/server/servertest"
)

// newClient returns a client of an API, or of an origin for paths outside the APIs. All clients
// share their connections.
func newClient(t testing.TB, url, key string) *servertest.Client {
	return servertest.NewClient(t, url, key).Via(http.DefaultClient)
}

func (p *process) api(key string) *servertest.Client {
	return newClient(p.t, p.origin+"/api/public/v1", key)
}

// demo returns a client of the API with the key of the demo shop.
func (p *process) demo() *servertest.Client { return p.api(p.ready.APIKey) }

func (p *process) till(token string) *servertest.Client {
	return newClient(p.t, p.origin+"/till/v1", token)
}

func (p *process) outside() *servertest.Client { return newClient(p.t, p.origin, "") }

// wantDetail ends the test unless the answer is validation_failed with the given detail.
func wantDetail(r *servertest.Reply, field, code string) {
	r.T.Helper()
	if !slices.Contains(r.Want(400, "validation_failed").Details(), field+" "+code) {
		r.T.Fatalf("%s: no detail %s on %s: %s", r.What, code, field, r.Body)
	}
}

// card has the fields of a card that tests read, in any of its representations.
type card struct {
	ID          string  `json:"id"`
	ProgramID   string  `json:"program_id"`
	ExternalRef *string `json:"external_ref"`
	HolderName  *string `json:"holder_name"`
	HolderEmail *string `json:"holder_email"`
	Status      string  `json:"status"`
	CreatedAt   string  `json:"created_at"`
	InstallURL  string  `json:"install_url"`
	LinkEnds    string  `json:"install_url_expires_at"`
}

// issueCard issues a card, which must succeed.
func issueCard(c *servertest.Client, program string, fields any) (made card) {
	c.T.Helper()
	c.Post("/programs/"+program+"/cards", fields).Want(201).Decode(&made)
	return made
}

// listCards reads the whole list of cards in pages of limit.
func listCards(c *servertest.Client, limit int) (all []card) {
	c.T.Helper()
	for cursor := ""; ; {
		var page struct {
			Data       []card  `json:"data"`
			NextCursor *string `json:"next_cursor"`
		}
		c.Get(fmt.Sprintf("/cards?limit=%d%s", limit, cursor)).Want(200).Decode(&page)
		all = append(all, page.Data...)
		if page.NextCursor == nil {
			return all
		}
		cursor = "&cursor=" + *page.NextCursor
	}
}

// stampCard and prepaidCard are programs that every location accepts.
const (
	stampCard   = `{"type":"standard","name":"Coffee","total_stamps":10,"repeat_after_reset":true,"icon_key":"coffee"}`
	prepaidCard = `{"type":"prepaid","name":"Prepaid","initial_balance_cents":0}`
)

// newProgram creates a published program, which must succeed.
func newProgram(c *servertest.Client, fields any) (id string) {
	c.T.Helper()
	var made struct{ ID string }
	c.Post("/programs", fields).Want(201).Decode(&made)
	c.Post("/programs/"+made.ID+"/publish", nil).Want(200)
	return made.ID
}
