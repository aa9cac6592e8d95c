package operation_test

import (
	"testing"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// TestSessionsEnd checks that a session ends with the next request, whatever ends it.
func TestSessionsEnd(t *testing.T) {
	h := openHarness(t)
	for name, end := range map[string]func(token string){
		"sign-out": func(token string) { h.ok(h.caller(token), operation.SignOut, "", nil) },
		"everywhere": func(token string) {
			h.ok(h.person(store.RoleManager), operation.SignOutEverywhere, "", nil)
		},
		"another session": func(token string) {
			h.ok(h.person(store.RoleManager), operation.EndSession, h.caller(token).Session.SessionID, nil)
		},
		"password": func(token string) {
			f := operation.PasswordFields{CurrentPassword: store.Given(seed.Password), Password: store.Given("another kettle 71")}
			s := must[operation.CreatedSession](h, h.caller(token), operation.ChangePassword, "", f)
			back := operation.PasswordFields{CurrentPassword: f.Password, Password: f.CurrentPassword}
			h.ok(h.caller(s.Token), operation.ChangePassword, "", back)
		},
		"reset": func(string) { h.restorePassword() },
		"disabled": func(string) {
			h.ok(h.server(), operation.DisableUser, h.id(store.RoleManager), nil)
			h.ok(h.server(), operation.EnableUser, h.id(store.RoleManager), nil)
		},
		"operator": func(string) {
			h.ok(h.server(), operation.SignOutUser, h.id(store.RoleManager), nil)
		},
		"role": func(string) {
			for _, role := range []string{store.RoleViewer, store.RoleManager} {
				f := operation.RoleFields{Role: store.Given(role)}
				h.ok(h.person(store.RoleOwner), operation.SetRole, h.id(store.RoleManager), f)
			}
		},
		"age": func(string) { h.advance(7 * 24 * time.Hour) },
		"file": func(string) { // the manager is the second person of the file
			h.write(func(tx *store.Tx) error { return tx.SetPassword(2, "x", "user.reset_password") })
			h.restorePassword()
		},
	} {
		token := h.token(store.RoleManager)
		if _, ok := h.as(token); !ok {
			t.Fatalf("%s: no session", name)
		}
		end(token)
		if _, ok := h.as(token); ok {
			t.Errorf("%s does not end the session", name)
		}
	}
}

// TestSessionsLast checks what does not end a session, and when it ends by itself.
func TestSessionsLast(t *testing.T) {
	h := openHarness(t)
	// An owner who gives up the role goes on as what they are then.
	role := func(role string) operation.RoleFields { return operation.RoleFields{Role: store.Given(role)} }
	h.ok(h.person(store.RoleOwner), operation.SetRole, h.id(store.RoleManager), role(store.RoleOwner))
	own, other := h.token(store.RoleManager), h.token(store.RoleManager)
	h.ok(h.caller(own), operation.SetRole, h.id(store.RoleManager), role(store.RoleManager))
	if _, ok := h.as(other); ok || h.caller(own).Role != kernel.Manager {
		t.Error("of a person who changes the own role, the other sessions alone end")
	}
	token := h.token(store.RoleManager)
	h.ok(h.caller(token), operation.Prove, "", operation.ProofFields{Password: store.Given(seed.Password)})
	if _, ok := h.as(token); !ok {
		t.Error("a proof ends the session")
	}
	h.reopen()
	if _, ok := h.as(token); !ok {
		t.Error("a restart ends the session")
	}
	// Used once a day, it lasts for thirty days.
	for range 29 {
		h.advance(24 * time.Hour)
		if _, ok := h.as(token); !ok {
			t.Fatal("the session ended though it was used")
		}
	}
	h.advance(24 * time.Hour)
	if _, ok := h.as(token); ok {
		t.Error("the session is older than thirty days")
	}
	h.write(func(tx *store.Tx) error { _, err := tx.PruneSessions(1000); return err })
	if n := len(must[operation.List[store.Session]](h, h.person(store.RoleManager), operation.ListSessions, "", nil).Data); n != 1 {
		t.Errorf("%d sessions are left", n)
	}
}
