// Package operation declares everything that a caller of the server can do. Every face calls
// these operations and adds no rules of its own: the REST API, the till API, the dashboard,
// the holder's pages, the tools for assistants, the control API of the fixture and the command
// line.
package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// declared has every operation of the package.
var declared []*kernel.Operation

// declare returns an operation of the package, as [kernel.NewOperation] does.
func declare(op kernel.Operation) *kernel.Operation {
	made := kernel.NewOperation(op)
	declared = append(declared, made)
	return made
}

// codes are the refusals of an operation.
type codes = []store.Code

// The refusals of most operations on a resource.
var (
	notFound                        = codes{store.NotFound}
	unprocessable                   = codes{store.Unprocessable}
	notFoundOrConflict              = codes{store.NotFound, store.Conflict}
	notFoundOrGone                  = codes{store.NotFound, store.Gone}
	notFoundOrUnprocessable         = codes{store.NotFound, store.Unprocessable}
	notFoundConflictOrUnprocessable = codes{store.NotFound, store.Conflict, store.Unprocessable}
)

// List is an answer with a list that is not paginated.
type List[T any] struct {
	Data []T `json:"data"`
}

// list returns what a read of a list has returned as an answer.
func list[T any](data []T, err error) (List[T], error) { return List[T]{data}, err }

// The callers of operations that no key may invoke. A role includes those above it.
var (
	account  = kernel.Callers{Account: true}
	device   = kernel.Callers{Device: true}
	holder   = kernel.Callers{Holder: true}
	visitor  = kernel.Callers{Visitor: true}
	viewer   = kernel.Callers{Person: kernel.Viewer}
	manager  = kernel.Callers{Person: kernel.Manager}
	owner    = kernel.Callers{Person: kernel.Owner}
	operator = kernel.Callers{Person: kernel.Operator}
)

// The headings of the documents, under which operations are declared.
const (
	accounts     = "Accounts"
	analytics    = "Analytics"
	cards        = "Cards"
	devices      = "Devices"
	holderPage   = "Holder"
	keys         = "Keys"
	ledger       = "Ledger"
	locations    = "Locations"
	ownDevice    = "Device"
	people       = "People"
	prizes       = "Prizes"
	programs     = "Programs"
	sessions     = "Sessions"
	staff        = "Staff"
	shops        = "Shops"
	transactions = "Transactions"
	wallets      = "Wallets"
	webhooks     = "Webhooks"
)

// readers returns keys with the scope to read a resource, and persons from Viewer on.
func readers(resource string) kernel.Callers {
	return kernel.Callers{APIKey: resource + ":read", Person: kernel.Viewer}
}

// writers returns keys with the scope to write a resource, and persons from Manager on.
func writers(resource string) kernel.Callers {
	return kernel.Callers{APIKey: resource + ":write", Person: kernel.Manager}
}

// assisted adds to callers the keys of assistants, which need the same scope as other keys.
func assisted(c kernel.Callers) kernel.Callers {
	c.MCPKey = c.APIKey
	return c
}

// writingBefore has an operation write what f returns before it reads. It takes no fields.
func writingBefore(f func(*store.View, *kernel.Call) (func(*store.Tx) error, error)) kernel.EarlierWrite {
	return kernel.WriteBefore(func(v *store.View, c *kernel.Call, _ struct{}) (func(*store.Tx) error, error) { return f(v, c) })
}

// writingByParam does the same with what f returns for a parameter of the path alone.
func writingByParam(name string, f func(*store.View, string) (func(*store.Tx) error, error)) kernel.EarlierWrite {
	return writingBefore(func(v *store.View, c *kernel.Call) (func(*store.Tx) error, error) { return f(v, c.Param(name)) })
}

// identity is what a method of the store takes of the caller: the whole access, the key of the shop, for what
// only persons do, or the till.
type identity interface {
	store.Access | int64 | store.Till
}

