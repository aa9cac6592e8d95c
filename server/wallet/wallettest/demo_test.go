package wallettest_test

import (
	"bytes"
	"encoding/pem"
	"flag"
	"os"
	"testing"
	"time"

	"punchcard/server/wallet/apple"
	"punchcard/server/wallet/wallettest"
)

var update = flag.Bool("update", false, "make new keys and certificates of the demo shop")

// TestDemo checks that the certificate of the demo shop is one that a shop could set up, for as long as fixtures may run.
func TestDemo(t *testing.T) {
	if *update {
		if err := writeDemo(); err != nil {
			t.Fatal(err)
		}
		return // demo.pem is embedded when the test is built again
	}
	d := wallettest.Demo()
	for _, at := range []int{2020, 2098} {
		c, err := apple.Check(d.Certificate.Raw, time.Date(at, 6, 1, 0, 0, 0, 0, time.UTC), d.Issuer, d.Key)
		if err != nil || c.PassType != wallettest.DemoPassType || c.Team != wallettest.DemoTeam {
			t.Errorf("in %d the certificate is %+v: %v", at, c, err)
		}
	}
	if err := d.Issuer.CheckSignatureFrom(d.Root); err != nil {
		t.Error(err)
	}
}

// writeDemo writes demo.pem.
func writeDemo() error {
	authority, err := wallettest.NewAuthority()
	if err != nil {
		return err
	}
	key, request, err := apple.NewRequest()
	if err != nil {
		return err
	}
	certificate, err := authority.Issue(request, wallettest.Order{
		PassType: wallettest.DemoPassType,
		Team:     wallettest.DemoTeam,
		From:     authority.Root.NotBefore,
		Until:    authority.Root.NotAfter,
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, der := range [][]byte{authority.Root.Raw, authority.Certificate.Raw, certificate} {
		pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	pem.Encode(&b, &pem.Block{Type: "PRIVATE KEY", Bytes: key})
	return os.WriteFile("demo.pem", b.Bytes(), 0o644)
}
