package backup

import (
	"context"
	"fmt"

	"punchcard/store"
)

// Split copies a shop whose move has begun from the database db, which may be served, to the new file
// to: with its ids, codes and secrets and the accounts of its members, and without anything of other
// shops. The file, of mode 0600, is verified and complete, or does not exist. Its errors are one line that
// names it.
//
// A shop is moved in four steps: its writes are refused (store.Tx.BeginMove), Split copies it, the copy
// is verified, and everything about the shop leads to its new address (store.Tx.FinishMove). After a
// failure at any point the steps can be repeated, or the move aborted. Whether the file to is the
// complete copy of this move is seen by the time at which the move began.
func Split(ctx context.Context, db, to string, shop int64, url string, began store.Time, o Options) (err error) {
	if db, err = store.CheckPath(db, true); err != nil {
		return err
	}
	if store.CopiedAt(ctx, to, shop) == began {
		return nil
	}
	if err := checkTarget(db, to, false); err != nil {
		return err
	}
	p, err := newPartial(to)
	if err != nil {
		return err
	}
	defer p.discard()
	defer o.Progress.End()
	rows, err := store.CopyShop(ctx, db, p.path, shop, url, o.Progress)
	if err != nil {
		return copyError(ctx, to, db, err)
	}
	if o.Quick {
		err = verify(ctx, p.path, to, store.Integrity, o.Progress)
	} else {
		err = verifyAtOnce(ctx, p.path, to, o.Progress)
	}
	if err == nil {
		err = store.CompareCopy(p.path, rows)
	}
	if err != nil {
		return verifyError(ctx, to, err)
	}
	o.Progress.Begin("writing to the disk")
	if err := store.SetHeader(p.path, store.WithLog, true); err != nil {
		return copyError(ctx, to, db, err)
	}
	if err := checkTarget(db, to, false); err != nil { // it may have been created meanwhile
		return err
	}
	return p.commit()
}

// CheckSplit returns an error if a shop of db cannot be copied to the file to. It cannot say whether the disk has enough space.
func CheckSplit(db, to string) error {
	db, err := store.CheckPath(db, true)
	if err != nil {
		return err
	}
	if err := checkTarget(db, to, false); err != nil {
		return fmt.Errorf("%w; a shop is moved to a new file", err)
	}
	p, err := newPartial(to)
	if err == nil {
		p.discard()
	}
	return err
}