// as returns that of the caller of an operation.
func as[C identity](c *kernel.Call) (caller C) {
	switch caller := any(&caller).(type) {
	case *store.Access:
		*caller = c.Access
	case *int64:
		*caller = c.Access.Shop
	case *store.Till:
		*caller = c.Till()
	}
	return caller
}

// ofCaller reads what f returns for the caller.
func ofCaller[C identity, O any](f func(*store.View, C) (O, error)) kernel.Reading {
	return kernel.ReadPlain(func(v *store.View, c *kernel.Call) (O, error) { return f(v, as[C](c)) })
}

// byID does the same with the id in the path.
func byID[C identity, O any](f func(*store.View, C, string) (O, error)) kernel.Reading {
	return kernel.ReadPlain(func(v *store.View, c *kernel.Call) (O, error) { return f(v, as[C](c), c.Param("id")) })
}

// query reads what f returns for the caller and the fields.
func query[C identity, Q, O any](f func(*store.View, C, Q) (O, error)) kernel.Reading {
	return kernel.Read(func(v *store.View, c *kernel.Call, q Q) (O, error) { return f(v, as[C](c), q) })
}

// queryByID does the same with the id in the path before the fields.
func queryByID[C identity, Q, O any](f func(*store.View, C, string, Q) (O, error)) kernel.Reading {
	return kernel.Read(func(v *store.View, c *kernel.Call, q Q) (O, error) { return f(v, as[C](c), c.Param("id"), q) })
}

// byParam reads what f returns for a parameter of the path alone, such as the token of a link.
func byParam[O any](name string, f func(*store.View, string) (O, error)) kernel.Reading {
	return kernel.ReadPlain(func(v *store.View, c *kernel.Call) (O, error) { return f(v, c.Param(name)) })
}

// listOf reads a list of the caller's shop that is not paginated.
func listOf[T any](f func(*store.View, int64) ([]T, error)) kernel.Reading {
	return kernel.ReadPlain(func(v *store.View, c *kernel.Call) (List[T], error) { return list(f(v, c.Access.Shop)) })
}

// readBefore returns what f reads before a write; see [kernel.Prepare].
func readBefore[T any](c *kernel.Call, f func(*store.View) (T, error)) (out T, err error) {
	err = c.View(func(v *store.View) (err error) {
		out, err = f(v)
		return err
	})
	return out, err
}

// withFields writes by f with the caller and the fields.
func withFields[C identity, F, O any](f func(*store.Tx, C, F) (O, error)) kernel.Writing {
	return kernel.Write(func(tx *store.Tx, c *kernel.Call, fields F) (O, error) { return f(tx, as[C](c), fields) })
}

// withID does the same with the id in the path before the fields.
func withID[C identity, F, O any](f func(*store.Tx, C, string, F) (O, error)) kernel.Writing {
	return withParam("id", f)
}

// withParam does the same with another parameter of the path.
func withParam[C identity, F, O any](name string, f func(*store.Tx, C, string, F) (O, error)) kernel.Writing {
	return kernel.Write(func(tx *store.Tx, c *kernel.Call, fields F) (O, error) {
		return f(tx, as[C](c), c.Param(name), fields)
	})
}

// change writes by f with the caller and the id in the path.
func change[C identity, O any](f func(*store.Tx, C, string) (O, error)) kernel.Writing {
	return kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (O, error) { return f(tx, as[C](c), c.Param("id")) })
}

// silent writes by f, which has no answer.
func silent[F any](f func(*store.Tx, *kernel.Call, F) error) kernel.Writing {
	return kernel.Write(func(tx *store.Tx, c *kernel.Call, fields F) (kernel.None, error) {
		return kernel.None{}, f(tx, c, fields)
	})
}

// removal does what change does for what has no answer.
func removal(f func(*store.Tx, int64, string) error) kernel.Writing {
	return silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error { return f(tx, c.Access.Shop, c.Param("id")) })
}
