package store

import "sync"

// epochCache caches values by key for as long as the auth epoch stays. A write
// that changes any of them moves the epoch in its own transaction. So a caller
// who reads the epoch together with a row may use what is cached for that epoch:
// it is what the file said at that moment.
type epochCache[V any] struct {
	mu    sync.RWMutex
	epoch int64
	m     map[int64]V
}

// cacheSize is the most entries of a cache. Beyond it the cache is emptied.
const cacheSize = 4096

func (k *epochCache[V]) get(epoch, key int64) (v V, ok bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.epoch == epoch {
		v, ok = k.m[key]
	}
	return v, ok
}

// put caches v, which was read as of the epoch. It is shared from now on and must
// not be changed.
func (k *epochCache[V]) put(epoch, key int64, v V) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case epoch < k.epoch:
		return
	case epoch > k.epoch || k.m == nil || len(k.m) >= cacheSize:
		k.epoch, k.m = epoch, map[int64]V{}
	}
	k.m[key] = v
}

// shopLocations are a shop's locations.
type shopLocations struct {
	keys  []int64         // the enabled ones, by name, then id
	named []NamedLocation // the same
	all   map[int64]NamedLocation
}

// locationSource returns a shop's locations as of an auth epoch.
type locationSource func(c *conn, shop, epoch int64) (shopLocations, error)

func (s *Store) readLocations(c *conn, shop int64) (shopLocations, error) {
	list := shopLocations{all: map[int64]NamedLocation{}}
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

// cachedLocations are a shop's locations for a reader that saw the epoch.
func (s *Store) cachedLocations(c *conn, shop, epoch int64) (shopLocations, error) {
	if have, ok := s.locations.get(epoch, shop); ok {
		return have, nil
	}
	list, err := s.readLocations(c, shop)
	if err != nil {
		return list, err
	}
	// This read came after the one that gave the epoch: keep it only if no
	// change fell between the two.
	now, err := c.number("SELECT auth_epoch FROM meta")
	if err == nil && now == epoch {
		s.locations.put(epoch, shop, list)
	}
	return list, err
}

// cachedProgram is a program with its ladder for a reader that saw the epoch. A
// deleted one is still found. Outside a snapshot it may find that the epoch has
// moved on.
func (v *View) cachedProgram(shop, key, epoch int64) (p *program, err error) {
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

func readThrough[V any](tx *Tx, k *epochCache[V], key int64, read func() (V, error)) (V, error) {
	if have, ok := k.get(tx.s.epoch, key); ok {
		return have, nil
	}
	v, err := read()
	if err == nil && tx.s.epoch == tx.s.began {
		k.put(tx.s.epoch, key, v)
	}
	return v, err
}

func (tx *Tx) cachedLocations(shop int64) (shopLocations, error) {
	return readThrough(tx, &tx.s.locations, shop, func() (shopLocations, error) { return tx.s.readLocations(tx.conn, shop) })
}

func (tx *Tx) cachedProgram(shop, key int64) (*program, error) {
	return readThrough(tx, &tx.s.programs, key, func() (*program, error) { return tx.s.programByKey(tx.conn, shop, key) })
}

func (tx *Tx) cachedShop(shop int64) (Shop, error) {
	return readThrough(tx, &tx.s.shops, shop, func() (Shop, error) { return tx.s.shop(tx.conn, shop) })
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
