package store

import "os"

// FileHealth is the state of the file and of its queues.
type FileHealth struct {
	FileBytes             int64      `json:"file_bytes"`
	LogBytes              int64      `json:"log_bytes" doc:"Of the write-ahead log beside the file."`
	QueuedWrites          int64      `json:"queued_writes"`
	PendingDeliveries     int64      `json:"pending_deliveries" doc:"Counted to 10,000."`
	WaitingMails          int64      `json:"waiting_mails" doc:"Counted to 10,000."`
	WaitingPushes         int64      `json:"waiting_pushes" doc:"Cards whose notices are to be sent; counted to 10,000."`
	Shops                 int64      `json:"shops"`
	LiveCards             int64      `json:"live_cards"`
	LedgerRows            int64      `json:"ledger_rows" doc:"Without those that were reversed, reversals and expiries."`
	DeactivatedWebhooks   int64      `json:"deactivated_webhooks" doc:"Switched off, by people or by failures."`
	FailedPushes          int64      `json:"failed_pushes" doc:"Browsers and phones whose last push failed or was refused; counted to 10,000 of each."`
	OldestPendingDelivery Null[Time] `json:"oldest_pending_delivery" doc:"When the delivery that waits for its next attempt the longest was due."`
	OldestWaitingPush     Null[Time] `json:"oldest_waiting_push" doc:"When the push that waits the longest was due."`
	AppleCertificateEnds  Null[Time] `json:"apple_certificate_ends_at" doc:"When the first certificate for Apple Wallet ends; null: there is none."`
}

// ShopDevice is a device with what people know of it.
type ShopDevice struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Location string `json:"location" doc:"Its name."`
	Shop     string `json:"shop" doc:"Its name."`
}

// maxDevices is the maximum number of devices in Health.
const maxDevices = 100

// DevicesThatAcceptIDs returns the devices of all shops whose writes may name a card by
// its id, newest first, at most 100.
func (v *View) DevicesThatAcceptIDs() ([]ShopDevice, error) {
	return collect(v, func(r *rows) ShopDevice {
		return ShopDevice{ID: v.ID(KindDevice, r.int()), Name: r.str(), Location: r.str(), Shop: r.str()}
	}, `SELECT d.id, d.name, l.name, s.name FROM devices d JOIN locations l ON l.id=d.location_id JOIN shops s ON s.id=d.shop_id
		WHERE d.accepts_card_ids=1 AND d.revoked_at IS NULL ORDER BY d.id DESC LIMIT ?`, maxDevices), v.failed
}

const maxQueued = 10_000

// Health returns the state of the file.
func (v *View) Health() (h FileHealth, err error) {
	h.QueuedWrites = int64(v.s.QueuedWrites())
	for suffix, size := range map[string]*int64{"": &h.FileBytes, "-wal": &h.LogBytes} {
		if info, err := os.Stat(v.s.path + suffix); err == nil {
			*size = info.Size()
		}
	}
	v.snapshot()
	h.PendingDeliveries, _ = v.CountPendingDeliveries(maxQueued) // the errors are those of v
	h.WaitingMails, _ = v.CountMails(maxQueued)
	h.WaitingPushes, _ = v.CountPushes(maxQueued)
	v.one(
		into(&h.Shops, &h.LiveCards, &h.LedgerRows, &h.DeactivatedWebhooks, &h.OldestWaitingPush, &h.AppleCertificateEnds),
		`SELECT (SELECT count(*) FROM shops), (SELECT ifnull(sum(live_cards), 0) FROM shops),
			(SELECT ifnull(sum(activity), 0) FROM day_counts),
			(SELECT count(*) FROM webhooks WHERE active=0 AND deleted_at IS NULL), (SELECT min(due_at) FROM pushes),
			(SELECT min(not_after) FROM apple_wallets WHERE not_after IS NOT NULL)`,
	)
	for _, table := range targetTables {
		h.FailedPushes += v.number("SELECT count(*) FROM (SELECT 1 FROM "+table+
			" WHERE outcome>'' AND outcome<>'sent' AND outcome<>'held' LIMIT ?)", maxQueued)
	}
	v.one(into(&h.OldestPendingDelivery),
		"SELECT min(due_at) FROM (SELECT due_at FROM deliveries WHERE outcome IS NULL AND due_at IS NOT NULL LIMIT ?)", maxQueued)
	return h, v.failed
}
