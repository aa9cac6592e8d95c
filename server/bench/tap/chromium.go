//go:build browser

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const patience = 2 * time.Minute

// startChromium starts the browser that the variable CHROMIUM names, or the one that is
// installed.
func startChromium(ctx context.Context) (context.Context, func(), error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("lang", "en-US"))
	if path := os.Getenv("CHROMIUM"); path != "" {
		options = append(options, chromedp.ExecPath(path))
	}
	allocator, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	return ctx, func() { cancel(); stop() }, chromedp.Do(ctx)
}

// A page is a tab in a profile of its own.
type page struct{ ctx context.Context }

// openPage opens an empty tab of the size of a phone. It is closed with the browser.
func openPage(browser context.Context) (*page, error) {
	ctx, _ := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	if err := chromedp.Do(ctx); err != nil {
		return nil, err
	}
	p := &page{ctx}
	return p, call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: 390, Height: 800, DeviceScaleFactor: 1,
	})
}

// call sends a command to the tab.
func call[P, R any](p *page, command cdp.Command[P, R], params P) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	_, err := chromedp.Call(ctx, command, params)
	return err
}

// setCookie sets a cookie of an origin.
func (p *page) setCookie(origin, name, value, path string) error {
	return call(p, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: origin, Path: path})
}

// open opens a URL and waits until the page shows a text.
func (p *page) open(url, text string) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		return err
	}
	return p.await(text)
}

// await waits until the page shows a text, is not busy, and is at rest for two frames.
func (p *page) await(text string) error {
	return p.eval(nil, `text => new Promise((resolve, reject) => {
		const end = performance.now() + 100_000
		const look = () => {
			const shown = document.body.innerText.replace(/\s+/g, ' ').includes(text)
			if (shown && !document.querySelector('[aria-busy=true]'))
				return requestAnimationFrame(() => requestAnimationFrame(() => resolve(true)))
			if (performance.now() > end) return reject('the page does not show ' + text + ' but ' + document.body.innerText)
			setTimeout(look, 5)
		}
		look()
	})`, text)
}

// tap presses what a selector of CSS finds.
func (p *page) tap(selector string) error {
	var at struct{ X, Y float64 }
	if err := p.eval(&at, `selector => {
		const e = document.querySelector(selector)
		e.scrollIntoView({block: 'center', behavior: 'instant'})
		const r = e.getBoundingClientRect()
		return {x: r.x + r.width / 2, y: r.y + r.height / 2}
	}`, selector); err != nil {
		return err
	}
	for _, does := range []input.DispatchMouseEventType{
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased,
	} {
		if err := call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: does, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: 1,
		}); err != nil {
			return err
		}
	}
	return nil
}

// eval calls a JavaScript function in the page and keeps its result in out, unless that is nil.
func (p *page) eval(out any, function string, arguments ...any) error {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	if len(arguments) == 0 {
		raw = []byte("[]")
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	yes := true
	r, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{
		Expression: "(" + function + ")(..." + string(raw) + ")", ReturnByValue: &yes, AwaitPromise: &yes,
	})
	if err != nil {
		return err
	}
	if e := r.ExceptionDetails; e != nil {
		text := e.Text
		if e.Exception != nil {
			text += " " + strings.Trim(string(e.Exception.Value), `"`) + e.Exception.Description
		}
		return fmt.Errorf("the script failed: %s", text)
	}
	if out == nil || len(r.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(r.Result.Value, out)
}
