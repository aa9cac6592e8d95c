package event

import "strconv"

// Data is the data object of an envelope. Each type below writes exactly the
// fields that the catalogue lists for its events, in that order. A nil pointer is
// written as null.
type Data interface {
	appendTo(b []byte) []byte
	fits(n Name) bool
}

// CardAddedData is the data of card.added. ParentCardInstanceID is nil unless
// a full card overflowed; Source is api, counter, web_enrollment or overflow.
type CardAddedData struct {
	CardInstanceID       string
	ParentCardInstanceID *string
	Source               string
}

// CardRegisteredData is the data of card.registered. Platform is apple or google.
type CardRegisteredData struct {
	CardInstanceID string
	Platform       string
}

// StampAssignedData is the data of stamp.assigned; StampsCount is the count
// after the stamp.
type StampAssignedData struct {
	CardInstanceID string
	StampsDelta    int64
	StampsCount    int64
	TransactionID  string
}

// PrizeRedeemedData is the data of prize.redeemed.
type PrizeRedeemedData struct {
	CardInstanceID string
	PrizeID        string
	PrizeLabel     string
	TransactionID  string
}

// ValueChangedData is the data of value.changed. Delta and Balance are in
// cents; Balance is the one after the change.
type ValueChangedData struct {
	CardInstanceID string
	TxType         string
	Delta          int64
	Balance        int64
	TransactionID  string
}

// TransactionReversedData is the data of transaction.reversed. ReversedDelta
// is the delta of the reversal row, 0 where it has none.
type TransactionReversedData struct {
	OriginalTransactionID string
	ReversalTransactionID string
	CardInstanceID        string
	ReversedDelta         int64
}

// CardUsedData is the data of card.used.
type CardUsedData struct {
	CardInstanceID string
	TransactionID  string
	ProgramType    string
}

// CardExpiredData is the data of card.expired. ExpiredAt is an ISO 8601 UTC
// date-time, already formatted.
type CardExpiredData struct {
	CardInstanceID string
	TransactionID  string
	ExpiredAt      string
}

// TransactionCreatedData is the data of transaction.created. ValueDelta is in
// cents; a delta that the row does not have is nil.
type TransactionCreatedData struct {
	TransactionID  string
	CardInstanceID string
	TxType         string
	StampsDelta    *int64
	ValueDelta     *int64
}

// CardData is the data of card.activated, card.reissued, card.archived and
// card.deleted.
type CardData struct{ CardInstanceID string }

// ProgramData is the data of all program events.
type ProgramData struct{ ProgramID string }

// LocationData is the data of all location events.
type LocationData struct{ LocationID string }

// SubscriptionStateChangedData is the data of subscription.state_changed. The
// states are active, past_due, suspended and cancelled.
type SubscriptionStateChangedData struct {
	FromState string
	ToState   string
	Reason    string
}

// TestPingData is the data of test.ping; its sample is always true.
type TestPingData struct{ Message string }

func (CardAddedData) fits(n Name) bool           { return n == CardAdded }
func (CardRegisteredData) fits(n Name) bool      { return n == CardRegistered }
func (StampAssignedData) fits(n Name) bool       { return n == StampAssigned }
func (PrizeRedeemedData) fits(n Name) bool       { return n == PrizeRedeemed }
func (ValueChangedData) fits(n Name) bool        { return n == ValueChanged }
func (TransactionReversedData) fits(n Name) bool { return n == TransactionReversed }
func (CardUsedData) fits(n Name) bool            { return n == CardUsed }
func (CardExpiredData) fits(n Name) bool         { return n == CardExpired }
func (TransactionCreatedData) fits(n Name) bool  { return n == TransactionCreated }
func (CardData) fits(n Name) bool {
	return n == CardActivated || n == CardReissued || n == CardArchived || n == CardDeleted
}
func (ProgramData) fits(n Name) bool  { return n.prefix() == "program" }
func (LocationData) fits(n Name) bool { return n.prefix() == "location" }
func (SubscriptionStateChangedData) fits(n Name) bool {
	return n == SubscriptionStateChanged
}
func (TestPingData) fits(n Name) bool { return n == TestPing }

func (d CardAddedData) appendTo(b []byte) []byte {
	b = field(b, `{"card_instance_id":`, d.CardInstanceID)
	b = nullable(b, `,"parent_card_instance_id":`, d.ParentCardInstanceID)
	return append(field(b, `,"source":`, d.Source), '}')
}

