package command

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"software.sslmate.com/src/go-pkcs12"

	"punchcard/server/wallet/apple"
	"punchcard/server/wallet/wallettest"
)

// TestWalletApple checks the commands that set Apple Wallet up. No command takes a certificate of a stand-in: what nobody but Apple
// can make is the last thing that is wrong with it.
func TestWalletApple(t *testing.T) {
	f := newFile(t)
	dir := t.TempDir()
	at := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		noError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	f.refused("wallet apple certificate "+at("text.cer", []byte("certificate")), "There is no certificate request.")
	f.refused("wallet apple request --public-url http://cards.example.com", "Phones keep the public URL for ever")
	out := filepath.Join(dir, "request.csr")
	printed := f.run("wallet apple request")
	if written := f.run("wallet apple request --out " + out); !strings.Contains(written, out+" is written.") {
		t.Errorf("it prints %s", written)
	}
	request, err := os.ReadFile(out)
	noError(t, err)
	if printed != string(request) {
		t.Errorf("the request in the file is another than\n%s", printed)
	}
	f.refused("wallet apple request --out "+out, "--out: ", "file exists")
	f.refused("wallet apple certificate "+out, "FILE is the certificate request")
	f.refused("wallet apple certificate "+dir, "is no regular file")
	f.refused("wallet apple certificate "+at("large.cer", make([]byte, 1<<20+1)), "FILE must have at most 1048576 bytes")

	authority, err := wallettest.NewAuthority()
	noError(t, err)
	right, err := authority.Issue(request, wallettest.Order{})
	noError(t, err)
	f.refused("wallet apple certificate "+at("pass.cer", right), "FILE is not issued by Apple for passes")
	der, foreign, err := apple.NewRequest()
	noError(t, err)
	key, err := apple.ParseKey(der)
	noError(t, err)
	other, err := authority.Issue(foreign, wallettest.Order{})
	noError(t, err)
	f.refused("wallet apple certificate "+at("other.cer", other), "FILE is for another key")
	leaf, err := x509.ParseCertificate(other)
	noError(t, err)
	p12, err := pkcs12.Modern.Encode(key, leaf, nil, "s3same")
	noError(t, err)
	give := "wallet apple certificate " + at("pass.p12", p12) + " --password-file "
	f.refused(give+at("wrong", []byte("s3sam\n")), "--password-file is not the password of this file")
	f.refused(give+at("password", []byte("s3same\n")), "FILE is not issued by Apple for passes")
	f.refused(give+filepath.Join(dir, "none"), "--password-file: ", "no such file")

	f.run("program create --name Coffee --type standard --total-stamps 5 --icon-key coffee")
	f.run("program publish Coffee")
	f.run("card issue Coffee --holder-name Ada")
	f.prints("wallet status", "Coffee")
	f.prints("wallet pushes", "")
	f.refused("wallet test Ada", "No phone has a pass of this card")
	f.refused("wallet test Bob", "Bob")

	if status := f.run("wallet apple status"); !strings.Contains(status, "off") {
		t.Errorf("the status is %s", status)
	}
	pass := f.value("INSERT INTO apple_passes (card_id, shop_id, generation, hash, modified_at, downloaded, program_id) " +
		"SELECT id, shop_id, 0, x'', 0, 0, program_id FROM cards RETURNING id")
	f.refused("wallet apple remove", "needs --yes")
	f.refused("wallet apple remove --no-yes", "needs --yes")
	f.refused("shop update --public-url https://new.example.com", "--yes is required: the passes on phones keep the present public URL for ever (1)")
	f.run("shop update --language it")
	f.run("shop update --public-url https://new.example.com --yes")
	f.run("shop update --public-url https://new.example.com") // which it has
	f.refused("shop update --public-url none", "--yes is required")
	f.run("wallet apple remove --yes")
	f.run("wallet apple request")
	f.value("UPDATE apple_passes SET delete_at=0 WHERE id=" + pass + " RETURNING id")
	f.run("shop update --public-url https://other.example.com")
	f.run("wallet apple remove --yes")
	if again := f.run("wallet apple request"); again == printed {
		t.Error("the request that was removed is back")
	}
}
