package store

import (
	"cmp"
	"math"
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
	list       byte
	shop       int64
	table      string   // with its alias
	alias      string   // of table, such as c
	join       string   // joins of the outer query
	index      []string // conditions that the index serves together with the order by key
	indexArgs  []any    // of index
	filters    []string // further conditions; a row that they drop was visited too
	filterArgs []any    // of filters
	above      int64    // keys must be greater than this (0: no bound)
	below      int64    // keys must be smaller than this (0: no bound)
}

func (w *listQuery) useIndex(cond string, args ...any) {
	w.index = append(w.index, cond)
	w.indexArgs = append(w.indexArgs, args...)
}

// useChains makes the list one of the cards whose roots a query selects. What was its index becomes
// a filter.
func (w *listQuery) useChains(roots string, args ...any) {
	w.filters = append(w.filters, w.index...)
	w.filterArgs = append(w.filterArgs, w.indexArgs...)
	w.index = []string{"c.id IN (SELECT i.id FROM cards r JOIN cards i ON i.id=r.id OR i.root_id=r.id WHERE r.id IN (" + roots + "))"}
	w.indexArgs = args
}

func (w *listQuery) filter(cond string, args ...any) {
	w.filters = append(w.filters, cond)
	w.filterArgs = append(w.filterArgs, args...)
}

// filterAll adds conditions as filters.
func (w *listQuery) filterAll(conds conditions) {
	w.filters = append(w.filters, conds.list...)
	w.filterArgs = append(w.filterArgs, conds.args...)
}

// page reads one page, from the cursor's key down. If the list has filters beside its
// index, page visits at most PageVisits rows and then ends the page early, with a
// cursor to continue from, so that the work of a request is bounded.
//
// cols is the list of columns to select, as columns returns it. The first must be the
// auth epoch and the second the key; scan reads the rest.
func page[T any](v *View, w listQuery, q PageQuery, cols string, scan func(r *rows, key int64) T) (p Page[T], err error) {
	if len(w.filters) > 0 { // two queries that must agree
		v.snapshot()
	}
	limit := v.limit(q)
	p = Page[T]{Data: make([]T, 0, limit), Limit: limit}
	from, err := v.below(w.list, w.shop, q)
	if err != nil || v.failed != nil {
		return p, cmp.Or(err, v.failed)
	}
	if w.below != 0 {
		from = min(from, w.below)
	}
	w.useIndex(w.alias+".id<?", from)
	if w.above != 0 {
		w.useIndex(w.alias+".id>?", w.above)
	}
	rest := " FROM " + w.table + " WHERE " + strings.Join(w.index, " AND ") + " ORDER BY " + w.alias + ".id DESC LIMIT ?"

	var sql string
	var args []any
	if len(w.filters) == 0 {
		sql = "SELECT " + cols + strings.Replace(rest, " WHERE ", w.join+" WHERE ", 1)
		args = append(append(args, w.indexArgs...), limit+1)
	} else {
		sql = "SELECT " + cols + " FROM (SELECT *" + rest + ") " + w.alias + w.join +
			" WHERE " + strings.Join(w.filters, " AND ") + " ORDER BY " + w.alias + ".id DESC LIMIT ?"
		args = append(append(append(args, w.indexArgs...), v.s.opts.PageVisits), w.filterArgs...)
		args = append(args, limit+1)
	}

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
	if !more && len(w.filters) > 0 {
		// The page is short. The list goes on if the query visited all rows it may.
		var visited int64
		v.one(into(&visited, &last), "SELECT count(*), ifnull(min(id), 0) FROM (SELECT "+w.alias+".id"+rest+")",
			append(w.indexArgs, v.s.opts.PageVisits)...)
		more = visited == int64(v.s.opts.PageVisits)
	}
	if more {
		p.NextCursor = Some(v.cursor(w.list, w.shop, last))
	}
	return p, v.failed
}

// below returns the key below which a page begins.
func (v *View) below(list byte, shop int64, q PageQuery) (key int64, err error) {
	if !q.Cursor.Set {
		return math.MaxInt64, nil
	}
	key, ok := v.cursorKey(list, shop, q.Cursor.V)
	if !ok {
		err = errCursor
	}
	return key, err
}

// errCursor is the refusal of a cursor that is not one of the list.
var errCursor = InvalidField("cursor", "invalid_format", "must be the next_cursor of a page of this list")
