package wallettest

import (
	"slices"
	"sync"
)

// maxNotices is how many notices a phone keeps.
const maxNotices = 100

// PhoneState is what a phone has.
type PhoneState struct {
	Passes  []HeldPass
	Notices []string        // what it has told its owner in English, the last 100
	Problem string          // what it complained of last
	Arrived int64           // how many times a pass has arrived, the first times included
	Changed <-chan struct{} // closed when a pass arrives or the phone complains

	changed chan struct{}
}

// HeldPass is a pass on a phone.
type HeldPass struct {
	*Pass
	LastModified string
	Label        string // that Add was called with
}

// holding is the state of a phone, which may be read while it changes.
type holding struct {
	mu    sync.Mutex
	state PhoneState
}

// State returns what the phone has now.
func (p *holding) State() PhoneState {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := *p.current()
	s.Passes, s.Notices = slices.Clone(s.Passes), slices.Clone(s.Notices)
	return s
}

// current returns the state. The caller holds mu.
func (p *holding) current() *PhoneState {
	if p.state.changed == nil {
		p.state.changed = make(chan struct{})
		p.state.Changed = p.state.changed
	}
	return &p.state
}

// change changes the state, and tells those who wait for that.
func (p *holding) change(do func(*PhoneState)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.current()
	do(s)
	close(s.changed)
	s.changed = nil
}

// keep adds a pass, or replaces an older one.
func (p *holding) keep(h HeldPass) {
	p.change(func(s *PhoneState) {
		s.Arrived++
		i := slices.IndexFunc(s.Passes, func(old HeldPass) bool { return old.Serial == h.Serial && old.PassType == h.PassType })
		if i < 0 {
			s.Passes = append(s.Passes, h)
			return
		}
		s.notify(h.Notices(s.Passes[i].Pass, "en")...)
		s.Passes[i] = h
	})
}

// tell tells the owner of the phone something.
func (p *holding) tell(notice string) { p.change(func(s *PhoneState) { s.notify(notice) }) }

func (s *PhoneState) notify(notices ...string) {
	s.Notices = append(s.Notices, notices...)
	s.Notices = s.Notices[max(0, len(s.Notices)-maxNotices):]
}
