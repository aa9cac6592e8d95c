package command

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
	"punchcard/store/backup"
)

// Export are the commands that write data of a shop to files.
type Export struct {
	All   ExportAll   `cmd:"" default:"withargs" help:"Write all data of a shop to a new folder or zip file, also beside a running server: what export does without a further word."`
	Money ExportMoney `cmd:"" help:"Print the money on prepaid cards by day and location as CSV, for the books."`
}

// ExportAll is the command that writes all data of a shop.
type ExportAll struct {
	OfShop
	Out    string `type:"path" placeholder:"FOLDER|FILE.zip" help:"The folder or zip file to write, complete or not at all. It must not exist."`
	Format string `placeholder:"csv|jsonl" env:"-" help:"Tables, or lines of JSON. Default: csv."`
}

// exported is the JSON that export prints.
type exported struct {
	Out string `json:"out"`
	store.ExportManifest
	Seconds float64 `json:"seconds"`
}

// Run writes the export.
func (c *ExportAll) Run() error {
	if c.Out == "" {
		return usagef("--out: is required; it names the folder or the zip file to write")
	}
	form := kernel.Form{Fields: url.Values{"format": {c.Format}}}
	if err := plain(operation.ExportShop.Validate(form, fieldLimits, store.TimeOf(time.Now()))); err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	start := time.Now()
	out := exported{Out: c.Out}
	var failed error // does not concern the database file
	err := c.in(func(f finder) error {
		x, err := kernel.Do[store.Export](ctx, f.kernel, f.caller, operation.ExportShop, form)
		if err == nil {
			out.ExportManifest, failed = backup.Export(ctx, x, c.Out)
		}
		return err
	})
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	out.Seconds = time.Since(start).Seconds()
	return c.show(&out, func(w io.Writer) {
		for _, f := range out.Files {
			printf(w, "%s\t%d rows\n", f.Name, f.Rows)
		}
		printf(w, "%s: complete, in %.1f s\n", c.Out, out.Seconds)
	})
}

// ExportMoney is the command that prints the money of a month.
type ExportMoney struct {
	OfShop
	Month string `placeholder:"YYYY-MM" env:"-" help:"The month, of the shop's calendar. Default: this month."`
}

// Run prints the money as CSV.
func (c *ExportMoney) Run() error {
	form := kernel.Form{Fields: url.Values{"month": {c.Month}}}
	var m store.MoneyReport
	if err := c.in(func(f finder) (err error) {
		m, err = kernel.Do[store.MoneyReport](context.Background(), f.kernel, f.caller, operation.GetMoneyReport, form)
		return err
	}); err != nil {
		return err
	}
	if c.JSON {
		return c.show(&m, nil)
	}
	return m.WriteCSV(Out)
}
