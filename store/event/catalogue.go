// Package event contains what a webhook event is, without storage or transport:
// the catalogue of 26 events, the rules by which subscriptions match them, and
// the exact bytes of the v1 and v2 envelopes. Scrub erases a holder from stored
// bodies.
package event

import (
	"slices"
	"strings"
)

// Name is the name of an event, such as "card.added".
type Name string

// The 26 events, in the order of the catalogue.
const (
	CardAdded                Name = "card.added"
	CardRegistered           Name = "card.registered"
	StampAssigned            Name = "stamp.assigned"
	PrizeRedeemed            Name = "prize.redeemed"
	ValueChanged             Name = "value.changed"
	TransactionReversed      Name = "transaction.reversed"
	CardUsed                 Name = "card.used"
	CardExpired              Name = "card.expired"
	TransactionCreated       Name = "transaction.created"
	CardActivated            Name = "card.activated"
	CardReissued             Name = "card.reissued"
	CardArchived             Name = "card.archived"
	CardDeleted              Name = "card.deleted"
	ProgramCreated           Name = "program.created"
	ProgramUpdated           Name = "program.updated"
	ProgramPublished         Name = "program.published"
	ProgramUnpublished       Name = "program.unpublished"
	ProgramSuspended         Name = "program.suspended"
	ProgramUnsuspended       Name = "program.unsuspended"
	ProgramDeleted           Name = "program.deleted"
	LocationCreated          Name = "location.created"
	LocationUpdated          Name = "location.updated"
	LocationDisabled         Name = "location.disabled"
	LocationEnabled          Name = "location.enabled"
	SubscriptionStateChanged Name = "subscription.state_changed"
	TestPing                 Name = "test.ping"
)

// Info is one row of the catalogue.
type Info struct {
	Name Name
	// Sends is false for events that can be subscribed to but are only sent in a
	// deployment with Limits.PreviewEvents.
	Sends bool
	// ShopWide is true for the 17 events that have no location for the filter by
	// locations; include_shop_wide_events decides about them.
	ShopWide bool
	// Programless is true for the events that never match a filter by programs.
	Programless bool
	// Fields are the keys of data, in the order they are written.
	Fields []string
	Doc    string

	// Which objects the v2 envelope contains; the others are null. See Has.
	location, program, card, transaction, actor bool
}

const (
	notYet      = false
	sends       = true
	anyLocation = false
	shopWide    = true
)

