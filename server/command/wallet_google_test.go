package command

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/server/wallet/wallettest"
)

// TestWalletGoogle checks the commands that set Google Wallet up, with an account that may use an issuer and one that Google refuses.
func TestWalletGoogle(t *testing.T) {
	const issuer = "3388000000012345678"
	f := newFile(t)
	g := wallettest.NewGoogle()
	t.Cleanup(g.Close)
	dir := t.TempDir()
	at := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		noError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	account := g.Account(issuer)
	right := "wallet google " + at("account.json", account) + " --google-wallet-url " + g.URL + " --issuer "
	f.refused("wallet google --issuer "+issuer, "FILE is required")
	f.refused("wallet google "+at("other.json", []byte(`{"type":"authorized_user"}`))+" --issuer "+issuer,
		"FILE has another type than service_account")
	f.refused("wallet google "+at("large.json", make([]byte, 16<<10+1))+" --issuer "+issuer, "FILE must have at most 16384 bytes")
	f.refused("wallet google "+dir+" --issuer "+issuer, "is no regular file")
	f.refused(right+"33-88", "--issuer must be the number of the issuer")
	f.refused(right+issuer+" --public-url http://cards.example.com", "Phones keep the public URL for ever")
	f.refused(right+issuer, "Publish a program first")
	f.run("program create --name Coffee --type standard --total-stamps 10 --icon-key coffee")
	f.run("program publish Coffee")
	f.refused(right+"1234567890", "--issuer is no issuer that this service account may use")
	f.refused(right+issuer, "Google refuses the program: Image cannot be loaded") // the address of the file is of nobody
	f.refused(strings.Replace(right, g.URL, "http://127.0.0.1:1", 1)+issuer, "Google cannot be reached")

	g.Answer = func(w http.ResponseWriter, _ *http.Request) bool { w.Write([]byte("{}")); return true }
	if set := f.run(right + issuer); !strings.Contains(set, "demo") || !strings.Contains(set, issuer) {
		t.Errorf("it prints %s", set)
	}
	f.run("wallet google set --publishing --issuer " + issuer + " --google-wallet-url " + g.URL)
	if status := f.run("wallet google status"); !strings.Contains(status, "running") || strings.Contains(status, "PRIVATE KEY") {
		t.Errorf("the status is %s", status)
	}
	var file struct {
		Email string `json:"client_email"`
	}
	noError(t, json.Unmarshal(account, &file))
	g.Revoke(file.Email)
	f.refused(right+issuer, "FILE is refused by Google")
	if status := f.run("wallet google remove --yes"); !strings.Contains(status, "off") {
		t.Errorf("the status is %s", status)
	}
	f.refused("wallet google --issuer "+issuer, "FILE is required")
}
