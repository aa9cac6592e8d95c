package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestRefusalsInGerman checks that forms say in the person's language what is wrong, beside the
// field that it is about.
func TestRefusalsInGerman(t *testing.T) {
	s := start(t)
	owner := s.as("owner")
	owner.fill("/dashboard/account", "language", "de").next()
	program := s.ProgramIDs["standard"]
	at := "/dashboard/program/" + program
	s.Issue(program, object{"external_ref": "K-1"})
	for _, c := range []struct{ page, field, value, says string }{
		{"/dashboard/new/location", "name", "", "Füllen Sie dieses Feld aus."},
		{"/dashboard/new/location", "name", strings.Repeat("x", 201), "Geben Sie höchstens 200 Zeichen ein."},
		{"/dashboard/new/card?program_id=" + program, "holder_email", "ada", "Geben Sie eine E-Mail-Adresse ein, etwa ada@example.com."},
		{"/dashboard/new/card?program_id=" + program, "external_ref", "K-1", "Eine Karte dieses Programms hat diese Referenz schon."},
		{"/dashboard/new/card?program_id=" + program, "expires_at", "2001-01-01", "Wählen Sie einen Zeitpunkt in der Zukunft."},
		{at + "/edit", "total_stamps", "2", "Es gibt eine Prämie bei 5 Stempeln."},
		{at + "/edit", "brand_color_hex", "rot", "Geben Sie eine Farbe ein, etwa #1a7f5a."},
		{at + "/rules", "min_spend_cents", "-5", "Geben Sie mindestens 0,01 € ein."},
		{at + "/rules", "min_spend_cents", "99999999999", "Geben Sie höchstens 1.000.000,00 € ein."},
		{at + "/new-prize", "threshold", "11", "Eine volle Karte hat 10."},
		{at + "/enrolment", "enroll_slug", "Mein Café", "Verwenden Sie Kleinbuchstaben von a bis z und Ziffern"},
		{"/dashboard/settings", "timezone", "Mars/Olympus", "Wählen Sie eine Zeitzone aus der Liste"},
		{"/dashboard/people/invite", "email", "owner@test.example", "Diese Person gehört schon zum Geschäft."},
	} {
		pairs := []string{c.field, c.value}
		if strings.HasSuffix(c.page, "/new-prize") {
			pairs = append(pairs, "name", "Kuchen")
		}
		owner.fill(c.page, pairs...).problem(c.field, c.says)
	}
	owner.get("/dashboard/statistics?period=custom&from=2020-01-02&to=2020-01-01").
		want(400).
		has("Wählen Sie einen ersten Tag, der nicht nach dem letzten liegt.")
	owner.get("/dashboard/webhook/whk_none").want(404).has("Das Gesuchte wurde nicht gefunden.", "Vielleicht wurde es gelöscht")
	owner.header = http.Header{"Accept-Language": {"de"}} // a form that is not read does not say whose it is
	owner.post("/dashboard/program/"+program+"/preview", url.Values{"name": {strings.Repeat("x", 300<<10)}}).
		want(400).
		has("Das Formular ist zu lang.")
}
