package store

import "testing"

// TestAskAboutData checks what holders can ask for, once until it is closed, and that erasing the card removes it.
func TestAskAboutData(t *testing.T) {
	f := start(t)
	l := f.withLedger()
	root := f.key(KindCard, l.card)
	token := f.pageToken(root, 0)
	ask := func(r DataRequest) error {
		return f.do(func(tx *Tx) error { return tx.AskAboutData(token, r) })
	}
	kinds := func() (all []string) {
		for _, a := range f.today(t).Attention {
			if a.CardID.Valid {
				all = append(all, a.Kind)
			}
		}
		return all
	}
	refused(t, ask(DataRequest{Kind: set(AskCorrection)}), ValidationFailed)
	correction := DataRequest{Kind: set(AskCorrection), Correction: set("Zebedee is my name")}
	for _, r := range []DataRequest{correction, {Kind: set(AskErasure)}} {
		succeed(ask(r))
		refused(t, ask(r), Conflict)
	}
	if got := kinds(); len(got) != 2 {
		t.Errorf("today has %v", got)
	}
	f.must(func(tx *Tx) error { return tx.CloseDataRequest(f.a.Shop, l.card, ClosedRequest{set(AskCorrection)}) })
	if got := kinds(); len(got) != 1 || got[0] != AttentionErasure {
		t.Errorf("after the correction today has %v", got)
	}
	succeed(ask(correction))
	f.erase(l.card)
	if got := kinds(); got != nil {
		t.Errorf("after erasing today has %v", got)
	}
	f.selects(0, "SELECT count(*) FROM contacts WHERE card_id=?", root)
	refused(t, ask(correction), NotFound)
	f.checkFile()
}
