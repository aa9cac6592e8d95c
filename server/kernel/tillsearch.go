package kernel

import (
	"sync"
	"time"

	"punchcard/store"
)

// The most searches of a device.
const (
	searchesPerMinute = 20
	searchesPerDay    = 200
)

// searches are the times of the searches that devices made within a day, oldest first.
type searches struct {
	mu      sync.Mutex
	devices map[int64][]store.Time
}

// take counts a search of a device, and refuses one over the rates.
func (s *searches) take(device int64, now store.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	times := s.devices[device]
	for len(times) > 0 && times[0].Add(24*time.Hour) <= now {
		times = times[1:]
	}
	wait := time.Duration(0)
	if n := len(times); n >= searchesPerDay {
		wait = times[0].Add(24 * time.Hour).Std().Sub(now.Std())
	} else if n >= searchesPerMinute {
		wait = times[n-searchesPerMinute].Add(time.Minute).Std().Sub(now.Std())
	}
	if wait > 0 {
		return refuseLocked("The device has searched too often; scan the card's code or type it.", wait)
	}
	if s.devices == nil {
		s.devices = map[int64][]store.Time{}
	}
	s.devices[device] = append(times, now)
	return nil
}
