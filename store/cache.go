package store

import "sync"

// epochCache caches values by key until the auth epoch changes. A write that changes
// any of them changes the epoch in the same transaction. So a caller that reads the
// epoch together with a row may use the values cached for that epoch: they are those
// of the file at that moment.
type epochCache[V any] struct {
	mu    sync.RWMutex
	epoch int64
	m     map[int64]V
}

// cacheSize is the most entries of a cache, which is emptied when it is full.
const cacheSize = 4096

func (k *epochCache[V]) get(epoch, key int64) (v V, ok bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.epoch == epoch {
		v, ok = k.m[key]
	}
	return v, ok
}

// put caches v, which was read at the epoch. The value is shared from now on and must
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

func (q *queries) readLocations(shop int64) shopLocations {
	list := shopLocations{all: map[int64]NamedLocation{}}
	for r := range q.each("SELECT id, name, disabled_at IS NULL FROM locations WHERE shop_id=? ORDER BY name, id", shop) {
		key, name, enabled := r.int(), r.str(), r.bool()
		l := NamedLocation{q.ID(KindLocation, key), name}
		list.all[key] = l
		if enabled {
			list.keys = append(list.keys, key)
			list.named = append(list.named, l)
		}
	}
	return list
}

// readCached returns the cached value of a key for a reader that read the epoch, or the one that read
// returns. Outside a snapshot the read fails with ErrEpoch if the epoch has changed since.
func readCached[V any](v *View, k *epochCache[V], epoch, key int64, read func() V) V {
	if have, ok := k.get(epoch, key); ok {
		return have
	}
	v.snapshot()
	value := read()
	if v.number("SELECT auth_epoch FROM meta") != epoch {
		v.fail(ErrEpoch)
	}
	if v.failed == nil {
		k.put(epoch, key, value)
	}
	return value
}

// cachedLocations returns a shop's locations.
func (v *View) cachedLocations(shop, epoch int64) shopLocations {
	return readCached(v, &v.s.locations, epoch, shop, func() shopLocations { return v.readLocations(shop) })
}

// cachedProgram returns a program with its ladder, also a deleted one.
func (v *View) cachedProgram(shop, key, epoch int64) *program {
	return readCached(v, &v.s.programs, epoch, key, func() *program { return v.programByKey(shop, key) })
}

// readThrough returns the cached value of a key, or the one that read returns. The
// writer caches only what it reads before its group changes the epoch, since such a
// change may be rolled back.
func readThrough[V any](tx *Tx, k *epochCache[V], key int64, read func() V) V {
	if have, ok := k.get(tx.s.epoch, key); ok {
		return have
	}
	v := read()
	if tx.failed == nil && tx.s.epoch == tx.s.groupEpoch {
		k.put(tx.s.epoch, key, v)
	}
	return v
}

func (tx *Tx) cachedLocations(shop int64) shopLocations {
	return readThrough(tx, &tx.s.locations, shop, func() shopLocations { return tx.readLocations(shop) })
}

func (tx *Tx) cachedProgram(shop, key int64) *program {
	return readThrough(tx, &tx.s.programs, key, func() *program { return tx.programByKey(shop, key) })
}

func (tx *Tx) cachedShop(shop int64) Shop {
	return readThrough(tx, &tx.s.shops, shop, func() Shop { return tx.shop(shop) })
}

// programByKey reads a program with its ladder, also a deleted one.
func (q *queries) programByKey(shop, key int64) *program {
	p := q.readProgram(programByKeySQL, key, shop)
	return &p
}
