package wallettest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// APNs stands in for the service by which Apple wakes phones. It speaks HTTP/2 alone and demands the certificate of a
// pass type.
type APNs struct {
	URL   string
	Roots *x509.CertPool // of its own certificate
	Woken chan string    // push tokens of phones
	// Wake, if set, is called with the push token of a phone, in place of a message on Woken. It reports whether there is such a
	// phone. It must be set before the first push.
	Wake func(token string) bool

	server *server
	mu     sync.Mutex
	fails  []APNsFailure
}

// APNsFailure is an answer that accepts no push.
type APNsFailure struct {
	Status int
	Reason string
	Since  int64 // for 410: since when the token is not valid, in milliseconds
}

// NewAPNs starts a service.
func NewAPNs() *APNs {
	certificate, key, err := SelfSigned("Stand-in for Apple Push Notification service")
	if err != nil {
		panic(err)
	}
	a := &APNs{Woken: make(chan string, 1000), Roots: x509.NewCertPool()}
	a.Roots.AddCert(certificate)
	a.server = newServer(http.HandlerFunc(a.push), &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate.Raw}, PrivateKey: key}},
		ClientAuth:   tls.RequireAnyClientCert,
		NextProtos:   []string{"h2", "http/1.1"},
	})
	a.URL = a.server.URL
	return a
}

// Close ends the service.
func (a *APNs) Close() { a.server.Close() }

// Fail has the next pushes refused.
func (a *APNs) Fail(answers ...APNsFailure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fails = append(a.fails, answers...)
}

// push answers a request to wake a phone.
func (a *APNs) push(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 4097))
	token, isDevice := strings.CutPrefix(r.URL.Path, "/3/device/")
	refuse := func(f APNsFailure) {
		w.WriteHeader(f.Status)
		since := ""
		if f.Since > 0 {
			since = `,"timestamp":` + strconv.FormatInt(f.Since, 10)
		}
		io.WriteString(w, `{"reason":"`+f.Reason+`"`+since+`}`)
	}
	a.mu.Lock()
	var fails []APNsFailure
	if len(a.fails) > 0 {
		fails, a.fails = a.fails[:1], a.fails[1:]
	}
	a.mu.Unlock()
	switch {
	case r.ProtoMajor != 2:
		refuse(APNsFailure{Status: http.StatusHTTPVersionNotSupported, Reason: "HTTP/2 is needed"})
	case r.Method != http.MethodPost || !isDevice:
		refuse(APNsFailure{Status: http.StatusNotFound, Reason: "BadPath"})
	case err != nil || len(body) == 0:
		refuse(APNsFailure{Status: http.StatusBadRequest, Reason: "PayloadEmpty"})
	case len(body) > 4096:
		refuse(APNsFailure{Status: http.StatusRequestEntityTooLarge, Reason: "PayloadTooLarge"})
	case r.Header.Get("Apns-Topic") != passTypeOf(r.TLS.PeerCertificates[0]):
		refuse(APNsFailure{Status: http.StatusBadRequest, Reason: "DeviceTokenNotForTopic"})
	case fails != nil:
		refuse(fails[0])
	case a.Wake != nil:
		if !a.Wake(token) {
			refuse(APNsFailure{Status: http.StatusBadRequest, Reason: "BadDeviceToken"})
		}
	default:
		a.Woken <- token
	}
}

// passTypeOf returns the pass type that the subject of a certificate names.
func passTypeOf(c *x509.Certificate) string {
	for _, n := range c.Subject.Names {
		if n.Type.String() == "0.9.2342.19200300.100.1.1" {
			return n.Value.(string)
		}
	}
	return ""
}
