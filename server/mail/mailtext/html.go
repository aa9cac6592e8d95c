package mailtext

import (
	"html/template"
	"strings"
	"sync"

	"punchcard/store"
)

// HTML returns the message as a page for mail programs. It loads nothing: it has no images,
// no styles but those of its elements, and no links but those of the text. The template
// escapes names.
func HTML(m store.Mail) string {
	var b strings.Builder
	if err := page().Execute(&b, letterOf(m)); err != nil {
		panic(err) // impossible: a Builder takes everything, and the tests execute the template
	}
	return b.String()
}

// page parses the template when the first message is shown. It has no colours but those of
// the button, so that mail programs can show it dark.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("mail").Parse(`<!DOCTYPE html>
<html lang="{{.Language}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{{.Subject}}</title>
</head>
<body style="margin:0;padding:24px 16px;font-size:16px;line-height:1.5;
font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">
<div style="max-width:34em;margin:0 auto">
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3" dir="auto">{{.Subject}}</h1>
<p style="margin:0 0 16px" dir="auto">{{.Before}}</p>
{{- range .Links}}
{{- with .Name}}
<p style="margin:24px 0 8px;font-weight:bold" dir="auto">{{.}}</p>
{{- end}}
<p style="margin:0 0 8px"><a href="{{.URL}}" style="display:inline-block;padding:12px 24px;border-radius:8px;
background-color:#1d4ed8;color:#ffffff;font-weight:bold;text-decoration:none">{{.Label}}</a></p>
<p style="margin:0 0 16px;font-size:14px;overflow-wrap:anywhere;word-break:break-all"><a href="{{.URL}}">{{.URL}}</a></p>
{{- end}}
{{- with .After}}
<p style="margin:0;font-size:14px">{{.}}</p>
{{- end}}
</div>
</body>
</html>
`))
})
