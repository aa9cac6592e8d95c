package app_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// TestCertificates checks what the server says of the certificate in a file.
func TestCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servertest.WriteCertificate(t, dir, "shop.test")
	cert := filepath.Join(dir, "cert.pem")
	a := servertest.Start(t, func(c *app.Config) { c.TLSCert, c.TLSKey = cert, filepath.Join(dir, "key.pem") }).App
	list := a.Certificates()
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	if left := time.Until(list[0].Ends); list[0].Host != "shop.test" || list[0].Renewed || list[0].Problem != "" || left < 50*time.Minute ||
		left > time.Hour {
		t.Errorf("%+v", list)
	}
	noError(t, os.WriteFile(cert, nil, 0o600))
	if list := a.Certificates(); len(list) != 1 || list[0].Host != "shop.test" || list[0].Problem == "" {
		t.Errorf("with a broken file: %+v", list)
	}
	if list := servertest.Start(t).App.Certificates(); len(list) != 0 {
		t.Errorf("over plain http: %+v", list)
	}
}
