package dashboard

import "punchcard/server/kernel"

// unreachable returns the note of pages with links for phones while phones cannot open them,
// since the public URL of the shop or the server is that of this machine alone or has no https. It is nil otherwise, and
// for a fixture, whose links nobody opens on a phone.
func (v *visit) unreachable() *attention {
	if v.Fixture {
		return nil
	}
	origin := v.shopURL()
	note := attention{Tone: "warn"}
	switch {
	case kernel.IsLoopbackURL(origin):
		note.Title = v.T("Phones cannot open your cards and tills yet")
		note.Text = v.T("The address of this server is {0}, which works on this machine alone.", origin)
	case !kernel.IsHTTPS(origin):
		note.Title = v.T("Phones do not trust the address of your cards and tills")
		note.Text = v.T(
			"The address of this server is {0}, without https: phones warn of it or refuse it, and tills get no camera.",
			origin,
		)
	default:
		return nil
	}
	note.Text += " " + v.T(
		"Whoever runs the server gives it a name on the internet and starts it with --tls-auto NAME, or behind a proxy with "+
			"--public-url https://NAME. Links and codes made before then lead to the old address.",
	)
	return &note
}
