package wallet

import (
	"crypto/ecdh"
	"encoding/base64"
	"testing"

	"punchcard/server/wallet/wallettest"
)

// TestPublishedMessage checks encryption and decryption by the example of RFC 8291, appendix A.
func TestPublishedMessage(t *testing.T) {
	t.Parallel()
	decode := func(text string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	private := func(text string) *ecdh.PrivateKey {
		key, err := ecdh.P256().NewPrivateKey(decode(text))
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	const plain = "When I grow up, I want to be a watermelon"
	browser, auth := private("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"), decode("BTBZMqHH6r4Tts7J_aSIgg")
	body, err := encrypt([]byte(plain), browser.PublicKey().Bytes(), auth, private("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
		decode("DGv6ra1nlYgDCS1FRnbzlw"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_" +
		"yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if got := base64.RawURLEncoding.EncodeToString(body); got != want {
		t.Errorf("encrypted\n%s, want\n%s", got, want)
	}
	if got, err := wallettest.Decrypt(decode(want), browser, auth); string(got) != plain {
		t.Errorf("decrypted %q, %v", got, err)
	}
	long := make([]byte, maxPayload)
	if body, err = encryptNew(long, browser.PublicKey().Bytes(), auth); err != nil || len(body) != 4096 {
		t.Errorf("the longest payload makes a body of %d bytes, %v", len(body), err)
	}
}

// TestCut checks that a text is cut between characters.
func TestCut(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"coffee": "coffee", "coffees": "cof…", "ééé": "ééé", "éééé": "é…", "a日本語": "a…"}
	for text, want := range texts {
		if got := cut(text, 6); got != want {
			t.Errorf("cut(%q) is %q, want %q", text, got, want)
		}
	}
}
