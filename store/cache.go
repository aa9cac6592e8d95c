package store

import "sync"

// perEpoch holds what stays true while the auth epoch stands, by key. A write that
// changes any of it moves the epoch in its own transaction, so whoever learns
// the epoch together with his row may use what is kept for that epoch: it is
// what the file said at that moment.
type perEpoch[V any] struct {
	mu    sync.RWMutex
	epoch int64
	m     map[int64]V
}

// keptMost bounds the entries; beyond it all go and those in use come back.
const keptMost = 4096

func (k *perEpoch[V]) get(epoch, key int64) (v V, ok bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.epoch == epoch {
		v, ok = k.m[key]
	}
	return v, ok
}

// put keeps v, which was read as of the epoch and is shared from now on:
// nobody may change it.
func (k *perEpoch[V]) put(epoch, key int64, v V) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case epoch < k.epoch:
		return
	case epoch > k.epoch || k.m == nil || len(k.m) >= keptMost:
		k.epoch, k.m = epoch, map[int64]V{}
	}
	k.m[key] = v
}

// sites are a shop's locations.
type sites struct {
	keys  []int64         // the enabled ones, by name, then id
	named []NamedLocation // the same
	all   map[int64]NamedLocation
}

// siteSource gives them as of an auth epoch.
type siteSource func(c *conn, shop, epoch int64) (sites, error)

func (s *Store) readSites(c *conn, shop int64) (sites, error) {
	list := sites{all: map[int64]NamedLocation{}}
	r := c.query("SELECT "+columns("id", "name", "disabled_at IS NULL")+" FROM locations WHERE shop_id=? ORDER BY name, id", shop)
	for r.next() {
		key, name, enabled := r.int(), r.str(), r.bool()
		l := NamedLocation{s.ID(KindLocation, key), name}
		list.all[key] = l
		if enabled {
			list.keys = append(list.keys, key)
			list.named = append(list.named, l)
		}
	}
	return list, r.close()
}

// keptSites are a shop's locations for a reader that saw the epoch.
func (s *Store) keptSites(c *conn, shop, epoch int64) (sites, error) {
	if have, ok := s.sites.get(epoch, shop); ok {
		return have, nil
	}
	list, err := s.readSites(c, shop)
	if err != nil {
		return list, err
	}
	// This read came after the one that gave the epoch: keep it only if no
	// change fell between the two.
	now, err := c.number("SELECT auth_epoch FROM meta")
	if err == nil && now == epoch {
		s.sites.put(epoch, shop, list)
	}
	return list, err
}

// keptProgram is a program with its ladder for a reader that saw the epoch. A
// deleted one is still found. Outside a snapshot it may find that the epoch has
// moved on.
func (v *View) keptProgram(shop, key, epoch int64) (p *program, err error) {
	if have, ok := v.s.programs.get(epoch, key); ok {
		return have, nil
	}
	err = v.snapshot(func() error {
		if p, err = v.s.programByKey(v.conn, shop, key); err != nil {
			return err
		}
		now, err := v.number("SELECT auth_epoch FROM meta")
		if err == nil && now != epoch {
			err = ErrEpoch
		}
		return err
	})
	if err == nil {
		v.s.programs.put(epoch, key, p)
	}
	return p, err
}

// The writer uses what is kept as well. What it reads itself it keeps only
// while its group has changed none of it, since a change may yet be taken back.

func keptBy[V any](tx *Tx, k *perEpoch[V], key int64, read func() (V, error)) (V, error) {
	if have, ok := k.get(tx.s.epoch, key); ok {
		return have, nil
	}
	v, err := read()
	if err == nil && tx.s.epoch == tx.s.began {
		k.put(tx.s.epoch, key, v)
	}
	return v, err
}

func (tx *Tx) keptSites(shop int64) (sites, error) {
	return keptBy(tx, &tx.s.sites, shop, func() (sites, error) { return tx.s.readSites(tx.conn, shop) })
}

func (tx *Tx) keptProgram(shop, key int64) (*program, error) {
	return keptBy(tx, &tx.s.programs, key, func() (*program, error) { return tx.s.programByKey(tx.conn, shop, key) })
}

func (tx *Tx) keptShop(shop int64) (Shop, error) {
	return keptBy(tx, &tx.s.shops, shop, func() (Shop, error) { return tx.s.shop(tx.conn, shop) })
}

// programByKey finds a program that may have been deleted since.
func (s *Store) programByKey(c *conn, shop, key int64) (*program, error) {
	p := &program{}
	if _, err := c.one(func(r *rows) { s.scanWholeProgram(r, p) }, programByKeySQL, key, shop); err != nil {
		return nil, err
	}
	var err error
	p.Prizes, err = s.ladder(c, key)
	return p, err
}
