package kernel

import (
	"net/http"
	"regexp"
	"strings"

	"punchcard/store"
)

// KeyClass is a class of keys, as the face that takes them describes it to callers.
type KeyClass struct {
	Name   string
	Prefix string // of the secrets
	Face   string // such as the REST API
	// Other is the prefix of the secrets of the other class, and OtherName what a key of that is.
	Other, OtherName string
}

// Keys identifies callers by their keys, which are of one class.
type Keys struct {
	Identities[store.Identity]
	st                *store.Store
	class             KeyClass
	missing, expected string // messages, which are made once
}

// NewKeys returns a Keys for the keys of a class.
func NewKeys(st *store.Store, class KeyClass) *Keys {
	return &Keys{
		st:       st,
		class:    class,
		missing:  "Send your key as: Authorization: Bearer " + class.Prefix + "…",
		expected: class.Face + " expects a key beginning " + class.Prefix + ".",
	}
}

var keyPattern = regexp.MustCompile(`^t[sm]k_(live|test)_[A-Za-z0-9_-]{43}$`)

// Identify returns the caller whose key is the bearer token of a request. It refuses a key that
// is malformed, unknown, revoked, expired or of another class.
func (k *Keys) Identify(r *http.Request) (c Caller, err error) {
	token, err := Bearer(r, k.missing)
	if err != nil {
		return c, err
	}
	if strings.HasPrefix(token, k.class.Other) {
		return c, Unauthenticated("This is " + k.class.OtherName + "; " + k.expected)
	}
	id, err := k.Get(token, func(hash []byte) (*store.Identity, error) {
		if !keyPattern.MatchString(token) {
			return nil, Unauthenticated("The key is malformed; " + k.expected)
		}
		id, err := k.st.Identify(hash)
		if err == nil && (id == nil || id.Class != k.class.Name) {
			err = Unauthenticated("No such key.")
		}
		return id, err
	})
	if err != nil {
		return c, err
	}
	if reason := id.EndReason(k.st.Now()); reason != "" {
		return c, Unauthenticated("The key is " + reason + ".")
	}
	return KeyCaller(id), nil
}
