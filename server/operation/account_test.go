package operation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/servertest"
	"punchcard/store"
)

func given(code string) operation.CodeFields { return operation.CodeFields{TOTP: store.Given(code)} }

// enrol gives the person of a session a second factor.
func (h *harness) enrol(token string) (secret string, codes []string) {
	h.Helper()
	o := must[operation.OfferedTOTP](h, h.caller(token), operation.StartTOTP, "", nil)
	if !strings.Contains(o.URI, "secret="+o.Secret) || !strings.HasPrefix(o.URI, "otpauth://totp/punchcard") ||
		!strings.HasPrefix(o.QRSVG, "<svg") {
		h.Errorf("%+v", o)
	}
	h.want(store.TOTPInvalid, "a wrong code", h.caller(token), operation.ConfirmTOTP, "", given("000000"))
	code := servertest.TOTP(o.Secret, h.clock.Now())
	return o.Secret, must[store.RecoveryCodes](h, h.caller(token), operation.ConfirmTOTP, "", given(code)).Codes
}

// TestSecondFactor checks the sign-in with a second factor: that each code and each recovery
// code works once, that wrong codes lock, and that a pending session ends after ten minutes.
// Switching it on or off ends the person's other sessions.
func TestSecondFactor(t *testing.T) {
	h := openHarness(t)
	own, other := h.token(store.RoleManager), h.token(store.RoleManager)
	secret, codes := h.enrol(own)
	alone := func(own, other string) {
		t.Helper()
		h.caller(own)
		if _, ok := h.as(other); ok {
			t.Error("another session of the person has not ended")
		}
	}
	alone(own, other)
	if len(codes) != 10 || len(codes[0]) != 14 {
		t.Errorf("%q", codes)
	}
	pending := func() string {
		t.Helper()
		s, code := h.signIn(seed.ManagerEmail, seed.Password, home)
		if code != "" || !s.Pending {
			t.Fatalf("%+v, %s", s, code)
		}
		return s.Token
	}
	confirm := func(token, totp string) (operation.CreatedSession, store.Code) {
		t.Helper()
		return do[operation.CreatedSession](h, h.caller(token), operation.ConfirmSignIn, "", given(totp))
	}
	token := pending()
	h.want(store.TOTPRequired, "a read without the code", h.caller(token), operation.ListLocations, "", nil)
	h.is(store.TOTPInvalid, "the code of the set-up once more", codeOf(confirm(token, servertest.TOTP(secret, h.clock.Now()))))
	h.advance(30 * time.Second)
	s, code := confirm(token, servertest.TOTP(secret, h.clock.Now()))
	if code != "" || s.Pending || s.Token == token {
		t.Fatalf("%+v, %s", s, code)
	}
	if _, ok := h.as(token); ok {
		t.Error("the pending session has not ended")
	}
	if c := h.caller(s.Token); c.Role != kernel.Manager || !c.Session.TOTP {
		t.Errorf("%+v", c.Session)
	}
	h.is(store.TOTPInvalid, "a replay", codeOf(confirm(pending(), servertest.TOTP(secret, h.clock.Now()))))
	// Recovery codes, in any spelling, once.
	h.is("", "a recovery code", codeOf(confirm(pending(), strings.ToUpper(codes[3]))))
	h.is(store.TOTPInvalid, "the same recovery code", codeOf(confirm(pending(), codes[3])))
	if p := must[operation.Profile](h, h.caller(s.Token), operation.GetProfile, "", nil); p.RecoveryCodes != 9 || !p.TOTP {
		t.Errorf("%+v", p)
	}
	more := must[store.RecoveryCodes](h, h.caller(s.Token), operation.NewRecoveryCodes, "", nil).Codes
	h.is(store.TOTPInvalid, "a recovery code that was replaced", codeOf(confirm(pending(), codes[4])))
	another, code := confirm(pending(), more[0])
	if code != "" {
		t.Errorf("a new recovery code: %q", code)
	}
	// Wrong codes lock like wrong passwords, although each follows a right password: these six, and
	// four before.
	for i := range 6 {
		if _, code := confirm(pending(), fmt.Sprintf("00000%d", i)); code != store.TOTPInvalid {
			t.Fatal(code)
		}
	}
	h.is(store.RateLimited, "after six more wrong codes", codeOf(h.signIn(seed.ManagerEmail, seed.Password, home)))
	h.advance(time.Minute)
	token = pending()
	h.advance(10 * time.Minute)
	if _, ok := h.as(token); ok {
		t.Error("a pending session lasts for more than ten minutes")
	}
	h.ok(h.caller(s.Token), operation.RemoveTOTP, "", nil)
	alone(s.Token, another.Token)
	if s, code := h.signIn(seed.ManagerEmail, seed.Password, home); code != "" || s.Pending {
		t.Errorf("without the second factor: %+v, %s", s, code)
	}
}

