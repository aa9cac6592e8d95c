package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

// maxForm is the maximum size of a form in bytes, files left out.
const maxForm = 256 << 10

// action is what a form does.
type action[O any] struct {
	op *kernel.Operation
	// fields turns what a person typed into the operation's fields, such as euros into
	// cents. Nil: they are the same.
	fields func(*visit, url.Values) url.Values
	// params returns the ids that the operation gets. Nil: those in the path.
	params func(*visit) (map[string]string, error)
	// next returns the path of the page after a success, and the word for what was done.
	next func(*visit, O) (path, done string)
	// show shows a page instead, where the answer has something to show once.
	show func(*visit, O) error
	// again shows the form again, with what is wrong. Nil: an error is a page.
	again func(*visit, *web.Form) error
	// at has the fields beside which refusals without details are shown.
	at map[store.Code]string
}

// post binds a form to its pattern.
func post[O any](pattern string, a action[O]) binding {
	return binding{method: http.MethodPost, pattern: pattern, handle: func(v *visit) error { return a.run(v) }}
}

// run runs the operation and answers.
func (a action[O]) run(v *visit) error {
	fields := ownFields(v.form)
	if a.fields != nil {
		fields = a.fields(v, fields)
	}
	in := &formInput{visit: v, fields: fields}
	var err error
	if a.params != nil {
		if in.named, err = a.params(v); err != nil {
			return err
		}
	}
	out, err := kernel.Do[O](v.r.Context(), v.Kernel, v.caller, a.op, in)
	if k, ok := any(out).(interface{ NewBrowserCookie() string }); ok && err == nil && k.NewBrowserCookie() != "" {
		v.setBrowser(k.NewBrowserCookie())
	}
	switch {
	case err == nil && a.show != nil:
		return a.show(v, out)
	case err == nil:
		path, done := a.next(v, out)
		v.redirect(path, done)
		return nil
	case a.again == nil || !faulty(err):
		return err
	}
	return a.again(v, v.faultyForm(err, a.at))
}

// faulty reports whether an error is about what a person filled in, so that the form is
// shown again.
func faulty(err error) bool {
	e := kernel.AsError(err, kernel.StatusOf)
	switch e.Status {
	case http.StatusBadRequest,
		http.StatusConflict,
		http.StatusUnprocessableEntity,
		http.StatusTooManyRequests,
		http.StatusServiceUnavailable:
		return true
	}
	return e.Code == store.InvalidCredentials
}

// faultyForm returns the form that was sent, with what is wrong. at has the fields of
// codes without details.
func (v *visit) faultyForm(err error, at map[store.Code]string) *web.Form {
	f := v.newForm(v.form)
	e := v.Kernel.Report(v.w, err)
	v.formStatus = e.Status
	setRetryAfter(v.w.Header(), e)
	for _, d := range e.Details {
		field, _, _ := strings.Cut(d.Field, ".")
		for _, name := range []string{d.Field, field} {
			if f.Errors[name] == "" {
				f.Errors[name] = v.problem(d)
			}
		}
	}
	if len(e.Details) > 0 {
		return f
	}
	text, args, field := web.Refusal(e.Message, v.requestID())
	problem := v.print.T(text, args...)
	if e.RetryAfter > 0 {
		problem = v.print.T("Too many attempts.") + " " + tryAgain(v.print, e.RetryAfter)
	}
	for name := range v.form { // of a list of prizes, the one that has the number in the message
		if len(args) > 0 && field != "" && strings.HasSuffix(name, "."+field) && v.form.Get(name) == fmt.Sprint(args[0]) {
			field = name
		}
	}
	switch {
	case at[e.Code] != "":
		f.Errors[at[e.Code]] = problem
	case v.form.Has(field):
		f.Errors[field] = problem
	default:
		f.Problem = problem
	}
	return f
}

// problem says what is wrong with a field as a sentence that stands beside it.
func (v *visit) problem(d store.Detail) string {
	text, args, _ := web.Refusal(strings.TrimPrefix(d.Message, d.Field+" "), v.requestID())
	if !strings.HasSuffix(d.Field, "_cents") {
		return v.print.T(text, args...)
	}
	if d.Code == wire.CodeInvalidType {
		return v.print.T("Enter an amount, such as {0}.", v.print.Amount(350, v.shop().Currency))
	}
	for i, arg := range args {
		if cents, ok := arg.(int64); ok {
			args[i] = v.print.Money(cents, v.shop().Currency)
		}
	}
	return v.print.T(text, args...)
}

// requestID returns the id of the request.
func (v *visit) requestID() string { return v.w.Header().Get("X-Request-Id") }

// status returns the status of a page with a form: that of the refusal if the form is shown
// again.
func (v *visit) status() int { return cmp.Or(v.formStatus, http.StatusOK) }

// formInput is the input of an operation that a form makes.
type formInput struct {
	*visit
	fields url.Values
	named  map[string]string // ids; nil: those in the path
}

// Param returns an id in the path, or another that the page found.
func (in *formInput) Param(name string) string {
	if in.named != nil {
		return in.named[name]
	}
	return in.params.ByName(name)
}

// IdempotencyKey returns the random key that the form carries, so that a form which is
// sent twice acts once.
func (in *formInput) IdempotencyKey() (*kernel.IdempotencyKey, error) {
	value := in.form.Get(web.KeyField)
	switch {
	case in.caller.Session == nil || value == "": // the buttons of the frame have none
		return nil, nil
	case len(value) < 16 || len(value) > 64:
		return nil, store.Invalid(
			store.Detail{Field: web.KeyField, Code: wire.CodeInvalidValue, Message: "is not one of this page: open the form again"},
		)
	}
	return &kernel.IdempotencyKey{
		Value:   value + " " + in.r.URL.Path, // a form that waited for a proof is sent to two paths
		Method:  in.r.Method,
		Path:    in.r.URL.EscapedPath(),
		Body:    []byte(ownFields(in.form).Encode() + in.params.ByName("id")), // what is sent: the fields may depend on the store
		Success: http.StatusSeeOther,
		Status:  kernel.StatusOf,
	}, nil
}

// Decode decodes the form's fields.
func (in *formInput) Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	return wire.DecodeForm(in.fields, dst, mode, lim), nil
}

// queryInput is the input of a read that the query of a page makes. What a filter form
// leaves empty is absent.
type queryInput struct{ *visit }

func (in queryInput) Param(name string) string { return in.params.ByName(name) }

func (in queryInput) IdempotencyKey() (*kernel.IdempotencyKey, error) { return nil, nil }

func (in queryInput) Decode(dst any, _ wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	q := url.Values{}
	for name, values := range in.r.URL.Query() {
		if values[0] != "" {
			q[name] = values[:1]
		}
	}
	return wire.DecodeQuery(q, dst, lim), nil
}

// readForm reads the form of a POST. Pages of other origins may send none.
func (v *visit) readForm(b binding) error {
	if v.r.Method != http.MethodPost {
		return nil
	}
	if err := v.Hosts.CheckOrigin(v.r); err != nil {
		return err
	}
	if b.upload {
		return nil
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return kernel.Refuse(store.BadRequest, "The form is larger than 256 KiB.")
		}
		return kernel.Refuse(store.BadRequest, "The form cannot be read.")
	}
	v.form = v.r.PostForm
	return nil
}

// ownFields returns a copy of a form without the inputs that are for the page: those with
// an underscore, and the idempotency key.
func ownFields(form url.Values) url.Values {
	out := make(url.Values, len(form))
	for name, values := range form {
		if !strings.HasPrefix(name, "_") && name != web.KeyField {
			out[name] = values
		}
	}
	return out
}
