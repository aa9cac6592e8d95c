package main

import "sync"

// phone is a phone of the fixture that has the pass of a card.
type phone struct {
	m    *member
	ID   string
	lost bool // the process ended that had the phone
}

// shown is a line of phones.jsonl: what the pass of a card on a phone shows at the end.
type shown struct {
	Card     string            `json:"card"`
	Platform string            `json:"platform"`
	Gone     bool              `json:"gone"`
	Shows    map[string]string `json:"shows"`
}

// addPhone puts the card of a member on a phone.
func (y *year) addPhone(m *member) {
	p := &phone{m: m}
	body := map[string]any{"card_id": m.first, "platform": m.platform}
	if err := y.need(y.control(), "POST", "/wallet/phones", body, p); err != nil {
		y.fault("%v", err)
		return
	}
	y.count("card on a phone: " + m.platform)
	y.mu.Lock()
	defer y.mu.Unlock()
	y.phones = append(y.phones, p)
}

// readPhones writes what all phones show.
func (y *year) readPhones() error {
	file, err := newRecorder(y.path("phones.jsonl"))
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			for n := i; n < len(y.phones); n += clients {
				y.readPhone(y.phones[n], file)
			}
		})
	}
	wait.Wait()
	return file.close()
}

// readPhone writes what a phone shows.
func (y *year) readPhone(p *phone, file *recorder) {
	var state struct {
		Passes []struct {
			Voided bool
			Fields []struct{ Key, Value string }
		}
	}
	if err := y.need(y.control(), "GET", "/wallet/phones/"+p.ID, nil, &state); err != nil {
		y.fault("%v", err)
		return
	}
	s := shown{p.m.first, p.m.platform, len(state.Passes) == 0, map[string]string{}}
	for _, pass := range state.Passes {
		s.Gone = s.Gone || pass.Voided
		for _, f := range pass.Fields {
			s.Shows[f.Key] = f.Value
		}
	}
	file.write(s)
}
