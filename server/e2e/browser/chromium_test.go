//go:build browser

package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"

	"punchcard/server/servertest"
)

// Only the files chromium*_test.go know chromedp and the protocol of Chromium's developer
// tools.

// chromium is the browser of all tests, which the first tab starts.
var chromium struct {
	once   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
	err    error
}

// insecureHost is a name of 127.0.0.1 that browsers do not take for loopback: a page that is
// opened by it over plain http is no secure context, as one of a shop's own network is not.
const insecureHost = "till.test"

func TestMain(m *testing.M) {
	servertest.Setup()
	code := m.Run()
	if chromium.cancel != nil {
		chromium.cancel()
	}
	os.Exit(code)
}

// startChromium starts the browser and returns its context.
func startChromium(t testing.TB) context.Context {
	t.Helper()
	chromium.once.Do(func() {
		chromium.ctx, chromium.cancel, chromium.err = launch()
	})
	if chromium.err != nil {
		t.Fatalf("start Chromium (.ci/browser installs it): %v", chromium.err)
	}
	return chromium.ctx
}

// launch starts a browser and returns its context and the function that ends it.
func launch(more ...chromedp.ExecAllocatorOption) (ctx context.Context, end func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // which does not work as root in a container
		chromedp.WSURLReadTimeout(servertest.Patience),
		chromedp.Flag("lang", "en-US"),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("host-resolver-rules", "MAP "+insecureHost+" 127.0.0.1"))
	if path := os.Getenv("CHROMIUM"); path != "" {
		options = append(options, chromedp.ExecPath(path))
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	// Events that cdproto does not know are no reason to write to the standard error.
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	return ctx, func() { cancel(); stop() }, chromedp.Do(ctx)
}

// refusedCamera is a camera that the person does not permit the page to use.
const refusedCamera = "refused"

// startWithCamera starts a browser of its own for a test, since a browser has one camera for
// all its tabs, and returns its context. film is the file that the camera shows, again and
// again (see writeFilm), or refusedCamera.
func startWithCamera(t testing.TB, film string) context.Context {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{chromedp.Flag("use-fake-device-for-media-stream", true)}
	if film == refusedCamera {
		options = append(options, chromedp.Flag("use-fake-ui-for-media-stream", "deny"))
	} else {
		options = append(options, chromedp.Flag("use-fake-ui-for-media-stream", true),
			chromedp.Flag("use-file-for-fake-video-capture", film))
	}
	ctx, end, err := launch(options...)
	t.Cleanup(end)
	if err != nil {
		t.Fatalf("start Chromium with a camera: %v", err)
	}
	return ctx
}

// A tab is a tab in a browser profile of its own, without cookies and cache.
type tab struct {
	t    testing.TB
	ctx  context.Context
	seen *traffic
}

// openTab opens an empty tab, which is closed at the end of the test. camera is that of
// View.Camera.
func openTab(t testing.TB, camera string) *tab {
	t.Helper()
	if camera == "" {
		return newTab(t, startChromium(t), chromedp.WithNewBrowserContext())
	}
	return newTab(t, startWithCamera(t, camera), chromedp.WithNewBrowserContext())
}

// newTab opens an empty tab, by default in the profile of another one.
func newTab(t testing.TB, parent context.Context, options ...chromedp.ContextOption) *tab {
	t.Helper()
	seen := newTraffic()
	ctx, cancel := chromedp.NewContext(parent, append(options, chromedp.WithListener(seen.observe))...)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, seen: seen}
	if err := chromedp.Do(ctx); err != nil { // without a time limit, which would close the tab
		t.Fatal(err)
	}
	seen.answer = func(accept bool) {
		go call(b, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: accept})
	}
	b.must(call(b, audits.Enable, cdp.Empty{}))
	b.must(call(b, runtime.AddBinding, runtime.AddBindingParams{Name: reportBinding}))
	b.onEachPage(pressGuard)
	b.onEachPage(observer)
	return b
}

// reused returns the tab for another test, without a page, cookies and what pages of an origin have
// stored and reported. The tab keeps no answers, so that each page is weighed with all that it loads.
func (b *tab) reused(t testing.TB, origin string) *tab {
	t.Helper()
	again := &tab{t: t, ctx: b.ctx, seen: b.seen}
	again.must(nil, again.navigate("about:blank"))
	again.must(call(again, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}))
	again.must(call(again, network.ClearBrowserCookies, cdp.Empty{}))
	again.must(call(again, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: origin, StorageTypes: "all"}))
	again.seen.forget()
	return again
}

// kill ends the process of the tab's page at once, as a system does that needs its memory,
// and returns an empty tab in the same profile. What the dead tab reports is left out.
func (b *tab) kill() *tab {
	b.t.Helper()
	b.seen.stop()
	go call(b, page.Crash, cdp.Empty{}) // which is never answered
	b.wait("the end of the page's process", b.seen.hasCrashed)
	return newTab(b.t, b.ctx)
}

// setOffline cuts the tab off from the network, or connects it again.
func (b *tab) setOffline(on bool) {
	b.t.Helper()
	whole := network.EmulateNetworkConditionsByRuleParams{EmulateOfflineServiceWorker: &on,
		MatchedNetworkConditions: []*network.Conditions{{Offline: on, DownloadThroughput: -1, UploadThroughput: -1}}}
	b.must(call(b, network.EmulateNetworkConditionsByRule, whole))
	b.must(call(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{
		Offline:            on,
		DownloadThroughput: -1,
		UploadThroughput:   -1,
	}))
}

// leaveFor goes to a URL and does not wait until its page is loaded.
func (b *tab) leaveFor(url string) {
	b.t.Helper()
	b.must(call(b, page.Navigate, page.NavigateParams{URL: url}))
}

