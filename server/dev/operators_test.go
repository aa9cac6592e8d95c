package dev_test

import "testing"

// TestOperatorsActions checks what an operator does with keys, programs and cards by the control
// API; the answers are as documented.
func TestOperatorsActions(t *testing.T) {
	t.Parallel()
	r := start(t)
	program := r.ProgramIDs["standard"]
	card := "/cards/" + callControl(r, "POST", "/programs/"+program+"/enroll", fields{"holder_name": "Ada"}).Want(201).Str("id")
	callControl(r, "POST", card+"/lock", nil).Want(200).Shows(fields{"status": "locked"})
	callControl(r, "POST", card+"/unlock", nil).Want(200)
	callControl(r, "POST", card+"/reissue", fields{"holder_name": "Grace"}).Want(200).Shows(fields{"holder_name": "Grace"})
	callControl(r, "POST", card+"/archive", nil).Want(200).Shows(fields{"status": "archived"})
	callControl(r, "POST", card+"/archive", fields{"x": 1}).Want(400, "validation_failed")
	callControl(r, "PATCH", "/programs/"+program, fields{"min_spend_cents": 300, "max_stamps_per_day": nil}).Want(200)
	callControl(r, "PATCH", "/programs/"+program, fields{"min_spend_cents": 0}).Invalid("min_spend_cents too_small")
	callControl(r, "DELETE", "/programs/"+r.ProgramIDs["private"], nil).Want(204)
	callControl(r, "DELETE", "/programs/"+r.ProgramIDs["private"], nil).Want(404, "not_found")
	key := callControl(r, "POST", "/keys", fields{"scopes": []string{"cards:read"}}).Want(201)
	callControl(r, "POST", "/keys/"+key.Str("id")+"/revoke", nil).Want(200)
	callREST(r.With(key.Str("key")), "GET", "/me", nil).Want(401)
	made := callControl(r, "POST", "/sign-in", fields{"as": "viewer"}).Want(200)
	if made.Str("token") == "" || made.Header.Get("Set-Cookie") == "" {
		t.Errorf("%s %v", made.Body, made.Header)
	}
	callControl(r, "POST", "/sign-in", fields{"as": "nobody"}).Invalid("as invalid_value")
	if rows, _ := callControl(r, "GET", "/audit?limit=3", nil).Want(200).At("data").([]any); len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
}
