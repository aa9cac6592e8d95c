package main

import (
	"strings"
	"time"
)

// phone is a phone of the fixture that has the pass of a card.
type phone struct {
	ID    string
	start int64 // number of the start of the process that has the phone
}

// shown is a line of phones.jsonl: what the pass of a card on a phone shows at the end.
type shown struct {
	Card     string            `json:"card"`
	Platform string            `json:"platform"`
	Gone     bool              `json:"gone"`
	Shows    map[string]string `json:"shows"`
}

// addPhone puts the card of a member on a phone, unless it is on one that the server's process has.
func (y *year) addPhone(m *member) {
	p := &phone{start: y.server.starts.Load()}
	if m.phone != nil && m.phone.start == p.start {
		return
	}
	body := map[string]any{"card_id": m.first, "platform": m.platform}
	err := y.need(y.control(), "POST", "/wallet/phones", body, p)
	for n := 0; n < 100 && err != nil && strings.Contains(err.Error(), "the server answers 503"); n++ {
		time.Sleep(50 * time.Millisecond) // after a kill all members do so at once
		err = y.need(y.control(), "POST", "/wallet/phones", body, p)
	}
	if err != nil {
		y.fault("%v", err)
		return
	}
	if m.phone == nil {
		y.count("card on a phone: " + m.platform)
	}
	m.phone = p
}

// readPhones writes what all phones show.
func (y *year) readPhones() error {
	file, err := newRecorder(y.path("phones.jsonl"))
	if err != nil {
		return err
	}
	for _, m := range y.members {
		if m.phone != nil {
			y.readPhone(m, file)
		}
	}
	return file.close()
}

// readPhone writes what the phone of a member shows. That of a process that was killed is put on a new phone first, unless the card
// is gone.
func (y *year) readPhone(m *member, file *recorder) {
	if !m.gone {
		y.addPhone(m)
	} else if m.phone.start != y.server.starts.Load() {
		return
	}
	p := m.phone
	var state struct {
		Problem *string
		Passes  []struct {
			Voided bool
			Fields []struct{ Key, Value string }
		}
	}
	if err := y.need(y.control(), "GET", "/wallet/phones/"+p.ID, nil, &state); err != nil {
		y.fault("%v", err)
		return
	}
	// What is taken back at once may have sent the phone two pushes before it reads the pass, which then is the one that it has.
	if state.Problem != nil && !strings.HasSuffix(*state.Problem, "is listed and sent, and has not changed") {
		y.fault("the phone with the card %s complains: %s", m.first, *state.Problem)
	}
	s := shown{m.first, m.platform, len(state.Passes) == 0, map[string]string{}}
	for _, pass := range state.Passes {
		s.Gone = s.Gone || pass.Voided
		for _, f := range pass.Fields {
			s.Shows[f.Key] = f.Value
		}
	}
	file.write(s)
}