// TestProof checks that some operations, and some uses of others, demand that the password or
// a code was given within the last 15 minutes.
func TestProof(t *testing.T) {
	h := openHarness(t)
	token := h.token(store.RoleOwner)
	invite := func() store.Code {
		return h.code(
			h.caller(token),
			operation.InvitePerson, "",
			operation.InviteFields{Email: store.Given("ada@example.com"), Role: store.Given(store.RoleViewer)},
		)
	}
	h.advance(15 * time.Minute)
	h.is(store.ProofRequired, "after 15 minutes", invite())
	h.want(
		store.InvalidCredentials, "a wrong password",
		h.caller(token),
		operation.Prove, "",
		operation.ProofFields{Password: store.Given("a wrong password")},
	)
	h.is(store.ProofRequired, "after a wrong password", invite())
	h.ok(h.caller(token), operation.Prove, "", operation.ProofFields{Password: store.Given(seed.Password)})
	h.is("", "after the right password", invite())
	secret, _ := h.enrol(token)
	h.advance(15 * time.Minute)
	h.ok(h.caller(token), operation.Prove, "", operation.ProofFields{TOTP: store.Given(servertest.TOTP(secret, h.clock.Now()))})
	h.is("", "after a code", invite())
	hook := store.WebhookFields{URL: store.Given("https://hooks.example.com/"), Events: store.Given([]string{"card.*"})}
	program := h.ProgramIDs["standard"]
	w := must[store.CreatedWebhook](h, h.caller(token), operation.CreateWebhook, program, operation.WebhookFields{WebhookFields: hook})
	if w.Secret == "" {
		t.Errorf("%+v", w)
	}
	h.advance(15 * time.Minute)
	describe := operation.WebhookPatch{WebhookPatch: store.WebhookPatch{WebhookFields: store.WebhookFields{Description: store.Given("x")}}}
	rotate := operation.WebhookPatch{WebhookPatch: store.WebhookPatch{RotateSecret: store.Given(true)}}
	h.want("", "a new description", h.caller(token), operation.UpdateWebhook, program+"/"+w.ID, describe)
	h.want(store.ProofRequired, "a new secret", h.caller(token), operation.UpdateWebhook, program+"/"+w.ID, rotate)
	h.want(store.Unauthorized, "a manager rotates", h.person(store.RoleManager), operation.UpdateWebhook, program+"/"+w.ID, rotate)
}

// TestDemandedSecondFactor checks that a manager of a shop that demands a second factor can
// only set it up, and that viewers need none.
func TestDemandedSecondFactor(t *testing.T) {
	h := openHarness(t)
	token := h.token(store.RoleManager)
	demand := operation.ShopSettings{ShopFields: store.ShopFields{RequireTOTP: store.Given(true)}}
	h.ok(h.person(store.RoleOwner), operation.UpdateShopSettings, "", demand)
	list := func(token string) store.Code {
		return h.code(h.caller(token), operation.ListLocations, "", nil)
	}
	if c := h.caller(token); !c.Session.MustEnrol || list(token) != store.TOTPRequired {
		t.Errorf("a manager without a second factor lists locations: %+v", c.Session)
	}
	h.is("", "a viewer", list(h.token(store.RoleViewer)))
	h.enrol(token)
	h.is("", "with a second factor", list(token))
}

// TestChangePassword checks the rules for new passwords, and that the current one is needed.
func TestChangePassword(t *testing.T) {
	h := openHarness(t)
	token := h.token(store.RoleViewer)
	change := func(current, pass string) store.Code {
		return h.code(
			h.caller(token),
			operation.ChangePassword, "",
			operation.PasswordFields{CurrentPassword: store.Given(current), Password: store.Given(pass)},
		)
	}
	for pass, want := range map[string]store.Code{
		"short": store.ValidationFailed, "password123": store.ValidationFailed, seed.ViewerEmail: store.ValidationFailed,
		strings.Repeat("x7", 129): store.ValidationFailed,
	} {
		h.is(want, pass, change(seed.Password, pass))
	}
	h.is(store.InvalidCredentials, "a wrong current password", change("a wrong password", "another kettle 71"))
	h.is("", "a new password", change(seed.Password, "another kettle 71"))
	h.is(store.InvalidCredentials, "the old password", codeOf(h.signIn(seed.ViewerEmail, seed.Password, home)))
}
