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

// byID reads what f returns for the caller's access and the id in the path.
func byID[O any](f func(*store.View, store.Access, string) (O, error)) kernel.Reading {
	return kernel.ReadPlain(func(v *store.View, c *kernel.Call) (O, error) { return f(v, c.Access, c.Param("id")) })
}

// byIDInShop does the same with the key of the caller's shop, for what only persons read.
func byIDInShop[O any](f func(*store.View, int64, string) (O, error)) kernel.Reading {
	return kernel.ReadPlain(func(v *store.View, c *kernel.Call) (O, error) { return f(v, c.Access.Shop, c.Param("id")) })
}

// query reads what f returns for the caller's access and the fields.
func query[Q, O any](f func(*store.View, store.Access, Q) (O, error)) kernel.Reading {
	return kernel.Read(func(v *store.View, c *kernel.Call, q Q) (O, error) { return f(v, c.Access, q) })
}

// queryInShop does the same with the key of the caller's shop, for what only persons read.
func queryInShop[Q, O any](f func(*store.View, int64, Q) (O, error)) kernel.Reading {
	return kernel.Read(func(v *store.View, c *kernel.Call, q Q) (O, error) { return f(v, c.Access.Shop, q) })
}

// queryByIDInShop does the same with the id in the path before the fields.
func queryByIDInShop[Q, O any](f func(*store.View, int64, string, Q) (O, error)) kernel.Reading {
	return kernel.Read(func(v *store.View, c *kernel.Call, q Q) (O, error) { return f(v, c.Access.Shop, c.Param("id"), q) })
}

// byParam reads what f returns for a parameter of the path alone, such as the token of a link.
func byParam[O any](name string, f func(*store.View, string) (O, error)) kernel.Reading {
	return kernel.ReadPlain(func(v *store.View, c *kernel.Call) (O, error) { return f(v, c.Param(name)) })
}

// ofShop reads what f returns for the key of the caller's shop.
func ofShop[O any](f func(*store.View, int64) (O, error)) kernel.Reading {
	return kernel.ReadPlain(func(v *store.View, c *kernel.Call) (O, error) { return f(v, c.Access.Shop) })
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

// withID writes by f with the caller's access, the id in the path, and the fields.
func withID[F, O any](f func(*store.Tx, store.Access, string, F) (O, error)) kernel.Writing {
	return kernel.Write(func(tx *store.Tx, c *kernel.Call, fields F) (O, error) { return f(tx, c.Access, c.Param("id"), fields) })
}

// inShop writes by f with the key of the caller's shop and the id in the path, for what only
// persons do.
func inShop[O any](f func(*store.Tx, int64, string) (O, error)) kernel.Writing {
	return kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (O, error) { return f(tx, c.Access.Shop, c.Param("id")) })
}

// inShopWith does the same with the fields.
func inShopWith[F, O any](f func(*store.Tx, int64, string, F) (O, error)) kernel.Writing {
	return kernel.Write(func(tx *store.Tx, c *kernel.Call, fields F) (O, error) {
		return f(tx, c.Access.Shop, c.Param("id"), fields)
	})
}

// silent writes by f, which has no answer.
func silent[F any](f func(*store.Tx, *kernel.Call, F) error) kernel.Writing {
	return kernel.Write(func(tx *store.Tx, c *kernel.Call, fields F) (kernel.None, error) {
		return kernel.None{}, f(tx, c, fields)
	})
}

// removal does what inShop does for what has no answer.
func removal(f func(*store.Tx, int64, string) error) kernel.Writing {
	return silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error { return f(tx, c.Access.Shop, c.Param("id")) })
}
