package store

// CardOverview is all that a person sees of a card: what a till sees of it, and what
// became of its links.
type CardOverview struct {
	Lookup
	Chain                []ChainCard  `json:"chain" doc:"All cards that overflowed from one another, oldest first."`
	Source               string       `json:"source" enum:"api,counter,web_enrollment,overflow,import" doc:"How the first of them was made."`
	Platform             Null[string] `json:"platform" enum:"apple,google"`
	ShortCode            Null[string] `json:"short_code" doc:"Null if the card is archived."`
	Code                 Null[string] `json:"code" viewer:"hidden" doc:"What the QR code holds; null if the card is archived."`
	InstallLinkExpiresAt Null[Time]   `json:"install_link_expires_at" doc:"Null if there is no link that can be opened."`
	MailDueAt            Null[Time]   `json:"mail_due_at" doc:"When the waiting mail with the link is due; null: none waits."`
	MailedAt             []Time       `json:"mailed_at" doc:"The mails of the last day, newest first."`
	Asked                DataRequests `json:"asked" doc:"What the holder asks the shop for."`
	Phones               int64        `json:"phones" doc:"That have its pass for Apple Wallet."`
	GooglePhones         int64        `json:"google_phones" doc:"That have it in Google Wallet."`
	Browsers             int64        `json:"browsers" doc:"That show notices about it."`
}

// ChainCard is a card of a chain.
type ChainCard struct {
	ID          string     `json:"id"`
	Status      string     `json:"status" enum:"active,locked,invited,archived,expired"`
	StampsCount int64      `json:"stamps_count"`
	CreatedAt   Time       `json:"created_at"`
	ActivatedAt Null[Time] `json:"activated_at"`
	LockedAt    Null[Time] `json:"locked_at"`
	ArchivedAt  Null[Time] `json:"archived_at"`
}

// CardOverview returns the overview of a card's chain.
func (v *View) CardOverview(shop int64, id string) (o CardOverview, err error) {
	v.snapshot()
	cards, _ := v.readChain(nil, chainOfCardSQL, v.keyOrNone(KindCard, id), shop)
	if len(cards) == 0 {
		return o, notFound("card")
	}
	if o.Lookup, err = v.Lookup(Till{Shop: shop}, id); err != nil {
		return o, err
	}
	for _, c := range cards {
		o.Chain = append(o.Chain, ChainCard{c.ID, c.Status, c.StampsCount, c.CreatedAt, c.activatedAt, c.lockedAt, c.archivedAt})
	}
	root := cards[0].key
	if o.Card.Status != StatusArchived {
		o.ShortCode, o.Code = cards[0].shortCode, Some(v.s.cardCode(root, cards[0].generation))
	}
	v.one(into(&o.Source, &o.Platform, &o.InstallLinkExpiresAt),
		`SELECT source, ifnull(platform, ''), iif(install_hash IS NOT NULL
				AND install_expires_at>?2, install_expires_at, NULL) FROM cards WHERE id=?1`, root, v.Now)
	o.Asked = v.dataRequests(root)
	v.one(into(&o.MailDueAt), "SELECT due_at FROM mails WHERE card_id=?", root)
	o.MailedAt = collect(v, (*rows).time, "SELECT sent_at FROM sent_mails WHERE card_id=? ORDER BY id DESC LIMIT 20", root)
	v.one(into(&o.Phones, &o.GooglePhones, &o.Browsers), `SELECT (SELECT count(*) FROM apple_devices WHERE card_id=?1 AND generation=?2),
		ifnull((SELECT saved FROM google_objects WHERE card_id=?1 AND generation=?2), 0),
		(SELECT count(*) FROM push_subscriptions WHERE card_id=?1)`, root, cards[0].generation)
	return o, v.failed
}
