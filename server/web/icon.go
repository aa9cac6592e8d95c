package web

import (
	"fmt"
	"html/template"
)

// icons holds the drawings of the icons: strokes on a grid of 24 by 24.
var icons = map[string]string{
	// Pages.
	"today":    `<path d="M4 11.5 12 4.5l8 7M6.5 9.5V19h11V9.5M10 19v-5h4v5"/>`,
	"program":  `<path d="m12 3.5 8.5 4.75L12 13 3.5 8.25zM3.5 12.25 12 17l8.5-4.75M3.5 16 12 20.75 20.5 16"/>`,
	"card":     `<rect x="3" y="5.5" width="18" height="13" rx="2.5"/><path d="M3 10h18M7 14.5h3.5"/>`,
	"location": `<path d="M12 21s6.5-6.2 6.5-11a6.5 6.5 0 0 0-13 0c0 4.8 6.5 11 6.5 11z"/><circle cx="12" cy="10" r="2.25"/>`,
	"till":     `<rect x="6.5" y="3" width="11" height="18" rx="2.5"/><path d="M10.5 18h3M9.5 7h5"/>`,
	"people": `<circle cx="9" cy="8.5" r="3.25"/><path d="M3 19c.5-3.2 2.9-5 6-5s5.5 1.8 6 5M15.5 5.6a3.25 3.25 0 0 1 0 ` +
		`5.8M17.5 14.6c1.9.7 3.1 2.2 3.5 4.4"/>`,
	"key":      `<circle cx="8" cy="15.5" r="4"/><path d="m11 12.5 8.5-8.5M16 7.5l3 3M13.5 10l1.75 1.75"/>`,
	"webhook":  `<path d="M4 12h4l2.5-7 4 14 2.25-7H20"/>`,
	"chart":    `<path d="M4 20h16M6.5 16.5v-5M12 16.5v-11M17.5 16.5v-8"/>`,
	"activity": `<circle cx="12" cy="12" r="8.5"/><path d="M12 7.25V12l3.25 2"/>`,
	"health":   `<path d="M12 20S3.5 15.2 3.5 9.25A4.5 4.5 0 0 1 12 7.2a4.5 4.5 0 0 1 8.5 2.05C20.5 15.2 12 20 12 20z"/>`,
	"settings": `<path d="M4 7h9M17 7h3M4 17h3M11 17h9"/><circle cx="15" cy="7" r="2"/><circle cx="9" cy="17" r="2"/>`,
	"print": `<path d="M7 8.5V3.5h10v5M7 17H5.5A2 2 0 0 1 3.5 15v-4.5a2 2 0 0 1 2-2h13a2 2 0 0 1 2 2V15a2 2 0 0 1-2 2H17"/>` +
		`<path d="M7 14h10v6.5H7z"/>`,
	"report": `<path d="M6 3.5h8l4 4v13H6zM14 3.5v4h4M9 12h6M9 16h6"/>`,
	"shop": `<path d="M4.5 9.5V20h15V9.5M3.5 9 5.5 4h13l2 5a2.83 2.83 0 0 1-5.67 0 2.83 2.83 0 0 1-5.66 0A2.83 2.83 0 0 1 ` +
		`3.5 9zM10 20v-5.5h4V20"/>`,
	"chat": `<path d="M4 5.5h16v11h-8l-4.5 4v-4H4z"/><path d="M8.5 9.5h7M8.5 12.5h4"/>`,
	"user": `<circle cx="12" cy="8.5" r="3.75"/><path d="M5 20c.6-3.7 3.4-5.75 7-5.75s6.4 2.05 7 5.75"/>`,
	// Things.
	"stamp": `<path d="M5 20h14M6 16.5v-1.25c0-1 .75-1.75 1.75-1.75h2.5c.4-2.5-1.75-3.75-1.75-6.25a3.5 3.5 0 0 1 7 0c0 ` +
		`2.5-2.15 3.75-1.75 6.25h2.5c1 0 1.75.75 1.75 1.75v1.25z"/>`,
	"prize": `<path d="M4.5 12v8h15v-8M3.5 8h17v4h-17zM12 8v12M12 8S8.25 8 7.5 6.25C6.75 4.25 9.5 2.5 12 8zM12 8s3.75 0 ` +
		`4.5-1.75C17.25 4.25 14.5 2.5 12 8z"/>`,
	"balance":  `<circle cx="12" cy="12" r="8.5"/><path d="M15 8.5a4 4 0 1 0 0 7M7.5 10.75h5M7.5 13.25h5"/>`,
	"mail":     `<rect x="3" y="5.5" width="18" height="13" rx="2.5"/><path d="m3.5 7.5 8.5 6 8.5-6"/>`,
	"calendar": `<rect x="4" y="5.5" width="16" height="15" rx="2.5"/><path d="M4 10h16M8.5 3.5v4M15.5 3.5v4"/>`,
	"qr":       `<path d="M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2.5v2.5M20 14v2M14 20h2M18.5 18.5H20V20h-1.5z"/>`,
	"backup": `<ellipse cx="12" cy="6" rx="7.5" ry="2.75"/><path d="M4.5 6v12c0 1.5 3.4 2.75 7.5 2.75s7.5-1.25 7.5-2.75V6M4.5 ` +
		`12c0 1.5 3.4 2.75 7.5 2.75s7.5-1.25 7.5-2.75"/>`,
	"camera": `<path d="M4 8h3.5L9 5.5h6L16.5 8H20v11H4z"/><circle cx="12" cy="13.25" r="3.25"/>`,
	"torch":  `<path d="M13 3 6 13.5h5L10 21l8-11h-5.5z"/>`,
	"image": `<rect x="3.5" y="4.5" width="17" height="15" rx="2.5"/><circle cx="9" cy="10" r="1.5"/><path d="m4 17.5 4.5-4 3 ` +
		`2.5 4-4.5 5 5"/>`,
	// Actions and signs.
	"plus":   `<path d="M12 5v14M5 12h14"/>`,
	"check":  `<path d="m5 12.5 4.5 4.5L19 7.5"/>`,
	"close":  `<path d="m6 6 12 12M18 6 6 18"/>`,
	"search": `<circle cx="11" cy="11" r="6.5"/><path d="m16 16 4.5 4.5"/>`,
	"filter": `<path d="M4 7h16M7 12h10M10 17h4"/>`,
	"edit":   `<path d="M4.5 19.5 5.5 15 15.75 4.75a1.77 1.77 0 0 1 2.5 0l1 1a1.77 1.77 0 0 1 0 2.5L9 18.5zM14 6.5l3.5 3.5"/>`,
	"trash":  `<path d="M4.5 7h15M9.5 7V4.5h5V7M6.5 7l.75 13h9.5l.75-13M10.25 11v5M13.75 11v5"/>`,
	"copy": `<rect x="8.5" y="8.5" width="12" height="12" rx="2.5"/><path d="M15.5 8.5V6A2.5 2.5 0 0 0 13 3.5H6A2.5 2.5 0 0 ` +
		`0 3.5 6v7A2.5 2.5 0 0 0 6 15.5h2.5"/>`,
	"download": `<path d="M12 4v11M7.5 10.5 12 15l4.5-4.5M4.5 19.5h15"/>`,
	"upload":   `<path d="M12 15V4M7.5 8.5 12 4l4.5 4.5M4.5 19.5h15"/>`,
	"lock":     `<rect x="5" y="10.5" width="14" height="10" rx="2.5"/><path d="M8 10.5V8a4 4 0 0 1 8 0v2.5"/>`,
	"unlock":   `<rect x="5" y="10.5" width="14" height="10" rx="2.5"/><path d="M8 10.5V8a4 4 0 0 1 7.5-1.9"/>`,
	"eye":      `<path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12z"/><circle cx="12" cy="12" r="2.75"/>`,
	"refresh":  `<path d="M19.5 12a7.5 7.5 0 1 1-2.2-5.3L19.5 9M19.5 4.5V9H15"/>`,
	"undo":     `<path d="M8.5 5 4.5 9l4 4M4.5 9h9a5.5 5.5 0 0 1 0 11H9"/>`,
	"send":     `<path d="M20.5 3.5 10.5 13.5M20.5 3.5 14 20.5l-3.5-7-7-3.5z"/>`,
	"signout":  `<path d="M14 4.5H6.5v15H14M10.5 12h10M17 8.5l3.5 3.5-3.5 3.5"/>`,
	"menu":     `<path d="M4 7h16M4 12h16M4 17h16"/>`,
	"more":     `<circle cx="5.5" cy="12" r=".75"/><circle cx="12" cy="12" r=".75"/><circle cx="18.5" cy="12" r=".75"/>`,
	"switch":   `<path d="m8 9.5 4-4 4 4M8 14.5l4 4 4-4"/>`,
	"right":    `<path d="m9.5 6.5 5.5 5.5-5.5 5.5"/>`,
	"back":     `<path d="M19 12H5M11 6l-6 6 6 6"/>`,
	"info":     `<circle cx="12" cy="12" r="8.5"/><path d="M12 11.25V16M12 8v.1"/>`,
	"warning":  `<path d="M12 4 2.75 19.5h18.5zM12 10v4.5M12 17v.1"/>`,
	"good":     `<circle cx="12" cy="12" r="8.5"/><path d="m8.25 12.25 2.5 2.5 5-5.25"/>`,
	"bad":      `<circle cx="12" cy="12" r="8.5"/><path d="M12 7.5V13M12 16v.1"/>`,
	"help":     `<circle cx="12" cy="12" r="8.5"/><path d="M9.75 9.5a2.3 2.3 0 1 1 3.4 2c-.75.45-1.15.9-1.15 1.75M12 16.25v.1"/>`,
}

// icon returns an icon that is hidden from screen readers.
func icon(name string) (template.HTML, error) {
	drawing, ok := icons[name]
	if !ok {
		return "", fmt.Errorf("there is no icon %q", name)
	}
	return template.HTML(`<svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">` + drawing + `</svg>`), nil
}