func (d CardRegisteredData) appendTo(b []byte) []byte {
	b = field(b, `{"card_instance_id":`, d.CardInstanceID)
	return append(field(b, `,"platform":`, d.Platform), '}')
}

func (d StampAssignedData) appendTo(b []byte) []byte {
	b = field(b, `{"card_instance_id":`, d.CardInstanceID)
	b = number(b, `,"stamps_delta":`, d.StampsDelta)
	b = number(b, `,"stamps_count":`, d.StampsCount)
	return append(field(b, `,"transaction_id":`, d.TransactionID), '}')
}

func (d PrizeRedeemedData) appendTo(b []byte) []byte {
	b = field(b, `{"card_instance_id":`, d.CardInstanceID)
	b = field(b, `,"prize_id":`, d.PrizeID)
	b = field(b, `,"prize_label":`, d.PrizeLabel)
	return append(field(b, `,"transaction_id":`, d.TransactionID), '}')
}

func (d ValueChangedData) appendTo(b []byte) []byte {
	b = field(b, `{"card_instance_id":`, d.CardInstanceID)
	b = field(b, `,"tx_type":`, d.TxType)
	b = number(b, `,"delta":`, d.Delta)
	b = number(b, `,"balance":`, d.Balance)
	return append(field(b, `,"transaction_id":`, d.TransactionID), '}')
}

func (d TransactionReversedData) appendTo(b []byte) []byte {
	b = field(b, `{"original_transaction_id":`, d.OriginalTransactionID)
	b = field(b, `,"reversal_transaction_id":`, d.ReversalTransactionID)
	b = field(b, `,"card_instance_id":`, d.CardInstanceID)
	return append(number(b, `,"reversed_delta":`, d.ReversedDelta), '}')
}

func (d CardUsedData) appendTo(b []byte) []byte {
	b = field(b, `{"card_instance_id":`, d.CardInstanceID)
	b = field(b, `,"transaction_id":`, d.TransactionID)
	return append(field(b, `,"program_type":`, d.ProgramType), '}')
}

func (d CardExpiredData) appendTo(b []byte) []byte {
	b = field(b, `{"card_instance_id":`, d.CardInstanceID)
	b = field(b, `,"transaction_id":`, d.TransactionID)
	return append(field(b, `,"expired_at":`, d.ExpiredAt), '}')
}

func (d TransactionCreatedData) appendTo(b []byte) []byte {
	b = field(b, `{"transaction_id":`, d.TransactionID)
	b = field(b, `,"card_instance_id":`, d.CardInstanceID)
	b = field(b, `,"tx_type":`, d.TxType)
	b = nullableNumber(b, `,"stamps_delta":`, d.StampsDelta)
	return append(nullableNumber(b, `,"value_delta":`, d.ValueDelta), '}')
}

func (d CardData) appendTo(b []byte) []byte {
	return append(field(b, `{"card_instance_id":`, d.CardInstanceID), '}')
}

func (d ProgramData) appendTo(b []byte) []byte {
	return append(field(b, `{"program_id":`, d.ProgramID), '}')
}

func (d LocationData) appendTo(b []byte) []byte {
	return append(field(b, `{"location_id":`, d.LocationID), '}')
}

func (d SubscriptionStateChangedData) appendTo(b []byte) []byte {
	b = field(b, `{"from_state":`, d.FromState)
	b = field(b, `,"to_state":`, d.ToState)
	return append(field(b, `,"reason":`, d.Reason), '}')
}

func (d TestPingData) appendTo(b []byte) []byte {
	return append(field(b, `{"message":`, d.Message), `,"sample":true}`...)
}

// field appends a string member. Like nullable, number and nullableNumber it
// takes all that comes before the value as one literal, with its punctuation.
func field(b []byte, key, v string) []byte { return appendString(append(b, key...), v) }

func nullable(b []byte, key string, v *string) []byte {
	b = append(b, key...)
	if v == nil {
		return append(b, "null"...)
	}
	return appendString(b, *v)
}

func number(b []byte, key string, v int64) []byte {
	return strconv.AppendInt(append(b, key...), v, 10)
}

func nullableNumber(b []byte, key string, v *int64) []byte {
	if v == nil {
		return append(append(b, key...), "null"...)
	}
	return number(b, key, *v)
}
