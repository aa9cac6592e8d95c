package mail

import (
	"testing"
	"time"

	"punchcard/server/mail/mailtest"
)

// An address of IPv6 is dialled as one.
func TestServerAddress(t *testing.T) {
	for host, want := range map[string]string{"::1": "[::1]:587", "2001:db8::25": "[2001:db8::25]:587", "127.0.0.1": "127.0.0.1:587", "mail.example.com": "mail.example.com:587"} {
		run(t, func(r *rig) { r.conf.Server.Host = host }, func(r *rig) {
			r.issue("ada@example.com")
			r.got()
			if r.wire.addr != want {
				t.Errorf("for %s it dialled %s, want %s", host, r.wire.addr, want)
			}
		})
	}
}

// A server may take ten minutes over a message that it has in hand (RFC 5321,
// 4.5.3.2.6), and gets it once.
func TestSlowServer(t *testing.T) {
	run(t, func(r *rig) {
		r.srv.Data = func(*mailtest.Message) error { time.Sleep(10*time.Minute - time.Second); return nil }
	}, func(r *rig) {
		r.issue("ada@example.com")
		r.got()
		time.Sleep(24 * time.Hour)
		if told := r.told(); told != Sent || len(r.srv.All()) != 1 {
			t.Errorf("told %q, it came %d times:\n%s", told, len(r.srv.All()), r.log)
		}
	})
}
