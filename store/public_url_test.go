package store

import (
	"strings"
	"testing"
)

// TestShopURL checks what can be the public URL of a shop and how it is stored, and that no two shops have
// one host.
func TestShopURL(t *testing.T) {
	f := start(t)
	for raw, want := range map[string]string{
		"https://cards.example.com":                              "https://cards.example.com",
		"HTTPS://Cards.Example.COM./":                            "https://cards.example.com",
		"https://cards.example.com:0443":                         "https://cards.example.com",
		"https://cards.example.com:8443/":                        "https://cards.example.com:8443",
		"https://Caffè.example":                                  "https://xn--caff-8oa.example",
		"https://a-1.b.test":                                     "https://a-1.b.test",
		"http://cards.example.com":                               "",
		"cards.example.com":                                      "",
		"https:cards.example.com":                                "",
		"https://":                                               "",
		"https://cards":                                          "",
		"https://localhost":                                      "",
		"https://shop.LOCALHOST.":                                "",
		"https://127.0.0.1":                                      "",
		"https://127.1":                                          "", // browsers read it as 127.0.0.1
		"https://a.0x7f":                                         "",
		"https://[::1]:8443":                                     "",
		"https://10.0.0.8":                                       "",
		"https://cards.example.com/shop":                         "",
		"https://cards.example.com?a=b":                          "",
		"https://cards.example.com#a":                            "",
		"https://ada@cards.example.com":                          "",
		"https://cards.example.com:0":                            "",
		"https://cards.example.com:70000":                        "",
		"https://cards..example.com":                             "",
		"https://*.example.com":                                  "",
		"https://c_d.example.com":                                "",
		"https://-c.example.com":                                 "",
		"https://xn--\u00e8.example":                             "",
		"https://a b.example":                                    "",
		"https://" + strings.Repeat("a", 64) + ".example":        "",
		"https://" + strings.Repeat("a23456789.", 25) + "com.it": "",
	} {
		var sh Shop
		err := f.do(func(tx *Tx) (err error) {
			sh, err = tx.UpdateShop(f.a.Shop, ShopFields{PublicURL: set(raw)}, "")
			return err
		})
		if want == "" {
			if e, ok := AsError(err); !ok || e.Code != ValidationFailed || e.Details[0].Field != "public_url" {
				t.Errorf("%q is accepted as %q, %v", raw, sh.PublicURL.V, err)
			}
		} else if err != nil || sh.PublicURL != Some(want) {
			t.Errorf("%q is %q, %v, want %q", raw, sh.PublicURL.V, err, want)
		}
	}
	wait := f.clock.at()
	f.updateShop(ShopFields{PublicURL: set("https://Cards.example.com:8443")})
	f.clock.move(1)
	if sh := f.updateShop(ShopFields{PublicURL: set("https://cards.example.com:8443/")}); sh.UpdatedAt > wait {
		t.Error("the same URL in another form changed the shop")
	}
	g := f.in(f.shop(ShopFields{PublicURL: set("https://cards.example.co")}))
	take := func(url string, want Code) {
		t.Helper()
		err := g.do(func(tx *Tx) error { return errorOf(tx.UpdateShop(g.a.Shop, ShopFields{PublicURL: set(url)}, "")) })
		if codeOf(err) != want {
			t.Errorf("%s for another shop: %v, want %q", url, err, want)
		}
	}
	take("https://cards.example.com", Conflict)
	take("https://CARDS.example.com:9443/", Conflict)
	take("https://cards.example.com.au", "")
	take("https://cards.example.com-x.org", "")
	refused(t, f.do(func(tx *Tx) error {
		_, _, err := tx.CreateShop(ShopFields{Name: set("Third"), PublicURL: set("https://cards.example.com")})
		return err
	}), Conflict)
	if f.ShopURL("cards.example.com") != "https://cards.example.com:8443" || f.ShopURL("example.com") != "" || f.ShopURL("%") != "" {
		t.Error("shops are not found by their hosts")
	}
	if hosts := strings.Join(f.ShopHosts(), " "); hosts != "cards.example.com-x.org cards.example.com" {
		t.Errorf("the hosts are %s", hosts)
	}
	f.updateShop(ShopFields{PublicURL: null[string]()})
	take("https://cards.example.com", "")
	g.writes(func(tx *Tx) { check(tx.DeleteShop(g.a.Shop, "My shop")) })
	if f.ShopURL("cards.example.com") != "" {
		t.Error("a deleted shop keeps its host")
	}
	f.updateShop(ShopFields{PublicURL: set("https://cards.example.com")})
}

// FuzzShopURL checks that the normal form of a public URL is its own normal form, and begins with https and
// a host.
func FuzzShopURL(f *testing.F) {
	for _, raw := range []string{
		"https://Cards.example.com.:0443/", "https://caffè.example:8443", "https://127.1", "https://[::1]", "https://a.b%2e", "https://0.\xff",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		normal, host, ok := normalShopURL(raw)
		if !ok {
			return
		}
		again, same, ok := normalShopURL(normal)
		rest, https := strings.CutPrefix(normal, "https://"+host)
		if !ok || again != normal || same != host || !IsHostName(host) || !https || rest != "" && rest[0] != ':' {
			t.Errorf("%q is %q with host %q, and that is %q", raw, normal, host, again)
		}
	})
}
