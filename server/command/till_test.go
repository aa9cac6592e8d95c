package command

import (
	"os"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// onStdin makes a text the standard input of the test's process.
func onStdin(t *testing.T, text string) {
	t.Helper()
	r, w, err := os.Pipe()
	noError(t, err)
	w.WriteString(text)
	w.Close()
	before := os.Stdin
	os.Stdin = r
	t.Cleanup(func() {
		os.Stdin = before
		r.Close()
	})
}

// TestTill stamps, redeems, tops up, spends and takes back by command, at a real server.
func TestTill(t *testing.T) {
	s := servertest.Start(t)
	f := &file{t, ""}
	t.Setenv("PUNCHCARD_TILL_URL", s.Origin)
	t.Setenv("PUNCHCARD_TILL_TOKEN", s.TillToken)
	issue := func(program, name string) string {
		return s.Till(s.TillToken).
			Post("/programs/"+s.ProgramIDs[program]+"/cards", map[string]string{"holder_name": name}).NewID()
	}
	card := issue("standard", "Ada")
	f.prints("till lookup "+card, "The card of Ada", "is active and has 0 of 10 stamps.", "5 more for: ", "10 more for: ")
	f.refused("till redeem "+card, "no prize is due")
	f.refused("till lookup ''", "CODE: must not be empty")
	f.refused("till stamp "+card+" --spend 3.50", "--spend is not allowed")
	if _, err := f.try("till stamp " + card + " --pin 4711"); err == nil || !strings.Contains(err.Error(), "standard input") ||
		strings.Contains(err.Error(), "4711") {
		t.Errorf("a PIN as an argument: %v", err)
	}
	f.prints("till stamp "+card, "1 stamp given.", "has 1 of 10 stamps", "punchcard till undo txn_")
	f.prints("till undo", "Taken back.", "has 0 of 10 stamps")
	f.refused("till undo", "nothing that could be taken back")
	f.prints("till stamp "+card+" --count 5", "5 stamps given.", "Due: ")
	f.refused("till stamp "+card+" --count 0", "--count must be at least 1")
	f.refused("till redeem "+card+" Nothing", "no prize is named Nothing; there are: ")
	var shown store.Lookup
	f.json(&shown, "till lookup "+card)
	f.prints("till redeem "+card, shown.Prizes[0].Name+" redeemed.")
	f.refused("till redeem "+card+" '"+strings.ToUpper(shown.Prizes[0].Name)+"'", "redeemed already")
	f.prints("till stamp "+card+" --count 7", "7 stamps given.", "has 2 of 10 stamps") // two on the next card
	f.prints("till redeem "+card+" '"+shown.Prizes[1].Name+"'", "redeemed.")

	gift := issue("prepaid", "Grace")
	balance := func() float64 {
		cents, _ := s.Till(s.TillToken).Get("/cards/" + gift).Want(200).At("card.current_value").(float64)
		return cents
	}
	before := balance()
	f.prints("till top-up "+gift+" 12,50", "12.50 EUR added.")
	f.prints("till spend "+gift+" 2.5", "2.50 EUR taken.")
	if after := balance(); after != before+1000 {
		t.Errorf("the balance is %v, and was %v", after, before)
	}
	f.refused("till spend "+gift+" 99999", "balance")
	f.refused("till spend "+gift+" 0.00", "AMOUNT: must be more than 0")
	for _, wrong := range []string{"0", "1.234", "x", "1e3"} {
		f.refused("till top-up "+gift+" '"+wrong+"'", "AMOUNT")
	}
	f.prints("till use "+issue("access", "Edsger"), "Used.")
	f.refused("till use "+gift, "")
	f.refused("till lookup a/b?c", "No such card")

	f.refused("till lookup "+card+" --url ftp://x", "--url")
	f.refused("till lookup "+card+" --url http://shop.invalid", "shop.invalid", "has no address")
	f.refused("till lookup "+card+" --url "+s.Origin+"/docs", "No such path")
	t.Setenv("PUNCHCARD_TILL_TOKEN", s.TillToken[:51]+"!")
	f.refused("till lookup "+card, "PUNCHCARD_TILL_TOKEN")
	t.Setenv("PUNCHCARD_TILL_TOKEN", s.APIKey)
	f.refused("till lookup "+card, "PUNCHCARD_TILL_TOKEN", "tdk_")
}

// TestTillPIN sends the staff PIN that is read from standard input.
func TestTillPIN(t *testing.T) {
	s := servertest.Start(t)
	f := &file{t, ""}
	location := s.Control("POST", "/locations", servertest.Fields{"name": "Back", "staff_pin": "4711"}).Str("id")
	token := s.Control("POST", "/devices", servertest.Fields{"location_id": location}).Str("token")
	t.Setenv("PUNCHCARD_TILL_URL", s.Origin)
	t.Setenv("PUNCHCARD_TILL_TOKEN", token)
	card := s.Till(s.TillToken).Post("/programs/"+s.ProgramIDs["standard"]+"/cards", nil).NewID()
	f.refused("till stamp "+card, "With --pin")
	onStdin(t, "4712\n")
	if _, err := f.try("till stamp " + card + " --pin"); err == nil || strings.Contains(err.Error(), "4712") {
		t.Errorf("with a wrong PIN: %v", err)
	}
	onStdin(t, "4711\n")
	f.prints("till stamp "+card+" --pin", "1 stamp given.")
	onStdin(t, "")
	f.refused("till stamp "+card+" --pin", "PIN", "is empty")
	if _, err := f.try("till stamp " + card + " --pin=4711"); err == nil || strings.Contains(err.Error(), "4711") {
		t.Errorf("with the PIN as an argument: %v", err)
	}
	s.Stop()
	f.refused("till lookup "+card, "punchcard serve")
}
