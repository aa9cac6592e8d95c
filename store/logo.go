package store

import (
	"crypto/sha256"
	"encoding/hex"

	"punchcard/store/event"
)

// Logo is a picture that pages show, under a name that depends on its content.
type Logo struct {
	Hash        string `json:"hash"`
	ContentType string `json:"content_type"`
	Bytes       []byte `json:"-"`
}

// NewLogo returns a PNG as a logo.
func NewLogo(png []byte) Logo {
	sum := sha256.Sum256(png)
	return Logo{hex.EncodeToString(sum[:16]), "image/png", png}
}

// Logo returns a logo by its hash.
func (v *View) Logo(hash string) (l Logo, err error) {
	l.Hash = hash
	err = v.find(
		"logo",
		func(r *rows) { l.ContentType, l.Bytes = r.str(), append([]byte(nil), r.bytes()...) },
		"SELECT content_type, bytes FROM logos WHERE hash=?",
		hash,
	)
	return l, err
}

// CheckProgramLogo refuses a program that is not there or whose logo is frozen.
func (v *View) CheckProgramLogo(shop int64, id string) error {
	p, err := v.program(Access{Shop: shop}, id)
	if err == nil && p.HasInstalledCards {
		err = errInstalled
	}
	return err
}

// SetProgramLogo gives a program a logo, or takes it away if l is nil. Like the other
// fields of its template, the logo is frozen once a card was installed.
func (tx *Tx) SetProgramLogo(shop int64, id string, l *Logo) (d ProgramDetail, err error) {
	a := Access{Shop: shop}
	p, err := tx.program(a, id)
	if err != nil {
		return d, err
	}
	if p.HasInstalledCards {
		return d, errInstalled
	}
	old, hash := Null[string]{}, Null[string]{}
	tx.one(into(&old), "SELECT ifnull(logo_hash, '') FROM programs WHERE id=?", p.key)
	if l != nil {
		hash = Some(l.Hash)
	}
	if hash == old {
		return p.ProgramDetail, tx.failed
	}
	if l != nil {
		tx.exec("INSERT OR IGNORE INTO logos (hash, content_type, bytes) VALUES (?,?,?)", l.Hash, l.ContentType, l.Bytes)
	}
	tx.exec("UPDATE programs SET logo_hash=?, updated_at=? WHERE id=?", hash, tx.Now, p.key)
	tx.dropLogo(old)
	return tx.recordProgramChange(a, p.key, "program.update", event.ProgramUpdated)
}

// dropLogo deletes a logo that no program has any longer.
func (tx *Tx) dropLogo(hash Null[string]) {
	if hash.Valid {
		tx.exec("DELETE FROM logos WHERE hash=?1 AND NOT EXISTS (SELECT 1 FROM programs WHERE logo_hash=?1)", hash.V)
	}
}
