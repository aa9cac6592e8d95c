package store

// HolderCard is a card as its holder sees it. Its Transactions are the last 50.
type HolderCard struct {
	Lookup
	PageToken     string     // of the card's page
	PageURL       string     // of the card's page; of passes alone
	Code          string     // what the QR code holds
	ShortCode     string     // what the holder can read out, in its normal form; empty: see ShortCodeOfLink
	LinkExpiresAt Null[Time] // when the install link ends; null: the card was found by the token of its page
	Shop          Shop
	LogoHash      Null[string] // of the program's logo; null: none was uploaded
	Texts         Localized    // of the program
	PrizeTexts    map[string]Localized
	Addresses     []Address // of Card.Locations, of the first maxAddresses
	Asked         DataRequests
	HasPass       bool // the shop makes passes for Apple Wallet; its certificate has not ended
	HasGoogle     bool // the shop has set up Google Wallet
}

// Localized has the translations of a name and a description, by language.
type Localized struct {
	Names, Descriptions map[string]string
}

// Address is the address of a location, whose parts may be empty.
type Address struct {
	Name, Street, PostalCode, City string
	Latitude, Longitude            float64 // in degrees; both 0: not known
}

// The bounds of what a card's page shows.
const (
	holderTransactions = 50
	maxAddresses       = 30
)

// pageToken returns the token of a chain's page. It is valid until the next reissue,
// like the content of the QR code, and neither can be made from the other.
func (s *Store) pageToken(root, generation int64) string {
	return string(s.seal(nil, kindCardPage, uint64(generation), root))
}

// pageURL returns the URL of the page of a shop's chain.
func (q *queries) pageURL(shop, root, generation int64) string {
	return q.PublicURLOf(shop) + "/c/" + q.s.pageToken(root, generation)
}

// isPageToken reports whether a token is that of a page rather than an install link.
func isPageToken(token string) bool { return len(token) == blockLen }

// chainByPageToken finds the chain of a page. A token that a reissue ended is refused
// as gone.
func (q *queries) chainByPageToken(token string) (shop, root int64, err error) {
	generation, root, ok := q.openAny(kindCardPage, token)
	if !ok {
		return 0, 0, notFound("card")
	}
	var now int64
	err = q.find("card", into(&shop, &now), "SELECT shop_id, code_generation FROM cards WHERE id=? AND deleted_at IS NULL", root)
	if err == nil {
		err = q.closing(shop).Refuse(false)
	}
	if err == nil && now != int64(generation) {
		err = refuse(Gone, "This link was replaced by a newer one. Ask the shop for a new one.")
	}
	return shop, root, err
}

// errEnded refuses a card that is archived.
var errEnded = refuse(Gone, "This card has ended. Ask the shop for a new one.")

// CardPage returns the card of a page by its token, in every status but archived, which
// is refused as gone.
func (v *View) CardPage(token string) (h HolderCard, err error) {
	v.snapshot()
	shop, root, err := v.livePage(token)
	if err != nil {
		return h, err
	}
	return v.holderCard(shop, root)
}

// PageOfCard returns what CardPage returns, for the chain of a card of a shop.
func (v *View) PageOfCard(shop int64, id string) (h HolderCard, err error) {
	v.snapshot()
	root := v.queries.rootOf(shop, id)
	if root == 0 {
		return h, notFound("card")
	}
	return v.holderCard(shop, root)
}

// HolderCard returns the card of an install link. Unless it is installed, its status
// must permit that.
func (v *View) HolderCard(token string) (h HolderCard, err error) {
	v.snapshot()
	shop, root, until, err := v.cardByInstallToken(token)
	if err != nil {
		return h, err
	}
	if h, err = v.holderCard(shop, root); err != nil {
		return h, err
	}
	h.LinkExpiresAt = Some(until)
	if h.Card.InstalledAt.Valid && h.Card.Status != StatusArchived {
		return h, nil
	}
	return h, checkInstallable(h.Card.Status)
}

// WatchedCard returns the root of the chain of a page, for OnCards. It refuses what
// CardPage refuses.
func (v *View) WatchedCard(token string) (root int64, err error) {
	v.snapshot()
	_, root, err = v.livePage(token)
	return root, err
}

// livePage finds the chain of a page, and refuses what CardPage refuses.
func (q *queries) livePage(token string) (shop, root int64, err error) {
	if shop, root, err = q.chainByPageToken(token); err != nil {
		return shop, root, err
	}
	if q.number("SELECT count(*) FROM cards WHERE archived_at IS NULL AND "+inChain, root, root) == 0 {
		err = errEnded
	}
	return shop, root, err
}

// holderCard reads all that the holder of a chain sees, inside a snapshot.
func (v *View) holderCard(shop, root int64) (h HolderCard, err error) {
	var chain *card
	if h.Lookup, chain, err = v.lookupRoot(Till{Shop: shop}, root, holderTransactions); err != nil {
		return h, err
	}
	h.PageToken, h.Code, h.ShortCode = v.s.pageToken(root, chain.generation), v.s.cardCode(root, chain.generation), chain.shortCode.V
	h.Shop = v.shop(shop)
	h.Asked = v.dataRequests(root)
	h.HasPass = v.number("SELECT EXISTS (SELECT 1 FROM apple_wallets WHERE shop_id=? AND not_after>=?)", shop, v.Now) > 0
	h.HasGoogle = v.GoogleWallet(shop).IsSet()
	h.LogoHash, h.Texts, h.PrizeTexts = v.programTexts(chain.program)
	for _, l := range h.Card.Locations[:min(len(h.Card.Locations), maxAddresses)] {
		a := Address{Name: l.Name}
		v.one(into(&a.Street, &a.PostalCode, &a.City, &a.Latitude, &a.Longitude),
			"SELECT address, postal_code, city, lat, lon FROM locations WHERE id=?", v.keyOrNone(KindLocation, l.ID))
		h.Addresses = append(h.Addresses, a)
	}
	return h, nil
}

// cardChanged notes that the page of a chain shows something else after this write.
func (tx *Tx) cardChanged(root int64) {
	tx.cardShowsOther(root, tx.number("SELECT copies FROM cards WHERE id=?", root))
}

// cardShowsOther does the same as cardChanged for a chain whose copies are known. After the commit
// the function of OnCards is called.
func (tx *Tx) cardShowsOther(root, copies int64) {
	tx.changedCards = append(tx.changedCards, root)
	if copies != 0 {
		tx.queuePushes(root, copies)
	}
}

// OnCards has f called after each commit with the roots of the chains that it changed. f
// must be quick and must not write: the writer waits for it. Other processes' commits
// and changes of programs are not announced.
func (s *Store) OnCards(f func(roots []int64)) { s.onCards.Store(&f) }
