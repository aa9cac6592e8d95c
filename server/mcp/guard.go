package mcp

import (
	"cmp"
	"errors"

	"punchcard/server/kernel"
	"punchcard/store"
)

// keys are the keys of the endpoint.
var keys = kernel.KeyClass{Name: "mcp", Prefix: "tmk_", Face: Path, Other: "tsk_", OtherName: "a key of the REST API"}

// authenticate identifies the caller of a session, and checks the entitlement and the
// subscription of its shop, and that it has not moved away. What it returns is based on an identity
// that is up to date.
func (s *session) authenticate() error {
	for {
		c, err := s.keys.Identify(s.r)
		if err != nil {
			return err
		}
		if err = s.Kernel.Confirm(&c); errors.Is(err, store.ErrEpoch) && s.r.Context().Err() == nil {
			s.keys.Forget()
			continue
		}
		if err != nil {
			return err
		}
		c.Actor.Context = s.caller.Actor.Context
		s.caller = c
		return cmp.Or(c.Key.Closing.Refuse(false), kernel.Entitled(c.Key, s.st.Now()))
	}
}
