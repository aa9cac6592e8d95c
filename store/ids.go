package store

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base32"
	"encoding/binary"
)

// Kind says what an id names.
type Kind byte

// The kinds of ids. The numbers are inside every id and audit row: they never
// change.
const (
	KindShop Kind = iota + 1
	KindProgram
	KindPrize
	KindCard
	KindLocation
	KindTransaction
	KindWebhook
	KindDelivery
	KindEvent
	KindKey
	KindUser
	KindDevice
	KindRequest
	kindInstall   // first half of an install token
	kindCursor    // plus the list's number, below
	kindCode      // plus the generation: what a QR code holds
	kindShortCode // plus generation and attempt: its beginning is a short code
	KindSession
	KindLink
	KindStaff
	kindRestore  // extra: of which restore; see restoreID
	kindCardPage // plus the generation: the token of a card's page
	kindHeldCode // plus the generation and the last day; see HoldCode
	KindImport
	KindCardRun
	kindPushKey   // plus attempt and half: see PushKey
	kindPass      // plus the generation: the serial number of a pass
	kindPassToken // plus the generation: what a phone that has the pass presents
)

// prefixes begin the ids of rows. What is no id has none.
var prefixes = [...]string{
	KindShop: "shp_", KindProgram: "prg_", KindPrize: "prz_", KindCard: "crd_", KindLocation: "loc_",
	KindTransaction: "txn_", KindWebhook: "whk_", KindDelivery: "dlv_", KindEvent: "evt_", KindKey: "key_",
	KindUser: "usr_", KindDevice: "dev_", KindRequest: "req_", KindSession: "ses_", KindLink: "lnk_", KindStaff: "stf_",
	KindImport: "imp_", KindCardRun: "run_",
	kindPassToken: "", // the last kind
}

const blockLen = 26 // characters of one AES block in base32

// codeAlphabet is that of Crockford's base32, in which no two characters look alike.
const codeAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

var alphabet = base32.NewEncoding(codeAlphabet).WithPadding(base32.NoPadding)

// IDs turns integer keys into opaque ids and back. An id is one AES block over (kind,
// extra, key) with a secret of the file. It needs no column and no index, does not
// show how many rows there are, and cannot be guessed.
type IDs struct {
	block cipher.Block
	// programIDs and locationIDs cache ids, at epoch 0: there are few of them, and every row of a
	// list contains them. BenchmarkList of server/app measures the effect.
	programIDs, locationIDs *epochCache[string]
}

func newIDs(secret []byte) (IDs, error) {
	b, err := aes.NewCipher(secret)
	return IDs{b, &epochCache[string]{}, &epochCache[string]{}}, err
}

// seal appends the text of (kind, extra, key) to dst. Only the lowest 56 bits of extra count.
func (g IDs) seal(dst []byte, kind Kind, extra uint64, key int64) []byte {
	var plain [16]byte
	binary.BigEndian.PutUint64(plain[:8], extra)
	plain[0] = byte(kind)
	binary.BigEndian.PutUint64(plain[8:], uint64(key))
	g.block.Encrypt(plain[:], plain[:])
	return alphabet.AppendEncode(dst, plain[:])
}

// open reverses seal. It accepts only texts that seal made: a forged text would have
// to match the eight bytes of kind and extra.
func (g IDs) open(kind Kind, extra uint64, text string) (key int64, ok bool) {
	have, key, ok := g.openAny(kind, text)
	return key, ok && have == extra&(1<<56-1)
}

// openAny is open for a text whose extra is not known; the caller must check it.
func (g IDs) openAny(kind Kind, text string) (extra uint64, key int64, ok bool) {
	if len(text) != blockLen {
		return 0, 0, false
	}
	var buf [17]byte
	n, err := alphabet.Decode(buf[:], []byte(text))
	if err != nil || n != 16 {
		return 0, 0, false
	}
	// The last character has two unused bits, so four texts decode alike.
	var canonical [blockLen]byte
	alphabet.Encode(canonical[:], buf[:16])
	if string(canonical[:]) != text {
		return 0, 0, false
	}
	g.block.Decrypt(buf[:16], buf[:16])
	head := binary.BigEndian.Uint64(buf[:8])
	key = int64(binary.BigEndian.Uint64(buf[8:16]))
	return head & (1<<56 - 1), key, head>>56 == uint64(kind) && key > 0
}

