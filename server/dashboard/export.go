package dashboard

import (
	"io"
	"net/http"
	"net/url"
	"time"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const exportPath = "/dashboard/export"

// exportPages download all data of the shop.
var exportPages = []binding{
	form(exportPath, showExport, action{op: operation.ExportShop, again: showExport, then: then(sendExport)}),
}

// exportPage is the page of the export.
type exportPage struct {
	web.Frame
	Formats []web.Option
}

func showExport(v *visit) error {
	v.fill(url.Values{"format": {"csv"}})
	return v.render("export", exportPage{
		Frame: v.narrow("Export", settingsPath),
		Formats: []web.Option{
			{Value: "csv", Label: v.T("Tables (CSV), for spreadsheets and other loyalty programs")},
			{Value: "jsonl", Label: v.T("Lines of JSON, for programs")},
		},
	})
}

// sendExport sends the export as a zip file while it is made.
func sendExport(v *visit, x store.Export) error {
	z, err := x.Zip(v.r.Context())
	if err != nil {
		return err
	}
	defer z.Close()
	return v.sendFile(z, "application/zip", "punchcard-"+v.today()+".zip")
}

// fileChunk is the part of a file that is sent at once, within exportTimeout.
const fileChunk = 256 << 10

// sendFile sends what a reader has as a file. If reading fails after the beginning was sent, the connection is closed, so
// that the browser reports it.
func (v *visit) sendFile(from io.Reader, contentType, name string) error {
	rc := http.NewResponseController(v.w)
	rc.SetReadDeadline(time.Time{}) // else the server would end the request's context
	buffer := make([]byte, fileChunk)
	for sent := false; ; sent = true {
		n, err := from.Read(buffer)
		switch {
		case err == io.EOF:
			return nil
		case err != nil && !sent:
			return err
		case err != nil:
			panic(http.ErrAbortHandler)
		}
		if !sent {
			v.download(contentType, name)
		}
		rc.SetWriteDeadline(time.Now().Add(exportTimeout)) // some test servers have none
		if _, err := v.w.Write(buffer[:n]); err != nil {
			return nil
		}
	}
}
