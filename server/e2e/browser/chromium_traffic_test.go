//go:build browser

package browser

import (
	"encoding/json"
	"strings"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/backgroundservice"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/serviceworker"
)

// observe is called with each event of the tab.
func (s *traffic) observe(event any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning ||
			e.Type == runtime.ConsoleAPICalledTypeAssert {
			text := []string{"console " + string(e.Type) + ":"}
			for _, a := range e.Args {
				text = append(text, strings.Trim(string(a.Value), `"`)+a.Description)
			}
			s.report("%s", strings.Join(text, " "))
		}
	case *serviceworker.EventWorkerRegistrationUpdated:
		for _, r := range e.Registrations {
			s.worker = r.RegistrationID
		}
	case *backgroundservice.EventBackgroundServiceEventReceived:
		if e.BackgroundServiceEvent.EventName == "Notification displayed" {
			values := map[string]string{}
			for _, m := range e.BackgroundServiceEvent.EventMetadata {
				values[m.Key] = m.Value
			}
			s.notices = append(s.notices, values["Title"]+": "+values["Body"])
		}
	case *runtime.EventExceptionThrown:
		s.report("page error: %s", exceptionText(e.ExceptionDetails))
	case *runtime.EventBindingCalled:
		s.report("%s", e.Payload)
	case *log.EventEntryAdded:
		if e.Entry.Source != log.EntrySourceNetwork && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
			s.report("log %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		// A field that is called name need not be that of the person who fills it in.
		if g := e.Issue.Details.GenericIssueDetails; g == nil ||
			g.ErrorType != audits.GenericIssueErrorTypeFormInputAssignedAutocompleteValueToIDOrNameAttributeError {
			details, _ := json.Marshal(e.Issue.Details)
			s.report("issue %s: %s", e.Issue.Code, details)
		}
	case *inspector.EventTargetCrashed:
		s.crashed = true
		s.report("the tab crashed")
	case *page.EventJavascriptDialogOpening:
		s.report("dialog %s: %s", e.Type, e.Message)
		s.answer(true)
	case *network.EventRequestWillBeSent:
		s.requests[string(e.RequestID)] = &request{url: e.Request.URL}
	case *network.EventResponseReceived:
		if e.Type == network.ResourceTypeDocument {
			s.status = int(e.Response.Status)
		} else if e.Response.Status >= 400 {
			s.report("request failed: %d %s", e.Response.Status, e.Response.URL)
		}
	case *network.EventDataReceived:
		if r := s.requests[string(e.RequestID)]; r != nil {
			r.received += e.EncodedDataLength
		}
	case *network.EventLoadingFinished:
		if r := s.requests[string(e.RequestID)]; r != nil {
			r.received = int64(e.EncodedDataLength)
		}
	case *network.EventLoadingFailed:
		if r := s.requests[string(e.RequestID)]; r != nil && (!e.Canceled || e.BlockedReason != "") {
			s.report("request failed: %s%s %s", e.ErrorText, e.BlockedReason, r.url)
		}
	default:
		s.follow(event)
	}
}

// follow observes where the tab goes. Pages have no frames.
func (s *traffic) follow(event any) {
	switch event.(type) {
	case *page.EventFrameRequestedNavigation, *page.EventFrameStartedNavigating, *page.EventFrameStartedLoading:
		s.busy = true
	case *page.EventFrameStoppedLoading:
		s.busy = false
	case *page.EventFrameNavigated:
		s.navigations++
	case *page.EventNavigatedWithinDocument:
		s.navigations++
		s.busy = false
	}
}

func exceptionText(e *runtime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Exception.Description
	}
	if e.Exception != nil { // a script may throw a text
		return e.Text + " " + string(e.Exception.Value)
	}
	return e.Text
}
