package dashboard

import (
	"cmp"
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

// cardExportPages download data.
var cardExportPages = []binding{
	page("/dashboard/cards.csv", exportCards),
	page(cardAt+"/export", exportCard),
}

// exportCard downloads all that is stored about the holder of a card.
func exportCard(v *visit) error {
	x, err := v.exportHolders(v.id())
	if err != nil {
		return err
	}
	card := store.CardExport{ExportedAt: x.ExportedAt, Shop: x.Shop, ChainExport: x.Chains[0]}
	return v.downloadJSON("card-"+card.Cards[0].ID, &card)
}

// exportHolders returns all that is stored about the holders of cards.
func (v *visit) exportHolders(ids ...string) (store.PersonExport, error) {
	return read[store.PersonExport](v, operation.ExportPerson, kernel.Args{Fields: store.PersonQuery{CardIDs: store.Given(ids)}})
}

// downloadJSON sends data as a file whose name is given without its end.
func (v *visit) downloadJSON(name string, data any) error {
	v.download("application/json", name+".json")
	web.Write(v.w, http.StatusOK, []byte(indented(wire.Append(nil, data))+"\n"))
	return nil
}

// download sets the headers of a file.
func (v *visit) download(contentType, name string) {
	h := v.w.Header()
	web.SetHeaders(h)
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// exportColumns are the columns of the exported cards. A field of the card that is not named as its column
// stands after it.
var exportColumns = strings.Fields(`
	id program=program_name status name=holder_name email=holder_email reference=external_ref stamps=stamps_count
	balance_cents=current_value source platform created_at activated_at installed_at last_stamp_at expires_at locked_at archived_at
`)

// exportTimeout is how long a client may take to receive one page of an export.
const exportTimeout = 30 * time.Second

// exportFilters are the filters of the list of cards that an export has too.
var exportFilters = []string{"program_id", "status", "seen", "prize_due", "birthday"}

// exportCards downloads the cards as a table, page by page. If a page fails after the
// first one was sent, the connection is closed, so that the browser reports it.
func exportCards(v *visit) error {
	fields := v.searchFields(nonEmpty(v.r.URL.Query(), exportFilters...))
	if ids := v.chosenCards(); len(ids) > 0 {
		fields.Set("card_ids", strings.Join(ids, ","))
	} else if v.r.URL.Query().Has("chosen") {
		return kernel.Refuse(store.BadRequest, "Choose at least one card.")
	}
	fields.Set("limit", "100")
	list, err := v.exportPage(fields)
	if err != nil {
		return err
	}
	v.download("text/csv; charset=utf-8", "cards-"+v.today()+".csv")
	out, deadline := csv.NewWriter(v.w), http.NewResponseController(v.w)
	out.Write(each(exportColumns, func(column string) string {
		name, _, _ := strings.Cut(column, "=")
		return name
	}))
	for {
		deadline.SetWriteDeadline(time.Now().Add(exportTimeout)) // some test servers have none
		for _, c := range list.Data {
			out.Write(exportRow(c))
		}
		out.Flush()
		if out.Error() != nil || !list.NextCursor.Valid {
			return nil
		}
		fields.Set("cursor", list.NextCursor.V)
		if list, err = v.exportPage(fields); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// exportPage reads a page of an export. Unlike a page of HTML, the answer cannot begin
// again if the store's epoch changes.
func (v *visit) exportPage(fields url.Values) (list store.Page[store.ExportedCard], err error) {
	err = v.identified(binding{}, func() error {
		list, err = read[store.Page[store.ExportedCard]](v, operation.ExportCards, v.query(fields))
		return err
	})
	return list, err
}

// exportRow returns the cells of a card.
func exportRow(c store.ExportedCard) []string {
	values := formValues(&c)
	return each(exportColumns, func(column string) string {
		name, field, _ := strings.Cut(column, "=")
		return store.Defuse(values.Get(cmp.Or(field, name)))
	})
}
