package dev_test

import "testing"

// TestOperatorsActions checks what an operator does with keys, programs and cards by the control
// API; the answers are as documented.
func TestOperatorsActions(t *testing.T) {
	r := start(t)
	program := r.ProgramIDs["standard"]
	card := "/cards/" + r.Control("POST", "/programs/"+program+"/enroll", fields{"holder_name": "Ada"}).Str("id")
	r.Control("POST", card+"/lock", nil).Shows(fields{"status": "locked"})
	r.Control("POST", card+"/unlock", nil)
	r.Control("POST", card+"/reissue", fields{"holder_name": "Grace"}).Shows(fields{"holder_name": "Grace"})
	r.Control("POST", card+"/archive", nil).Shows(fields{"status": "archived"})
	callControl(r, "POST", card+"/archive", fields{"x": 1}).Want(400, "validation_failed")
	r.Control("PATCH", "/programs/"+program, fields{"min_spend_cents": 300, "max_stamps_per_day": nil})
	callControl(r, "PATCH", "/programs/"+program, fields{"min_spend_cents": 0}).Invalid("min_spend_cents too_small")
	r.Control("DELETE", "/programs/"+r.ProgramIDs["private"], nil)
	callControl(r, "DELETE", "/programs/"+r.ProgramIDs["private"], nil).Want(404, "not_found")
	key := r.Control("POST", "/keys", fields{"scopes": []string{"cards:read"}})
	r.Control("POST", "/keys/"+key.Str("id")+"/revoke", nil)
	r.With(key.Str("key")).Get("/me").Want(401)
	made := r.Control("POST", "/sign-in", fields{"as": "viewer"})
	if made.Str("token") == "" || made.Header.Get("Set-Cookie") == "" {
		t.Errorf("%s %v", made.Body, made.Header)
	}
	callControl(r, "POST", "/sign-in", fields{"as": "nobody"}).Invalid("as invalid_value")
	if rows, _ := r.Control("GET", "/audit?limit=3", nil).At("data").([]any); len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
}
