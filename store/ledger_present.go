package store

import "slices"

// Till is the device at which a card is presented, with its location and shop.
type Till struct {
	Shop, Location, Device int64
	AcceptsCardIDs         bool  // in writes; lookups take ids from every device
	Staff                  Staff // who is signed in; the zero value: nobody
}

// cardChain is a card that is presented at a till: all cards of its chain, and
// its program. Every id and code of a card names its whole chain.
type cardChain struct {
	Till
	program   *program // cached: must not be changed
	instances []*card  // neither archived nor erased, oldest first
	newest    *card    // of all that are not erased, archived or not
	first     *card    // the root
	foreign   bool     // the code of an earlier card named it
}

// chainForAction finds a card by its id or code, also a held one, and applies the refusals that all
// actions at a till have in common (see checkAction). A write whose reference was used before
// is ErrRepeated. A device that does not accept card ids is refused with unprocessable_entity.
// types are the program types that the action is for.
func (tx *Tx) chainForAction(till Till, text string, o Once, types ...string) (chain *cardChain, err error) {
	if err := tx.checkUnused(till.Shop, o); err != nil {
		return nil, err
	}
	if isCardID(text) && !till.AcceptsCardIDs {
		return nil, refuse(Unprocessable,
			"This device cannot use a card's id to write; send the content of the QR code, or the short code.")
	}
	all, _, foreign := tx.chainByIDOrCode(till.Shop, tx.heldCode(text), nil, chainOfCardSQL)
	if len(all) == 0 {
		return nil, ErrUnknownCode
	}
	chain, err = tx.checkAction(newCardChain(till, all), types...)
	if err == nil {
		chain.foreign = foreign
	}
	return chain, err
}

// newCardChain returns the chain of cards that were read, oldest first, without
// its program.
func newCardChain(till Till, all []*card) *cardChain {
	chain := &cardChain{Till: till, newest: all[len(all)-1], first: all[0]}
	for _, c := range all {
		if c.Status != StatusArchived {
			chain.instances = append(chain.instances, c)
		}
	}
	return chain
}

// chainOfCards returns the chain of cards that were read at an auth epoch, oldest first, with its program.
func (v *View) chainOfCards(till Till, all []*card, epoch int64) *cardChain {
	chain := newCardChain(till, all)
	chain.setProgram(v.cachedProgram(till.Shop, chain.newest.program, epoch))
	return chain
}

// chainByRoot returns the chain of a root that exists, without its program. If the read fails, it is one of an empty card.
func (tx *Tx) chainByRoot(till Till, root int64) *cardChain {
	all, _ := tx.readChain(nil, chainOfRootSQL, root)
	if len(all) == 0 {
		all = []*card{{}}
	}
	return newCardChain(till, all)
}

// setProgram sets the program of the chain and of its cards.
func (chain *cardChain) setProgram(program *program) {
	chain.program = program
	chain.newest.setProgram(program)
	for _, c := range chain.instances {
		c.setProgram(program)
	}
}

// generation returns the generation of the chain's codes, which its root has. The chain
// was read whole.
func (chain *cardChain) generation() int64 { return chain.first.generation }

// oldestLive returns the live instance that has the chain's state, or nil if all
// are archived.
func (chain *cardChain) oldestLive() *card {
	if len(chain.instances) == 0 {
		return nil
	}
	return chain.instances[0]
}

// checkAction sets the chain's program and applies the refusals that all actions
// at a till have in common, in the order that store/README.md states under "The
// till's rules".
func (tx *Tx) checkAction(chain *cardChain, types ...string) (*cardChain, error) {
	program := tx.cachedProgram(chain.Shop, chain.newest.program)
	chain.setProgram(program)
	switch {
	case !slices.Contains(types, chain.program.Type):
		return nil, errOtherType(program)
	case !chain.program.worksAt(tx.s, chain.Location):
		return nil, errNotHere
	case chain.program.SuspendedAt.Valid:
		return nil, refuse(CardSuspended, "The program is suspended.")
	case len(chain.instances) == 0:
		return nil, errArchived
	case chain.instances[0].Status == StatusExpired:
		return nil, tx.refuseExpired(chain)
	case chain.instances[0].lockedAt.Valid:
		return nil, refuse(CardSuspended, "The card is locked.")
	}
	return chain, nil
}

var (
	errNotHere  = refuse(Unprocessable, "The program's cards do not work at this location.")
	errArchived = refuse(Conflict, "The card is archived.")
)

func errOtherType(p *program) error {
	return refuse(Unprocessable, "A card of a %s program does not take this.", p.Type)
}

// worksAt reports whether the program's cards work at a location.
func (p *program) worksAt(s *Store, location int64) bool {
	return p.LocationScope == allLocations || slices.Contains(p.ScopedLocationIDs, s.ID(KindLocation, location))
}

// refuseExpired refuses an expired card. It writes an expiry row for the first
// presentation after each date of expiry.
func (tx *Tx) refuseExpired(chain *cardChain) error {
	c := chain.nextToStamp()
	refusal := refuse(CardExpired, "The card expired on %s.", c.ExpiresAt.V)
	if tx.exec("UPDATE cards SET expiry_noted=?1 WHERE id=?2 AND ifnull(expiry_noted, 0)<>?1", c.ExpiresAt, c.root) == 0 {
		return refusal
	}
	tx.book(chain, c, entry{kind: TransactionExpiry})
	return &CommittedRefusal{refusal}
}

// CommittedRefusal is a refusal that does not undo the changes made before it.
type CommittedRefusal struct{ Refusal *Error }

func (k *CommittedRefusal) Error() string { return k.Refusal.Error() }

// Unwrap returns the refusal.
func (k *CommittedRefusal) Unwrap() error { return k.Refusal }

// isFull reports whether a card has all its stamps.
func (chain *cardChain) isFull(c *card) bool { return c.StampsCount >= chain.program.TotalStamps.V }

// nextToStamp returns the card that takes the next stamp: the oldest live one that
// is not full, or the newest if all are full.
func (chain *cardChain) nextToStamp() *card {
	for _, c := range chain.instances {
		if !chain.isFull(c) {
			return c
		}
	}
	if len(chain.instances) == 0 {
		return chain.newest
	}
	return chain.instances[len(chain.instances)-1]
}

// youngerThan returns the live instances that are newer than c.
func (chain *cardChain) youngerThan(c *card) []*card {
	return chain.instances[slices.Index(chain.instances, c)+1:]
}
