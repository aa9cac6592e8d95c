package punchtest_test

import (
	"errors"
	"fmt"
	"log"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"punchcard/server/punchtest"
)

// Example issues and stamps a card. A test calls punchtest.Start(t) instead of the first five
// lines.
func Example() {
	s, err := punchtest.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	card := s.Issue(s.Programs["standard"], punchtest.CardFields{ExternalRef: "member-17"})
	stamped := s.Till(s.Locations[0]).Stamp(card.ID, 3)
	fmt.Println(stamped.Card.ExternalRef, "has", stamped.Card.StampsCount, "stamps")
	// Output: member-17 has 3 stamps
}

// ExampleStart is the body of a test. The server stops at the end of the test.
func ExampleStart() {
	var t *testing.T // of func TestExpiry(t *testing.T)

	s := punchtest.Start(t, punchtest.RateLimit(600))
	card := s.Issue(s.Programs["access"], punchtest.CardFields{ExpiresAt: s.Clock.Now().AddDate(0, 1, 0)})
	s.Clock.Advance(32 * 24 * time.Hour)
	if status := s.Card(card.ID).Status; status != "expired" {
		t.Errorf("after a month the card is %s", status)
	}
}

// ExampleServer_Webhook verifies a webhook with the package of Standard Webhooks, as a receiver does in production.
// That of Stripe verifies the header X-Service-Signature.
func ExampleServer_Webhook() {
	s, err := punchtest.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	hook := s.Receiver() // or the URL of the code under test
	_, secret := s.Webhook(s.Programs["standard"], hook.URL, "card.*")
	s.Issue(s.Programs["standard"], punchtest.CardFields{HolderName: "Ada"})

	d := hook.Wait("card.added")
	verifier, err := standardwebhooks.NewWebhook(secret)
	fmt.Println(err, verifier.Verify(d.Body, d.Header))
	// Output: <nil> <nil>
}

func ExampleReceiver_Wait() {
	s, err := punchtest.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	hook := s.Receiver()
	_, secret := s.Webhook(s.Programs["standard"], hook.URL, "stamp.assigned")
	card := s.Issue(s.Programs["standard"], punchtest.CardFields{})
	s.Till(s.Locations[0]).Stamp(card.ID, 2)

	d := hook.Wait("stamp.assigned")
	var envelope struct {
		Data struct {
			StampsDelta int `json:"stamps_delta"`
		}
	}
	fmt.Println(d.Verify(secret), d.Decode(&envelope), envelope.Data.StampsDelta)
	// Output: <nil> <nil> 2
}

// ExampleReceiver_Replay sends a program the events of a card twice, the last one first. Here
// another receiver is in the place of the program.
func ExampleReceiver_Replay() {
	s, err := punchtest.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	hook, program := s.Receiver(), s.Receiver()
	s.Webhook(s.Programs["standard"], hook.URL, "card.added", "stamp.assigned")
	card := s.Issue(s.Programs["standard"], punchtest.CardFields{})
	s.Till(s.Locations[0]).Stamp(card.ID, 2)
	s.Settle()
	for _, one := range hook.Replay(program.URL, punchtest.Replay{Reversed: true, Copies: 2}) {
		fmt.Println(one.Copy, one.Event, one.Status)
	}
	// Output:
	// 1 stamp.assigned 200
	// 1 card.added 200
	// 2 stamp.assigned 200
	// 2 card.added 200
}

// ExamplePhone_Await stamps a card that is on a phone.
func ExamplePhone_Await() {
	s, err := punchtest.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	card := s.Issue(s.Programs["standard"], punchtest.CardFields{})
	phone := s.Phone("apple")
	fmt.Println(phone.Add(card.ID).Field("count"))
	s.Till(s.Locations[0]).Stamp(card.ID, 3)
	fmt.Println(phone.Await(card.ID, "count", "3/10").Field("count"), phone.Notices())
	// Output:
	// 0/10
	// 3/10 [You have 3/10 stamps.]
}

// ExampleServer_Phone locks a card whose holder has lost it. The pass on the phone is void then.
func ExampleServer_Phone() {
	s, err := punchtest.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	card := s.Issue(s.Programs["prepaid"], punchtest.CardFields{})
	phone := s.Phone("google")
	fmt.Println(phone.Add(card.ID).Voided)
	s.Lock(card.ID)
	s.Settle()
	fmt.Println(phone.Passes()[0].Voided)
	// Output:
	// false
	// true
}

// ExampleSeed begins with the shop of a file, whose ids are found by their refs.
func ExampleSeed() {
	s, err := punchtest.New(punchtest.Seed("../../testdata/seeds/bakery.json"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	for _, prize := range s.Prizes(s.Refs["loaf-card"]) {
		fmt.Println(prize.Threshold, prize.Name)
	}
	// Output:
	// 4 Seeded roll
	// 8 Sourdough loaf
}

func ExampleServerClock_Advance() {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	s, err := punchtest.New(punchtest.Clock(at))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	card := s.Issue(s.Programs["access"], punchtest.CardFields{ExpiresAt: at.AddDate(0, 1, 0)})
	fmt.Println(s.Card(card.ID).Status)
	s.Clock.Advance(31 * 24 * time.Hour)
	fmt.Println(s.Card(card.ID).Status)
	// Output:
	// invited
	// expired
}

func ExampleTill_Try() {
	s, err := punchtest.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	card := s.Issue(s.Programs["prepaid"], punchtest.CardFields{})
	till := s.Till(s.Locations[0])
	till.TopUp(card.ID, 1000)
	_, err = till.Try().Spend(card.ID, 1050)
	var refused *punchtest.Error
	fmt.Println(errors.As(err, &refused), refused.Status, refused.Code)
	// Output: true 422 prepaid_insufficient_balance
}

// ExampleServer_Fault lets an answer be lost after the effect. With the same Idempotency-Key the
// client gets the answer.
func ExampleServer_Fault() {
	s, err := punchtest.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	s.Fault(punchtest.Fault{Method: "POST", Path: "/programs/*/cards", Status: 503, When: punchtest.After})
	for range 2 {
		r := s.Do("POST", "/programs/"+s.Programs["standard"]+"/cards", s.APIKey, `{}`, "Idempotency-Key", "import-row-17")
		fmt.Printf("%d, replayed: %q\n", r.Status, r.Header.Get("Idempotent-Replayed"))
	}
	fmt.Println(len(s.Requests()), "requests")
	// Output:
	// 503, replayed: ""
	// 201, replayed: "true"
	// 2 requests
}