// table is the catalogue: 26 events, 25 subscribable, 14 sending, 17 shop-wide.
var table = []Info{
	row(CardAdded, sends, anyLocation,
		"A card instance was created: the holder enrolled or activated, or a full card overflowed into a new one.",
		"card_instance_id", "parent_card_instance_id", "source"),
	row(CardRegistered, sends, shopWide, "A holder installed the card. Registering it again does not fire it again.",
		"card_instance_id", "platform"),
	row(StampAssigned, sends, anyLocation, "A stamp scan awarded stamps.",
		"card_instance_id", "stamps_delta", "stamps_count", "transaction_id"),
	row(PrizeRedeemed, sends, anyLocation, "A prize was redeemed.",
		"card_instance_id", "prize_id", "prize_label", "transaction_id"),
	row(ValueChanged, sends, anyLocation, "A prepaid balance moved.",
		"card_instance_id", "tx_type", "delta", "balance", "transaction_id"),
	row(TransactionReversed, sends, anyLocation, "A transaction was reversed.",
		"original_transaction_id", "reversal_transaction_id", "card_instance_id", "reversed_delta"),
	row(CardUsed, sends, anyLocation, "An access card was presented and accepted at a till or door.",
		"card_instance_id", "transaction_id", "program_type"),
	row(CardExpired, notYet, anyLocation, "A card was presented after its expiry, or expiry was applied.",
		"card_instance_id", "transaction_id", "expired_at"),
	row(TransactionCreated, sends, anyLocation, "The firehose: one event per transaction of any type.",
		"transaction_id", "card_instance_id", "tx_type", "stamps_delta", "value_delta"),
	row(CardActivated, sends, shopWide, "A card instance became active.", "card_instance_id"),
	row(CardReissued, sends, shopWide, "A card was reissued.", "card_instance_id"),
	row(CardArchived, sends, shopWide, "A card was archived; its history is kept.", "card_instance_id"),
	row(CardDeleted, sends, shopWide, "A card was deleted; its personal data is erased, from past delivery payloads too.",
		"card_instance_id"),
	row(ProgramCreated, notYet, shopWide, "A program was created.", "program_id"),
	row(ProgramUpdated, notYet, shopWide, "A program was updated.", "program_id"),
	row(ProgramPublished, notYet, shopWide, "A program was published.", "program_id"),
	row(ProgramUnpublished, notYet, shopWide, "A program was unpublished; existing cards keep working.", "program_id"),
	row(ProgramSuspended, notYet, shopWide, "A program was suspended.", "program_id"),
	row(ProgramUnsuspended, notYet, shopWide, "A program's suspension ended.", "program_id"),
	row(ProgramDeleted, notYet, shopWide, "A program was deleted, which only an operator can do.", "program_id"),
	row(LocationCreated, sends, shopWide, "A location was created.", "location_id"),
	row(LocationUpdated, notYet, shopWide, "A location was updated.", "location_id"),
	row(LocationDisabled, notYet, shopWide, "A location was disabled; its cards stop being usable there.", "location_id"),
	row(LocationEnabled, notYet, shopWide, "A location was enabled.", "location_id"),
	row(SubscriptionStateChanged, sends, shopWide, "The shop's subscription state changed. Delivered even while the shop is suspended.",
		"from_state", "to_state", "reason"),
	row(TestPing, sends, anyLocation, "A test send to one webhook. Never fires by itself and cannot be subscribed to.",
		"message", "sample"),
}

var (
	byName = index()
	// prefixes are those that a subscription may name before ".*", in the order of
	// the catalogue: card, stamp, prize, and so on, but not test.
	prefixes = collectPrefixes()
)

// row returns a row of the table. It derives the objects of the envelope from the
// event's family and from the ids among its fields.
func row(n Name, sends, shopWide bool, doc string, fields ...string) Info {
	family := n.prefix()
	ping := n == TestPing
	return Info{
		Name: n, Sends: sends, ShopWide: shopWide, Fields: fields, Doc: doc,
		Programless: family == "location" || family == "subscription" || ping,
		location:    family == "location" || !shopWide && !ping,
		program:     family != "location" && family != "subscription" && !ping,
		card:        slices.Contains(fields, "card_instance_id"),
		transaction: slices.Contains(fields, "transaction_id") || n == TransactionReversed,
		actor:       !ping,
	}
}

// index returns the rows of the table by name.
func index() map[Name]*Info {
	m := make(map[Name]*Info, len(table))
	for i := range table {
		m[table[i].Name] = &table[i]
	}
	return m
}

// collectPrefixes returns the prefixes of the subscribable events, each once.
func collectPrefixes() []string {
	var out []string
	for _, n := range Subscribable() {
		if p := n.prefix(); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// prefix returns the part of the name before the dot.
func (n Name) prefix() string {
	p, _, _ := strings.Cut(string(n), ".")
	return p
}

// All returns the catalogue. The caller must not change the Fields.
func All() []Info { return slices.Clone(table) }

// Lookup returns the catalogue's row for n.
func Lookup(n Name) (Info, bool) {
	if in, ok := byName[n]; ok {
		return *in, true
	}
	return Info{}, false
}

// Subscribable returns the 25 events that a webhook may name: all but test.ping.
func Subscribable() []Name {
	var out []Name
	for _, in := range table {
		if in.Name != TestPing {
			out = append(out, in.Name)
		}
	}
	return out
}

// Has reports whether v2 envelopes of the event can contain an object: location,
// program, card, transaction or actor. It panics for any other name.
func (in Info) Has(object string) bool {
	switch object {
	case "location":
		return in.location
	case "program":
		return in.program
	case "card":
		return in.card
	case "transaction":
		return in.transaction
	case "actor":
		return in.actor
	}
	panic("event: envelopes have no object " + object)
}
