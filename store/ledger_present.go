package store

import (
	"slices"
)

// Till is the device at which a card is presented, with its location and shop.
type Till struct {
	Shop, Location, Device int64
}

// presentation is a card in the hands of a till: its whole chain and its
// program. A code stands for its chain (contract section 4).
type cardChain struct {
	Till
	program   *program // shared: not to be changed
	instances []*card  // neither archived nor erased, oldest first
	newest    *card    // of all that are not erased, archived or not
}

// present looks a card up and applies the refusals that every action at a till
// has in common, in the order of contract section 4. actions are the program
// types that the action is for.
func (tx *Tx) chainForAction(at Till, text string, types ...string) (p *cardChain, err error) {
	all, _, err := tx.s.chainByIDOrCode(tx.conn, at.Shop, text, tx.Now, nil, chainOfCardSQL)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, notFound("card")
	}
	return tx.checkAction(newCardChain(at, all), types...)
}

// inHand is a chain that was read, without its program.
func newCardChain(at Till, all []*card) *cardChain {
	p := &cardChain{Till: at, newest: all[len(all)-1]}
	for _, c := range all {
		if c.Status != StatusArchived {
			p.instances = append(p.instances, c)
		}
	}
	return p
}

// chain is the chain of a root that exists.
func (tx *Tx) chainByRoot(at Till, root int64) (*cardChain, error) {
	all, _, err := tx.s.readChain(tx.conn, tx.Now, nil, chainOfRootSQL, root)
	if err != nil {
		return nil, err
	}
	return newCardChain(at, all), nil
}

// of notes the program of the chain's cards.
func (p *cardChain) setProgram(program *program) {
	p.program = program
	p.newest.setProgram(program)
	for _, c := range p.instances {
		c.setProgram(program)
	}
}

// oldest is the live instance that has the chain's state; nil where all are
// archived.
func (p *cardChain) oldestLive() *card {
	if len(p.instances) == 0 {
		return nil
	}
	return p.instances[0]
}

func (tx *Tx) checkAction(p *cardChain, types ...string) (*cardChain, error) {
	program, err := tx.cachedProgram(p.Shop, p.newest.program)
	if err != nil {
		return nil, err
	}
	p.setProgram(program)
	switch {
	case !slices.Contains(types, p.program.Type):
		return nil, refuse(Unprocessable, "A card of a %s program does not take this.", p.program.Type)
	case !p.program.worksAt(tx.s, p.Location):
		return nil, refuse(Unprocessable, "The program's cards do not work at this location.")
	case p.program.SuspendedAt.Valid:
		return nil, refuse(CardSuspended, "The program is suspended.")
	case len(p.instances) == 0:
		return nil, refuse(Conflict, "The card is archived.")
	case p.instances[0].Status == StatusExpired:
		return nil, tx.refuseExpired(p)
	case p.instances[0].lockedAt.Valid:
		return nil, refuse(CardSuspended, "The card is locked.")
	}
	return p, nil
}

// worksAt tells whether the program's scope has a location.
func (p *program) worksAt(s *Store, location int64) bool {
	return p.LocationScope == allLocations || slices.Contains(p.ScopedLocationIDs, s.ID(KindLocation, location))
}

// presentedExpired refuses an expired card and writes that down, once for each
// date of expiry.
func (tx *Tx) refuseExpired(p *cardChain) error {
	c := p.nextToStamp()
	refusal := refuse(CardExpired, "The card expired on %s.", c.ExpiresAt.V)
	n, err := tx.exec("UPDATE cards SET expiry_noted=?1 WHERE id=?2 AND ifnull(expiry_noted, 0)<>?1", c.ExpiresAt, c.root)
	if err != nil || n == 0 {
		return keepBut(refusal, err)
	}
	if _, _, err := tx.book(p, c, entry{kind: TransactionExpiry}); err != nil {
		return err
	}
	return &CommittedRefusal{refusal}
}

func keepBut(refusal *Error, err error) error {
	if err != nil {
		return err
	}
	return refusal
}

// CommittedRefusal is a refusal that does not undo the changes made before it.
type CommittedRefusal struct{ Refusal *Error }

func (k *CommittedRefusal) Error() string { return k.Refusal.Error() }

// Unwrap gives the refusal.
func (k *CommittedRefusal) Unwrap() error { return k.Refusal }

// full tells whether an instance has all its stamps.
func (p *cardChain) isFull(c *card) bool { return c.StampsCount >= p.program.TotalStamps.V }

// next is the instance that takes the next stamp: the oldest that is not full,
// or the newest where all are.
func (p *cardChain) nextToStamp() *card {
	for _, c := range p.instances {
		if !p.isFull(c) {
			return c
		}
	}
	if len(p.instances) == 0 {
		return p.newest
	}
	return p.instances[len(p.instances)-1]
}

// after are the live instances newer than c.
func (p *cardChain) youngerThan(c *card) []*card {
	i := slices.Index(p.instances, c)
	return p.instances[i+1:]
}
