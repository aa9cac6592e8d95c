package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// GetToday returns what the shop did so far today, beside the same weekday before, and
// what needs attention.
var GetToday = declare(kernel.Operation{
	ID:      "getToday",
	Group:   analytics,
	Title:   "Read what happens today",
	Callers: viewer,
	Read:    ofCaller((*store.View).Today),
})

// GetDayReport returns the ledger of a day by type, till and program.
var GetDayReport = declare(kernel.Operation{
	ID:      "getDayReport",
	Group:   analytics,
	Title:   "Read the report of a day",
	Callers: viewer,
	Codes:   notFound,
	Read:    query((*store.View).DayReport),
})

// GetPeriod returns what happened in a period, by day and by location.
var GetPeriod = declare(kernel.Operation{
	ID:      "getPeriod",
	Group:   analytics,
	Title:   "Read what happened in a period",
	Callers: viewer,
	Read:    query((*store.View).Period),
})

// Health is the state of the file, and what an operator may have to see to in it.
type Health struct {
	File store.FileHealth `json:"file"`
	// CardIDDevices are tills that can act on any card whose id they know.
	CardIDDevices []store.ShopDevice `json:"card_id_devices" doc:"Devices whose writes may name a card by its id; at most 100."`
	AppleEnds     []store.AppleEnd   `json:"apple_ends" doc:"Shops whose certificates for Apple Wallet have ended or end within 30 days; at most 100."`
}

// GetHealth returns the state of the server's file. What only the process knows of itself is not among it.
var GetHealth = declare(kernel.Operation{
	ID:      "getHealth",
	Group:   shops,
	Title:   "Read the state of the server",
	Callers: operator,
	Read: kernel.ReadPlain(func(v *store.View, _ *kernel.Call) (h Health, err error) {
		if h.File, err = v.Health(); err == nil {
			h.CardIDDevices, err = v.DevicesThatAcceptIDs()
		}
		if err == nil {
			h.AppleEnds, err = v.AppleEnds()
		}
		return h, err
	}),
})

// GetMoneyReport returns the money on prepaid cards on each day of a month.
var GetMoneyReport = declare(kernel.Operation{
	ID:      "getMoneyReport",
	Group:   analytics,
	Title:   "Get the money of a month",
	Callers: viewer,
	Read:    query((*store.View).Money),
})
