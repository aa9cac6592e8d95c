//go:build browser

package browser

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"punchcard/server/servertest"
)

// An element is an element of a page, with its role and name for assistive technology.
type element struct {
	role, name string
	object     runtime.RemoteObjectID // empty until it is resolved
	node       cdp.BackendNodeID
}

// elements returns the elements of the page, or of an element in it, that a screen
// reader finds, in their order in the document.
func (b *tab) elements(within *element) (out []*element, err error) {
	var params accessibility.QueryAXTreeParams
	if within != nil {
		params.ObjectID = within.object
	} else {
		root, err := b.find(`() => document`)
		if err != nil {
			return nil, err
		}
		params.ObjectID = root.object
	}
	r, err := call(b, accessibility.QueryAXTree, params)
	if err != nil {
		return nil, err
	}
	for _, n := range r.Nodes {
		if n.Ignored || n.BackendDOMNodeID == 0 {
			continue
		}
		out = append(out, &element{role: textOf(n.Role), name: textOf(n.Name), node: n.BackendDOMNodeID})
	}
	return out, nil
}

func textOf(v *accessibility.Value) (s string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &s)
	}
	return s
}

// find returns the element that a JavaScript function returns, or nil.
func (b *tab) find(function string, arguments ...any) (*element, error) {
	expression, err := expressionOf(function, arguments)
	if err != nil {
		return nil, err
	}
	r, err := call(b, runtime.Evaluate, runtime.EvaluateParams{Expression: expression})
	if err := result(nil, r.Result, r.ExceptionDetails, err); err != nil {
		return nil, err
	}
	if r.Result.ObjectID == "" {
		return nil, nil
	}
	return &element{object: r.Result.ObjectID}, nil
}

// evalOn calls a JavaScript function with an element as this.
func (b *tab) evalOn(e *element, out any, function string, arguments ...any) error {
	if e.object == "" {
		r, err := call(b, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: e.node})
		if err != nil {
			return err
		}
		e.object = r.Object.ObjectID
	}
	params := runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: e.object, ReturnByValue: &yes, AwaitPromise: &yes}
	for _, a := range arguments {
		raw, err := json.Marshal(a)
		if err != nil {
			return err
		}
		params.Arguments = append(params.Arguments, &runtime.CallArgument{Value: raw})
	}
	r, err := call(b, runtime.CallFunctionOn, params)
	return result(out, r.Result, r.ExceptionDetails, err)
}

// mouse sends an event of the mouse at a point of the window.
func (b *tab) mouse(does input.DispatchMouseEventType, x, y float64) error {
	params := input.DispatchMouseEventParams{Type: does, X: x, Y: y}
	if does != move {
		params.Button, params.ClickCount = input.MouseButtonLeft, 1
	}
	_, err := call(b, input.DispatchMouseEvent, params)
	return err
}

// click presses and releases the mouse at a point of the window.
func (b *tab) click(x, y float64) error {
	for _, does := range []input.DispatchMouseEventType{move, down, up} {
		if err := b.mouse(does, x, y); err != nil {
			return err
		}
	}
	return nil
}

// insert types a text into the field that has the focus.
func (b *tab) insert(text string) error {
	_, err := call(b, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// key presses keys, such as "\t" for Tab.
func (b *tab) key(keys string) error {
	ctx, cancel := context.WithTimeout(b.ctx, servertest.Patience)
	defer cancel()
	return chromedp.Do(ctx, chromedp.KeyEvent(keys))
}

// chooseFiles chooses files in a file input.
func (b *tab) chooseFiles(e *element, paths ...string) error {
	_, err := call(b, dom.SetFileInputFiles, dom.SetFileInputFilesParams{BackendNodeID: e.node, Files: paths})
	return err
}

// What the mouse does.
const (
	move = input.DispatchMouseEventTypeMouseMoved
	down = input.DispatchMouseEventTypeMousePressed
	up   = input.DispatchMouseEventTypeMouseReleased
)
