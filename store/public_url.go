package store

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"punchcard/store/sqlite"
)

// PublicURL returns the public URL of the server, with which links of accounts begin; empty if
// neither the options nor the file have it.
func (s *Store) PublicURL() string { return s.opts.PublicURL }

// PublicURLOf returns what links of a shop's cards and tills begin with: the public URL of the shop,
// else that of the server, which may be empty.
func (q *queries) PublicURLOf(shop int64) (url string) {
	q.one(into(&url), "SELECT ifnull(public_url, '') FROM shops WHERE id=?", shop)
	return cmp.Or(url, q.s.opts.PublicURL)
}

// ShopURL returns the public URL of the shop that has a host, which is in lower case and without a
// port. It returns "" if no shop has it, also if the file cannot be read.
func (s *Store) ShopURL(host string) (url string) {
	s.View(0, func(v *View) error {
		_, url = v.shopWithHost(host)
		return nil
	})
	return url
}

// ShopHosts returns the hosts of the public URLs of shops, without ports.
func (s *Store) ShopHosts() (hosts []string) {
	s.View(0, func(v *View) error {
		for _, raw := range collect(&v.queries, (*rows).str,
			"SELECT public_url FROM shops WHERE public_url IS NOT NULL ORDER BY public_url") {
			if u, err := url.Parse(raw); err == nil {
				hosts = append(hosts, u.Hostname())
			}
		}
		return nil
	})
	return hosts
}

// shopWithHost returns the shop whose public URL has a host, at any port, and the URL; 0 if there is none.
func (q *queries) shopWithHost(host string) (shop int64, url string) {
	q.one(into(&shop, &url), "SELECT id, public_url FROM shops WHERE public_url=?1 OR public_url>=?1||':' AND public_url<?1||';'",
		"https://"+host)
	return shop, url
}

// setShopURL brings the public URL of a shop into its normal form. It refuses one whose host another
// shop than that of the key has.
func (tx *Tx) setShopURL(sh *Shop, key int64) error {
	if !sh.PublicURL.Valid {
		return nil
	}
	normal, host, _ := normalShopURL(sh.PublicURL.V) // it was checked
	if other, _ := tx.shopWithHost(host); other != 0 && other != key {
		return refuse(Conflict, "Another shop has this host in its public URL.")
	}
	sh.PublicURL.V = normal
	return tx.failed
}

// CheckPasses refuses another public URL of a shop while passes are on phones, which keep the present one, unless yes is set.
func (q *queries) CheckPasses(shop int64, url Opt[string], yes bool) error {
	to, _, _ := normalShopURL(url.V) // it was checked
	if url.Null {
		to = q.s.opts.PublicURL
	}
	if n := q.passesOnPhones(shop); url.Set && !yes && n > 0 && to != q.PublicURLOf(shop) {
		return InvalidField("yes", "required",
			fmt.Sprintf("is required: the passes on phones keep the present public URL for ever (%d)", n))
	}
	return q.failed
}

// checkShopURL returns a detail if a URL cannot be the public URL of a shop.
func checkShopURL(raw Opt[string]) []Detail {
	if !raw.Set || raw.Null {
		return nil
	}
	if _, _, ok := normalShopURL(raw.V); !ok {
		return []Detail{{"public_url", "invalid_value", "must be https:// and the name of a host on the internet, without a path, " +
			"such as https://cards.example.com"}}
	}
	return nil
}

// normalShopURL returns a public URL of a shop as it is stored, and its host: the name in lower case and
// ASCII, without a dot or slash at the end and without the port 443. Phones keep the URL, so it must be
// one that they can open: ok is false for plain http, addresses and names of loopback.
func normalShopURL(raw string) (normal, host string, ok bool) {
	u, err := url.Parse(raw)
	if err != nil || !utf8.ValidString(raw) || u.Scheme != "https" || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" {
		return "", "", false
	}
	host, err = idna.Lookup.ToASCII(strings.TrimSuffix(u.Hostname(), "."))
	if err != nil || !IsHostName(host) || strings.HasSuffix(host, ".localhost") {
		return "", "", false
	}
	normal = "https://" + host
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return "", "", false
		}
		if n != 443 {
			normal += ":" + strconv.FormatUint(n, 10)
		}
	}
	return normal, host, true
}

var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

// IsHostName reports whether a text is a host name of several labels, in lower case. An address is none,
// however it is written: browsers read 127.1 as one too.
func IsHostName(name string) bool { return len(name) <= 253 && hostName.MatchString(name) }

// RememberPublicURL stores the URL that Open uses where the options have none.
func (tx *Tx) RememberPublicURL(url string) error {
	tx.exec("UPDATE meta SET public_url=? WHERE id=1", url)
	return tx.failed
}

// RememberedURL returns the public URL that the file at the path remembers. It returns "" if there
// is none, also if the file cannot be read or is of an older version, which Open then reports.
func RememberedURL(ctx context.Context, path string) string {
	real, err := CheckPath(path, true)
	if err != nil {
		return ""
	}
	c, err := openInspected(ctx, real)
	if err != nil {
		return ""
	}
	defer c.Close()
	defer c.FewSteps()()
	url, _ := rememberedURL(c)
	return url
}

func rememberedURL(c *sqlite.Conn) (url string, err error) {
	_, err = one(c, into(&url), "SELECT ifnull(public_url, '') FROM meta")
	return url, err
}
