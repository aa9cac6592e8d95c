package store

import (
	"context"
)

// PublicURL returns what begins every install link; empty if neither the options nor the file
// have it.
func (s *Store) PublicURL() string { return s.opts.PublicURL }

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
	url, _ := rememberedURL((*conn)(c))
	return url
}

func rememberedURL(c *conn) (url string, err error) {
	_, err = c.one(into(&url), "SELECT ifnull(public_url, '') FROM meta")
	return url, err
}