// openInstall returns the root of the chain of an install token. The rest of the token must be checked.
func (g IDs) openInstall(token string) (root int64, ok bool) {
	if len(token) != 2*blockLen {
		return 0, false
	}
	return g.open(kindInstall, 0, token[:blockLen])
}

// ID returns the public id of a row.
func (g IDs) ID(kind Kind, key int64) string {
	var cache *epochCache[string]
	switch kind {
	case KindProgram:
		cache = g.programIDs
	case KindLocation:
		cache = g.locationIDs
	default:
		return g.newID(kind, 0, key)
	}
	id, ok := cache.get(0, key)
	if !ok {
		id = g.newID(kind, 0, key)
		cache.put(0, key, id)
	}
	return id
}

// idsOf appends the ids of rows to a list.
func (g IDs) idsOf(kind Kind, keys []int64, ids []string) []string {
	for _, key := range keys {
		ids = append(ids, g.ID(kind, key))
	}
	return ids
}

// into returns a function that reads a key and sets an id, for scan.
func (g IDs) into(kind Kind, id *string) func(*rows) {
	return func(r *rows) { *id = g.ID(kind, r.int()) }
}

// nullID is ID of a key that may be null.
func (g IDs) nullID(kind Kind, key Null[int64]) (id Null[string]) {
	if key.Valid {
		id = Some(g.ID(kind, key.V))
	}
	return id
}

// newID makes an id: the prefix of its kind and a sealed block.
func (g IDs) newID(kind Kind, extra uint64, key int64) string {
	var buf [4 + blockLen]byte
	return string(g.seal(append(buf[:0], prefixes[kind]...), kind, extra, key))
}

// openID reverses newID.
func (g IDs) openID(kind Kind, extra uint64, id string) (key int64, ok bool) {
	p := prefixes[kind]
	if len(id) != len(p)+blockLen || id[:len(p)] != p {
		return 0, false
	}
	return g.open(kind, extra, id[len(p):])
}

// Key returns the key of the row that a public id names. ok is false for any text
// that is not an id of this file and kind. The row need not exist.
func (g IDs) Key(kind Kind, id string) (key int64, ok bool) { return g.openID(kind, 0, id) }

// keyOrNone returns the key that an id names, or -1, which no row has.
func (g IDs) keyOrNone(kind Kind, id string) int64 {
	if key, ok := g.Key(kind, id); ok {
		return key
	}
	return -1
}

// cursor makes a cursor of the key at which a page ends and, in a list that is not in the order of keys, its place of at most
// 16 bits. It is bound to its list and shop, so that a cursor of another list or shop is refused like a forged one.
func (g IDs) cursor(list byte, shop, place, key int64) string {
	return string(g.seal(nil, kindCursor, cursorExtra(list, shop, place), key))
}

// cursorExtra returns the extra bits of a cursor. They have the lowest 32 bits of the shop, which differ between the shops of a file.
func cursorExtra(list byte, shop, place int64) uint64 {
	return uint64(list)<<48 | uint64(place)<<32 | uint64(uint32(shop))
}

// openCursor reverses cursor.
func (g IDs) openCursor(list byte, shop int64, cursor string) (place, key int64, err error) {
	extra, key, ok := g.openAny(kindCursor, cursor)
	place = int64(extra >> 32 & 0xffff)
	if !ok || extra != cursorExtra(list, shop, place) {
		return 0, 0, errCursor
	}
	return place, key, nil
}

// deliveryID makes an id of a webhook's delivery of an event: KindDelivery for the id
// in the log, KindEvent for the receiver's event_id.
func (g IDs) deliveryID(kind Kind, webhook, event int64) string {
	return g.newID(kind, uint64(webhook), event)
}

// DeliveryID returns the id of a delivery in its webhook's log.
func (g IDs) DeliveryID(webhook, event int64) string {
	return g.deliveryID(KindDelivery, webhook, event)
}

// DeliveryKey returns the event of a delivery by its id in the webhook's log. ok is
// false for any other text.
func (g IDs) DeliveryKey(webhook int64, id string) (event int64, ok bool) {
	return g.openID(KindDelivery, uint64(webhook), id)
}