// call sends a command to the tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) (R, error) {
	ctx, cancel := context.WithTimeout(b.ctx, servertest.Patience)
	defer cancel()
	return chromedp.Call(ctx, command, params)
}

// must ends the test if a command failed.
func (b *tab) must(_ any, err error) {
	b.t.Helper()
	noError(b.t, err)
}

// yes is a value for optional parameters.
var yes = true

// setCookie sets a cookie for the origin of a URL.
func (b *tab) setCookie(url string, c *http.Cookie) {
	b.t.Helper()
	b.must(call(b, network.SetCookie, network.SetCookieParams{
		Name:     c.Name,
		Value:    c.Value,
		URL:      url,
		Path:     cmp.Or(c.Path, "/"),
		HTTPOnly: &yes,
		Secure:   &c.Secure,
	}))
}

// cookies returns the cookies that are sent to the page.
func (b *tab) cookies() (out []*http.Cookie) {
	b.t.Helper()
	r, err := call(b, network.GetCookies, network.GetCookiesParams{})
	b.must(r, err)
	for _, c := range r.Cookies {
		out = append(out, &http.Cookie{Name: c.Name, Value: c.Value, Path: c.Path, Secure: c.Secure, HttpOnly: c.HTTPOnly})
	}
	return out
}

// setSize sets the size of the window in pixels of CSS, and the number of device pixels
// for each of them.
func (b *tab) setSize(width, height int, scale float64) {
	b.t.Helper()
	b.must(call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width:             int64(width),
		Height:            int64(height),
		DeviceScaleFactor: scale,
	}))
}

// setMedia sets the theme, and whether the person wants little motion.
func (b *tab) setMedia(dark, still bool) {
	b.t.Helper()
	features := []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: "light"}, {Name: "prefers-reduced-motion", Value: "no-preference"},
	}
	if dark {
		features[0].Value = "dark"
	}
	if still {
		features[1].Value = "reduce"
	}
	b.must(call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}))
}

// setLanguage sets the language that the browser asks for.
func (b *tab) setLanguage(language string) {
	b.t.Helper()
	b.must(call(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": language}}))
}

// onEachPage runs a script in each page that is opened from now on, before its own.
func (b *tab) onEachPage(script string) {
	b.t.Helper()
	b.must(call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
}

// setScripts sets whether the browser runs the scripts of pages. The functions of this
// package work without them, but for promises, timers and frames, which never come.
func (b *tab) setScripts(run bool) {
	b.t.Helper()
	b.must(call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !run}))
}

// navigate types a URL and waits until the page is loaded.
func (b *tab) navigate(url string) error {
	ctx, cancel := context.WithTimeout(b.ctx, servertest.Patience)
	defer cancel()
	return chromedp.Do(ctx, chromedp.Navigate(url))
}

// eval calls a JavaScript function in the page and returns its result, after the promise
// if it returns one. The arguments are JSON.
func (b *tab) eval(out any, function string, arguments ...any) error {
	return b.evalWithin(servertest.Patience, out, function, arguments...)
}

// evalWithin is eval for a page that may have stopped: it gives up after a time.
func (b *tab) evalWithin(limit time.Duration, out any, function string, arguments ...any) error {
	expression, err := expressionOf(function, arguments)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	r, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: &yes, AwaitPromise: &yes})
	return result(out, r.Result, r.ExceptionDetails, err)
}

func result(out any, value *runtime.RemoteObject, thrown *runtime.ExceptionDetails, err error) error {
	switch {
	case err != nil:
		return err
	case thrown != nil:
		return fmt.Errorf("the script failed: %s", exceptionText(thrown))
	case out == nil || len(value.Value) == 0:
		return nil
	}
	return json.Unmarshal(value.Value, out)
}

// saveDownloads has the tab save downloads in a folder.
func (b *tab) saveDownloads(folder string) error {
	_, err := chromedp.CallBrowser(b.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior:         browser.SetDownloadBehaviorBehaviorAllow,
		DownloadPath:     folder,
		BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
	})
	return err
}

// maxPicture is the maximum height of a screenshot. What is below looks like what is
// above: it is a long list.
const maxPicture = 1800

// screenshot returns a picture of the page as a PNG.
func (b *tab) screenshot() []byte {
	b.t.Helper()
	m, err := call(b, page.GetLayoutMetrics, cdp.Empty{})
	b.must(m, err)
	size := m.CSSContentSize
	b.setSize(int(size.Width), int(min(size.Height, maxPicture)), 1) // the bar at the bottom of a phone is that of the page
	r, err := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &yes,
		Clip: &page.Viewport{Width: size.Width, Height: min(size.Height, maxPicture), Scale: 1}})
	b.must(r, err)
	return r.Data
}

// window returns a picture of what the window shows, as a PNG.
func (b *tab) window() []byte {
	b.t.Helper()
	r, err := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	b.must(r, err)
	return r.Data
}

// printed returns the page as a PDF, on paper of the size that its styles name.
func (b *tab) printed() []byte {
	b.t.Helper()
	r, err := call(b, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: &yes, PrintBackground: &yes})
	b.must(r, err)
	return r.Data
}

// wait calls ready until it reports true. The error of the last call is part of the
// failure. A page that is being replaced makes errors that do not last.
func (b *tab) wait(what string, ready func() (bool, error)) {
	b.t.Helper()
	end := time.After(servertest.Patience)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		ok, err := ready()
		if ok {
			return
		}
		select {
		case <-again.C:
		case <-end:
			b.t.Fatalf("waited %v for %s: %v", servertest.Patience, what, err)
		}
	}
}
