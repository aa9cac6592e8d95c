package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// eventsCase is a till and a program with two webhooks: one for the specific events and one for the
// firehose, transaction.created, since no webhook may have both.
type eventsCase struct {
	till
	program string
	prizes  []string
	last    int64 // the key of the last event that fires or skip has seen
}

func startEvents(t *testing.T, fields ProgramFields, previews bool, thresholds ...int64) *eventsCase {
	limits := DefaultLimits()
	limits.PreviewEvents = previews
	f := start(t, Options{Limits: limits})
	c := &eventsCase{till: f.till()}
	c.program, c.prizes = c.ladderOf(fields, thresholds...)
	f.hook(c.program, hookFields{events: []string{"*"}})
	f.hook(c.program, hookFields{events: []string{"transaction.created"}})
	return c
}

// skip leaves the events that were fired out of what fires compares.
func (c *eventsCase) skip() { c.last = c.number("SELECT ifnull(max(id), 0) FROM events") }

// newCard issues a card whose event fires does not compare.
func (c *eventsCase) newCard() string {
	defer c.skip()
	return c.card(c.program)
}

// fires compares the events that an action, which was made just before, has fired, in order. Each line of want has the event's
// name, the index and state of its card, and the event's data. The index is that in cards, which new
// cards follow. "here" ends the line of an event that has the till's location but no transaction.
func (c *eventsCase) fires(what string, cards []string, want ...string) {
	c.t.Helper()
	for _, key := range c.lines("SELECT id FROM cards ORDER BY id") {
		var n int64
		fmt.Sscan(key, &n)
		if id := c.ID(KindCard, n); !slices.Contains(cards, id) {
			cards = append(cards, id)
		}
	}
	var got []string
	for _, line := range c.lines("SELECT CAST(payload_v2 AS TEXT) FROM events WHERE id>? ORDER BY id", c.last) {
		var e struct {
			Event       string
			Location    *struct{ ID string }
			Transaction *struct{ ID, Type string }
			Card        *struct{ ID, State string }
			Data        map[string]any
		}
		succeed(json.Unmarshal([]byte(line), &e))
		text := fmt.Sprintf("%s #%d %s", e.Event, slices.Index(cards, e.Card.ID), e.Card.State)
		for _, field := range []string{
			"tx_type", "stamps_delta", "stamps_count", "value_delta", "reversed_delta", "delta", "balance", "source",
			"program_type",
		} {
			if v, ok := e.Data[field]; ok {
				text += fmt.Sprintf(" %s=%v", field, v)
			}
		}
		here := e.Location != nil && e.Location.ID == c.location
		if row := e.Data["transaction_id"] != nil || e.Data["reversal_transaction_id"] != nil; row != (e.Transaction != nil) ||
			row && !here {
			c.t.Errorf("%s: %s has transaction %v and location %v", what, line, e.Transaction, e.Location)
		}
		if e.Transaction == nil && here {
			text += " here"
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("%s fired\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// The firehose has its event for each row. The other webhook has all other events, and those of
	// rows without a specific event.
	if n := c.number(`SELECT count(*) FROM (SELECT name, (SELECT count(*) FROM deliveries WHERE event_id=e.id) AS sent FROM events e)
		WHERE sent=0 OR sent<>1 AND name<>'transaction.created'`); n > 0 {
		c.t.Errorf("%s: %d events were not sent, or to both webhooks", what, n)
	}
	c.skip()
}

func TestEventsOfStampPrograms(t *testing.T) {
	c := startEvents(t, expiring(30), false, 5, 10)
	root := c.atCounter(c.program, CounterFields{}).ID
	cards := []string{root}
	c.fires("issue at the counter", cards, "card.added #0 active source=counter here")
	c.reissue(root, ReissueFields{})
	c.skip()
	c.stamp(root, 21)
	c.fires("a refused stamp", cards)
	c.stamped(root, 9)
	c.fires("the first stamps", cards,
		"card.activated #0 active", "stamp.assigned #0 active stamps_delta=9 stamps_count=9",
		"transaction.created #0 active tx_type=stamp stamps_delta=9 value_delta=<nil>")
	over := c.stamped(root, 3)
	c.fires("an overflow", cards,
		"card.added #1 active source=overflow here",
		"stamp.assigned #0 active stamps_delta=1 stamps_count=10",
		"transaction.created #0 active tx_type=stamp stamps_delta=1 value_delta=<nil>",
		"stamp.assigned #1 active stamps_delta=2 stamps_count=2",
		"transaction.created #1 active tx_type=stamp stamps_delta=2 value_delta=<nil>",
	)
	cards = append(cards, over.OverflowCard.ID)
	c.reversed(over.OverflowTransaction.ID)
	c.fires("the reversal of the overflow", cards,
		"transaction.reversed #1 archived reversed_delta=-2",
		"transaction.created #1 archived tx_type=reversal stamps_delta=-2 value_delta=<nil>",
		"transaction.reversed #0 active reversed_delta=-1",
		"transaction.created #0 active tx_type=reversal stamps_delta=-1 value_delta=<nil>",
		"card.archived #1 archived",
	)
	redeemed := c.redeemed(root, c.prizes[0])
	c.fires("a redemption", cards, "prize.redeemed #0 active",
		"transaction.created #0 active tx_type=redemption stamps_delta=0 value_delta=<nil>")
	c.reversed(redeemed.Transaction.ID)
	c.fires("the reversal of the redemption", cards,
		"transaction.reversed #0 active reversed_delta=0",
		"transaction.created #0 active tx_type=reversal stamps_delta=0 value_delta=<nil>",
	)
	c.stamped(root, 4)
	cards = append(cards, c.lookup(root).Card.ID)
	c.skip()
	c.redeemed(root, c.prizes[1])
	c.fires("a redemption of the highest prize, with a child", cards,
		"prize.redeemed #0 archived",
		"transaction.created #0 archived tx_type=redemption stamps_delta=0 value_delta=<nil>",
		"card.archived #0 archived",
	)
	c.stamped(root, 7)
	c.skip()
	c.redeemed(root, c.prizes[1])
	c.fires("a redemption of the highest prize alone", cards,
		"prize.redeemed #2 active",
		"transaction.created #2 active tx_type=redemption stamps_delta=-10 value_delta=<nil>",
	)
	c.stamped(root, 2)
	c.skip()
	c.clock.move(days(30))
	// Expiry has no specific event that is sent, so both webhooks get the row's event.
	c.redeem(root, c.prizes[1])
	c.fires("stamps that expire beside a refusal", cards,
		"transaction.created #2 active tx_type=expiry stamps_delta=-2 value_delta=<nil>")
	out := c.issue(c.program, CardFields{})
	cards = append(cards, out.ID)
	check(c.install(out.InstallURL))
	c.fires("install", cards, "card.added #3 invited source=api", "card.activated #3 active", "card.registered #3 active")
	c.checkFile()
}

// TestCompleteCardArchivedLast checks that card.archived comes last, and that all events of a write
// have the state of their card at its end.
func TestCompleteCardArchivedLast(t *testing.T) {
	c := startEvents(t, repeating(), false)
	card := c.newCard()
	c.stamped(card, 12)
	c.fires("stamps over an invited card without prizes", []string{card},
		"card.activated #0 archived",
		"card.added #1 active source=overflow here",
		"stamp.assigned #0 archived stamps_delta=10 stamps_count=10",
		"transaction.created #0 archived tx_type=stamp stamps_delta=10 value_delta=<nil>",
		"stamp.assigned #1 active stamps_delta=2 stamps_count=2",
		"transaction.created #1 active tx_type=stamp stamps_delta=2 value_delta=<nil>",
		"card.archived #0 archived",
	)
}

func TestEventsOfOtherPrograms(t *testing.T) {
	c := startEvents(t, prepaid("Gift", 100), false)
	card := c.newCard()
	cards := []string{card}
	top := check(c.topUp(card, 50))
	c.fires(
		"a top-up",
		cards,
		"card.activated #0 active",
		"value.changed #0 active tx_type=topup delta=50 balance=150",
		"transaction.created #0 active tx_type=topup stamps_delta=<nil> value_delta=50",
	)
	spent := check(c.spend(card, 30))
	c.fires(
		"a spend",
		cards,
		"value.changed #0 active tx_type=spend delta=-30 balance=120",
		"transaction.created #0 active tx_type=spend stamps_delta=<nil> value_delta=-30",
	)
	c.reversed(spent.Transaction.ID)
	c.fires("a reversed spend", cards,
		"transaction.reversed #0 active reversed_delta=30",
		"value.changed #0 active tx_type=reversal delta=30 balance=150",
		"transaction.created #0 active tx_type=reversal stamps_delta=<nil> value_delta=30",
	)
	c.reversed(top.Transaction.ID)
	c.fires("a reversed top-up", cards,
		"transaction.reversed #0 active reversed_delta=-50",
		"value.changed #0 active tx_type=reversal delta=-50 balance=100",
		"transaction.created #0 active tx_type=reversal stamps_delta=<nil> value_delta=-50",
	)
	c.spend(card, 101)
	c.fires("a spend above the balance", cards)

	c = startEvents(t, access("Club"), false)
	card = c.newCard()
	used := check(c.use(card))
	c.fires(
		"entry",
		[]string{card},
		"card.activated #0 active",
		"card.used #0 active program_type=access",
		"transaction.created #0 active tx_type=access stamps_delta=<nil> value_delta=<nil>",
	)
	c.reversed(used.Transaction.ID)
	c.fires("a reversed entry", []string{card},
		"transaction.reversed #0 active reversed_delta=0",
		"transaction.created #0 active tx_type=reversal stamps_delta=<nil> value_delta=<nil>",
	)

	c = startEvents(t, discount("Off"), false)
	card = c.newCard()
	check(c.use(card))
	c.fires("a discount", []string{card},
		"card.activated #0 active", "transaction.created #0 active tx_type=discount stamps_delta=<nil> value_delta=<nil>")
}

// TestExpiryAfterNewCards checks that the events of stamps that expire come after those of the cards that the
// same write activates and adds.
func TestExpiryAfterNewCards(t *testing.T) {
	c := startEvents(t, expiring(1), true, 10)
	card := c.newCard()
	c.stamped(card, 9)
	c.reissue(card, ReissueFields{})
	c.skip()
	c.clock.move(days(2))
	c.stamped(card, 12)
	c.fires("an overflow of an invited card", []string{card},
		"card.activated #0 active",
		"card.added #1 active source=overflow here",
		"card.expired #0 active",
		"transaction.created #0 active tx_type=expiry stamps_delta=-9 value_delta=<nil>",
		"stamp.assigned #0 active stamps_delta=10 stamps_count=10",
		"transaction.created #0 active tx_type=stamp stamps_delta=10 value_delta=<nil>",
		"stamp.assigned #1 active stamps_delta=2 stamps_count=2",
		"transaction.created #1 active tx_type=stamp stamps_delta=2 value_delta=<nil>",
	)
}

// TestEventsOfExpiry checks the events of stamps and cards that expire: card.expired is sent only
// as a preview, and it has the time at which the card expired.
func TestEventsOfExpiry(t *testing.T) {
	t.Parallel()
	for _, previews := range []bool{false, true} {
		fields := stamps("Coffee")
		fields.StampsExpireAfterDays = setInt(1)
		c := startEvents(t, fields, previews)
		card := c.cardWith(c.program, CardFields{ExpiresAt: set(c.clock.at().Add(days(3)))})
		c.stamped(card, 2)
		c.skip()
		c.clock.move(days(2))
		want := []string{
			"transaction.created #0 active tx_type=expiry stamps_delta=-2 value_delta=<nil>",
			"stamp.assigned #0 active stamps_delta=1 stamps_count=1",
			"transaction.created #0 active tx_type=stamp stamps_delta=1 value_delta=<nil>",
		}
		gone := []string{"transaction.created #0 expired tx_type=expiry stamps_delta=<nil> value_delta=<nil>"}
		if previews {
			want, gone = append([]string{"card.expired #0 active"}, want...), append([]string{"card.expired #0 expired"}, gone...)
		}
		c.stamped(card, 1)
		c.fires("stamps", []string{card}, want...)
		expired := c.get(card).ExpiresAt.V
		c.clock.move(days(1) + time.Hour)
		c.stamp(card, 1)
		c.fires("the card", []string{card}, gone...)
		c.stamp(card, 1)
		c.fires("the card again", []string{card})
		if previews {
			got := c.lines("SELECT CAST(payload_v2 AS TEXT)->>'$.data.expired_at' FROM events WHERE name='card.expired' ORDER BY id")
			if len(got) != 2 || got[1] != expired.String() {
				t.Errorf("the times of card.expired are %v, want the second to be %v", got, expired)
			}
		}
	}
}
