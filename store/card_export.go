package store

import (
	"encoding/json"
	"reflect"
	"strings"
)

// CardExport is everything that the file holds about the holder of a card, apart from the
// card's own codes and links, which would let their finder use the card.
type CardExport struct {
	ExportedAt Time      `json:"exported_at"`
	Shop       NamedShop `json:"shop"`
	ChainExport
}

// PersonExport is the same of all cards of a person.
type PersonExport struct {
	ExportedAt Time          `json:"exported_at"`
	Shop       NamedShop     `json:"shop"`
	Chains     []ChainExport `json:"chains" doc:"One for each card with those that overflowed from it, oldest first."`
}

// ChainExport is the part of an export that is about a card and those that overflowed from it.
type ChainExport struct {
	Cards        []ExportedCard        `json:"cards" doc:"The cards that overflowed from one another, oldest first."`
	Transactions []ExportedTransaction `json:"transactions" doc:"Oldest first."`
	Claims       []ExportedClaim       `json:"claims"`
	Mails        []ExportedMail        `json:"mails"`
	Contact      json.RawMessage       `json:"contact" doc:"By the names of columns and tables."`
	Consent      *Consent              `json:"consent" doc:"Null: the card was not made by its holder, or nothing was to be agreed to."`
	GooglePasses []ExportedGooglePass  `json:"google_passes" doc:"Those that were made for Google Wallet. Phones with a pass of Apple Wallet are in contact."`
	Complete     bool                  `json:"complete" doc:"False if there are more transactions than an export holds, which is 100,000."`
}

// ExportedCard is a card with all that is known of it.
type ExportedCard struct {
	Card
	Source      string       `json:"source"`
	Platform    Null[string] `json:"platform"`
	Cycle       int64        `json:"cycle"`
	ActivatedAt Null[Time]   `json:"activated_at"`
	LockedAt    Null[Time]   `json:"locked_at"`
	ArchivedAt  Null[Time]   `json:"archived_at"`
	LastStampAt Null[Time]   `json:"last_stamp_at"`
	UpdatedAt   Time         `json:"updated_at"`
	Opening     int64        `json:"opening_stamps" doc:"Stamps that it began with, which no transaction gave."`
	FirstValue  Null[int64]  `json:"initial_value" doc:"Balance in cents that a prepaid card began with, which no transaction gave."`
	LastVisit   Null[string] `json:"last_visit" doc:"The last day on which it was presented; null: never, or the card overflowed from another."`
	Held
}

// Held is what else a row has about the holder, according to personal.go.
type Held struct {
	Held json.RawMessage `json:"held,omitempty" doc:"By the names of columns."`
}

// ExportedTransaction is a row of the ledger with what the till sent with it. Who was at the
// till is left out, since that is no data of the holder.
type ExportedTransaction struct {
	Transaction
	OccurredAt      Null[Time]      `json:"occurred_at" doc:"When a stamp was given that the till sent later; else null."`
	ClientReference Null[string]    `json:"client_reference" doc:"The UUID that the till gave the write."`
	Metadata        json.RawMessage `json:"metadata"`
	Held
}

// ExportedClaim is a prize that the holder redeemed.
type ExportedClaim struct {
	CardID        string       `json:"card_id"`
	Cycle         int64        `json:"cycle"`
	Threshold     int64        `json:"threshold"`
	PrizeID       string       `json:"prize_id"`
	PrizeName     string       `json:"prize_name"`
	TransactionID Null[string] `json:"transaction_id" doc:"Null: the prize was redeemed before the card was imported."`
}

// ExportedMail is a mail with an install link.
type ExportedMail struct {
	State string `json:"state" enum:"waiting,sent"`
	At    Time   `json:"at" doc:"When it was sent or is due. Sent mails are known for a day."`
}

// ExportedGooglePass is a pass in Google Wallet.
type ExportedGooglePass struct {
	Phones int64           `json:"phones" doc:"How often it was saved and not removed, as Google has told."`
	Shown  json.RawMessage `json:"shown" doc:"What Google was told last of the card; null: nothing yet."`
}

