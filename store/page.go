package store

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// PageQuery asks for one page of a list.
type PageQuery struct {
	Limit  Opt[int64]  `json:"limit" min:"1" doc:"Page size: 50, or the maximum page size where that is smaller. Above the maximum it is clamped; the answer states the effective limit."`
	Cursor Opt[string] `json:"cursor" doc:"next_cursor of the previous page. Repeat the filters with it."`
}

// Page is one page of a list, newest first.
type Page[T any] struct {
	Data       []T          `json:"data" doc:"The items of this page, newest first. A page may be shorter than limit, even empty, and not be the last."`
	NextCursor Null[string] `json:"next_cursor" doc:"Opaque. Pass it as cursor to get the next page; null means this is the last page."`
	Limit      int          `json:"limit" min:"0" doc:"The effective page size after clamping."`
}

// The lists that hand out cursors. The numbers are inside every cursor.
const (
	listLocations byte = iota + 1
	listPrograms
	listCards
	listTransactions
	listAudit
	listCardSearch
	listCardTransactions
	listCardAudit
	listExport
	listWebhookLog
	listFoundCards
	listSeenCards
	listWebhookReports
	listRankedCards
)

// ClampLimit returns the page size for a request: the given one or 50, but at most
// the maximum page size.
func (l Limits) ClampLimit(asked Opt[int64]) int {
	return int(min(asked.Or(50), int64(l.MaxPageSize)))
}

// limit returns the page size for a query.
func (v *View) limit(q PageQuery) int { return v.s.opts.Limits.ClampLimit(q.Limit) }

// listQuery describes a list: the index that it uses and its filters.
type listQuery struct {
	list    byte
	shop    int64
	table   string     // with its alias
	alias   string     // of table, such as c
	join    string     // joins of the outer query
	index   conditions // that the index serves together with the order by key
	filters conditions // further ones; a row that they drop was visited too
	above   int64      // keys must be greater than this (0: no bound)
	below   int64      // keys must be smaller than this (0: no bound)
}

func (w *listQuery) useIndex(cond string, args ...any) { w.index.add(cond, args...) }
func (w *listQuery) filter(cond string, args ...any)   { w.filters.add(cond, args...) }

// replaceIndex makes the list use another index. What was its index becomes a filter.
func (w *listQuery) replaceIndex(cond string, args ...any) {
	w.filter(w.index.sql(), w.index.args...)
	w.index = conditions{}
	w.useIndex(cond, args...)
}

// useChains makes the list one of the cards whose roots a query selects.
func (w *listQuery) useChains(roots string, args ...any) {
	w.replaceIndex("c.id IN (SELECT i.id FROM cards r JOIN cards i ON i.id=r.id OR i.root_id=r.id WHERE r.id IN ("+roots+"))", args...)
}

// visited is the rest of a query of the rows that the index has below a key, newest first. Its last argument is how many.
func (w *listQuery) visited(below int64) string {
	if w.below != 0 {
		below = min(below, w.below)
	}
	w.useIndex(w.alias+".id<?", below)
	if w.above != 0 {
		w.useIndex(w.alias+".id>?", w.above)
	}
	return " FROM " + w.table + " WHERE " + w.index.sql() + " ORDER BY " + w.alias + ".id DESC LIMIT ?"
}

// conditions are conditions of a query with their arguments.
type conditions struct {
	list []string
	args []any
}

func (c *conditions) add(cond string, args ...any) {
	c.list = append(c.list, cond)
	c.args = append(c.args, args...)
}

// sql returns the conditions as one, which is empty if there is none.
func (c *conditions) sql() string { return strings.Join(c.list, " AND ") }

// page reads one page, from the cursor's key down. If the list has filters beside its
// index, page visits at most PageVisits rows and then ends the page early, with a
// cursor to continue from, so that the work of a request is bounded.
//
// cols is the list of columns to select, as columns returns it. The first must be the
// auth epoch and the second the key; scan reads the rest.
func page[T any](v *View, w listQuery, q PageQuery, cols string, scan func(r *rows, key int64) T) (p Page[T], err error) {
	filtered := w.filters.list != nil
	if filtered { // two queries that must agree
		v.snapshot()
	}
	limit := v.limit(q)
	p = Page[T]{Data: make([]T, 0, limit), Limit: limit}
	from, err := v.below(w.list, w.shop, q)
	if err != nil || v.failed != nil {
		return p, cmp.Or(err, v.failed)
	}
	rest := w.visited(from)
	sql, args := "SELECT "+cols, slices.Clone(w.index.args)
	if filtered {
		sql += " FROM (SELECT *" + rest + ") " + w.alias + w.join + " WHERE " + w.filters.sql() + " ORDER BY " + w.alias +
			".id DESC LIMIT ?"
		args = append(append(args, v.s.opts.PageVisits), w.filters.args...)
	} else {
		sql += strings.Replace(rest, w.table, w.table+w.join, 1)
	}
	args = append(args, limit+1)

	var last int64
	more := false
	r := v.query(sql, args...)
	for r.next() {
		v.seeEpoch(r.int())
		key := r.int()
		if len(p.Data) == limit {
			more = true
			break
		}
		last = key
		p.Data = append(p.Data, scan(r, key))
	}
	if err := r.close(); err != nil {
		return p, err
	}
	if !more && filtered {
		// The page is short. The list goes on if the query visited all rows it may.
		var visited int64
		v.one(into(&visited, &last), "SELECT count(*), ifnull(min(id), 0) FROM (SELECT "+w.alias+".id"+rest+")",
			append(w.index.args, v.s.opts.PageVisits)...)
		more = visited == int64(v.s.opts.PageVisits)
	}
	if more {
		p.NextCursor = Some(v.cursor(w.list, w.shop, 0, last))
	}
	return p, v.failed
}

// below returns the key below which a page begins.
func (v *View) below(list byte, shop int64, q PageQuery) (key int64, err error) {
	if !q.Cursor.Set {
		return math.MaxInt64, nil
	}
	_, key, err = v.openCursor(list, shop, q.Cursor.V)
	return key, err
}

// errCursor is the refusal of a cursor that is not one of the list.
var errCursor = InvalidField("cursor", "invalid_format", "must be the next_cursor of a page of this list")