var (
	exportedCardCols = listedCardCols + ", " + cardProgramCols + `, c.source, ifnull(c.platform, ''), c.cycle, c.activated_at,
		c.locked_at, c.archived_at, c.last_stamp_at, c.updated_at, c.opening_stamps, c.initial_value,
		date(nullif(c.last_seen_day, 0)*86400, 'unixepoch'), ` + heldBeside("c", "cards", reflect.TypeFor[ExportedCard]())
	exportChainSQL = "SELECT " + exportedCardCols + ` FROM json_each(?) k CROSS JOIN cards c ON c.id=k.value
		JOIN programs p ON p.id=c.program_id`
	exportLedgerSQL = "SELECT " + transactionCols + `, t.occurred_at, t.client_reference, ifnull(t.metadata, 'null'), ` +
		heldBeside("t", "transactions", reflect.TypeFor[ExportedTransaction]()) + ` FROM json_each(?) k
		CROSS JOIN transactions t ON t.card_id=k.value JOIN locations l ON l.id=t.location_id LIMIT ?`
	exportClaimsSQL = `SELECT x.card_id, x.cycle, x.threshold, x.prize_id, z.name, x.transaction_id FROM json_each(?) k
		CROSS JOIN claims x ON x.card_id=k.value JOIN prizes z ON z.id=x.prize_id`
)

func (g IDs) scanExported(r *rows, key int64, now Time) ExportedCard {
	c := ExportedCard{Card: g.scanCard(r, key, now).Card}
	c.scanProgram(r)
	r.scan(&c.Source, &c.Platform, &c.Cycle, &c.ActivatedAt, &c.LockedAt, &c.ArchivedAt, &c.LastStampAt, &c.UpdatedAt,
		&c.Opening, &c.FirstValue, &c.LastVisit, (*[]byte)(&c.Held.Held))
	return c
}

// exportChain returns everything about the holder of a chain, whose cards have the keys, the first one
// first.
func (v *View) exportChain(keys []int64) (x ChainExport) {
	chain := jsonKeys(keys)
	x.Cards = collect(v, func(r *rows) ExportedCard {
		v.seeEpoch(r.int())
		return v.scanExported(r, r.int(), v.Now)
	}, exportChainSQL, chain)
	x.Transactions = collect(v, func(r *rows) ExportedTransaction {
		v.seeEpoch(r.int())
		return ExportedTransaction{v.scanTransaction(r, r.int()), r.nullTime(), r.nullStr(), json.RawMessage(r.str()), Held{r.bytes()}}
	}, exportLedgerSQL, chain, maxDayRows)
	x.Complete = len(x.Transactions) < maxDayRows
	x.Claims = collect(v, func(r *rows) ExportedClaim {
		return ExportedClaim{v.ID(KindCard, r.int()), r.int(), r.int(), v.ID(KindPrize, r.int()), r.str(), v.nullID(KindTransaction,
			r.nullInt())}
	}, exportClaimsSQL, chain)
	v.one(into((*[]byte)(&x.Contact)), "SELECT "+heldByChain(), keys[0])
	x.Consent = v.cardConsent(keys[0])
	x.GooglePasses = collect(v, func(r *rows) ExportedGooglePass { return ExportedGooglePass{r.int(), json.RawMessage(r.str())} },
		"SELECT saved, ifnull(nullif(told, '')->'$.shown', 'null') FROM google_objects WHERE card_id=? ORDER BY generation", keys[0])
	x.Mails = collect(v, func(r *rows) ExportedMail { return ExportedMail{r.str(), r.time()} },
		"SELECT 'sent', sent_at FROM sent_mails WHERE card_id=?1 UNION ALL SELECT 'waiting', due_at FROM mails WHERE card_id=?1", keys[0])
	return x
}

// ExportFilter selects a page of the cards of an export.
type ExportFilter struct {
	PageQuery
	ListFilter
	CardIDs Opt[string] `json:"card_ids" max:"4000" doc:"Only these cards: their ids, separated by commas."`
}

// ExportCards returns a page of the shop's cards with all that is known of them, newest
// first.
func (v *View) ExportCards(shop int64, f ExportFilter) (Page[ExportedCard], error) {
	w := v.selectCards(listExport, shop, f.ProgramID, Opt[string]{}, Opt[string]{})
	w.join = " JOIN programs p ON p.id=c.program_id"
	if f.CardIDs.Set {
		var keys []int64
		for id := range strings.SplitSeq(f.CardIDs.V, ",") {
			keys = append(keys, v.keyOrNone(KindCard, id))
		}
		w.replaceIndex("c.id IN (SELECT value FROM json_each(?))", jsonKeys(keys))
	}
	v.filterRoots(shop, f.ListFilter, rootOfCard, &w.filters)
	v.filterCards(f.ListFilter, &w.filters)
	return page(v, w, f.PageQuery, exportedCardCols,
		func(r *rows, key int64) ExportedCard { return v.scanExported(r, key, v.Now) })
}
