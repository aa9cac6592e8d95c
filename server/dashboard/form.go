package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

// maxForm is the maximum size of a form in bytes, files left out.
const maxForm = 256 << 10

// formValues returns what the form of a resource contains at first: the fields of its JSON, where
// what is nested has a path such as name_localizations.it.
func formValues(resource any) url.Values {
	dec := json.NewDecoder(bytes.NewReader(wire.Append(nil, resource)))
	dec.UseNumber()
	var fields any
	dec.Decode(&fields) // it is valid
	values := url.Values{}
	addValues(values, "", fields)
	return values
}

// addValues adds a value of JSON at a path.
func addValues(values url.Values, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			addValues(values, strings.TrimPrefix(path+"."+name, "."), v)
		}
	case []any:
		for i, v := range value {
			if _, nested := v.(map[string]any); nested {
				addValues(values, path+"."+strconv.Itoa(i), v)
			} else {
				addValues(values, path, v)
			}
		}
	case nil:
		values.Set(path, "")
	default:
		values.Add(path, fmt.Sprint(value))
	}
}

// action is what a form does.
type action struct {
	op *kernel.Operation
	// check checks what the form demands beyond the operation, and may choose the resource. It
	// is called for people alone who may invoke the operation.
	check func(*visit) error
	// upload is the field of a file of at most maxFile bytes. It is read after check. Such a form needs no
	// idempotency key: the same file again is like sending it once.
	upload  string
	maxFile int64
	// fields turns what a person typed into the operation's fields, such as euros into
	// cents. Nil: they are the same.
	fields func(*visit, url.Values) url.Values
	// params returns the ids that the operation gets. Nil: those in the path.
	params func(*visit) (map[string]string, error)
	// to is the path of the page after a success, where :id stands for the id in the path.
	to   string
	done web.Text // what that page says was done; empty: nothing
	word string   // for it in the path. Empty: the id of the operation
	// then answers a success instead; see [then].
	then answered
	// again shows the form again, with what is wrong. Nil: an error is a page.
	again     func(*visit) error
	asksAgain bool // again shows the page that asked; see [confirm]
	// at has the fields beside which refusals without details are shown.
	at map[store.Code]string
}

// answered invokes an operation and returns what answers its success.
type answered func(*visit, *kernel.Operation, kernel.Input) (finish func() error, err error)

// then returns what answers a success with what the operation has answered.
func then[O any](answer func(*visit, O) error) answered {
	return func(v *visit, op *kernel.Operation, in kernel.Input) (func() error, error) {
		out, err := read[O](v, op, in)
		if k, ok := any(out).(interface{ NewBrowserCookie() string }); ok && err == nil && k.NewBrowserCookie() != "" {
			v.setBrowser(k.NewBrowserCookie())
		}
		return func() error { return answer(v, out) }, err
	}
}

// path returns the path of the page after a success.
func (a action) path(v *visit) string { return strings.Replace(a.to, ":id", v.id(), 1) }

// says returns the word for what was done, empty for nothing.
func (a action) says() string {
	if a.done == "" {
		return ""
	}
	return cmp.Or(a.word, a.op.ID)
}

// run runs the operation and answers.
func (a action) run(v *visit) error {
	if err := a.begin(v); err != nil {
		return a.refuse(v, err)
	}
	in := &formInput{v, kernel.Form{Params: v.params, Fields: ownFields(v.form)}}
	if len(v.file) > 0 {
		in.Fields.Set(a.upload, string(v.file))
	}
	if a.fields != nil {
		in.Fields = a.fields(v, in.Fields)
	}
	var err error
	if a.params != nil {
		if in.Params, err = a.params(v); err != nil {
			return err
		}
	}
	finish := func() error { return v.redirect(a.path(v), a.says()) }
	if a.then != nil {
		finish, err = a.then(v, a.op, in)
	} else {
		_, err = v.Kernel.Invoke(v.r.Context(), v.caller, a.op, in)
	}
	if err != nil {
		return a.refuse(v, err)
	}
	return finish()
}

// begin checks what the form demands, and reads its file.
func (a action) begin(v *visit) error {
	if a.check == nil && a.upload == "" {
		return nil
	}
	err := v.require(a.op)
	if err == nil && a.check != nil {
		err = a.check(v)
	}
	if err == nil && a.upload != "" {
		err = v.readUpload(a.upload, a.maxFile)
	}
	return err
}

// refuse shows the form again if the error is about what a person filled in.
func (a action) refuse(v *visit, err error) error {
	if a.again == nil || !faulty(err) {
		return err
	}
	v.faultyForm(err, a.at)
	return a.again(v)
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

// faultyForm makes the form that was sent that of the page, with what is wrong. at has the fields of
// codes without details.
func (v *visit) faultyForm(err error, at map[store.Code]string) {
	f := v.newForm(v.form)
	v.shown = f
	e := v.Kernel.Report(v.w, err)
	v.formStatus = e.Status
	e.SetRetryAfter(v.w.Header())
	for _, d := range e.Details {
		field, _, _ := strings.Cut(d.Field, ".")
		for _, name := range []string{d.Field, field} {
			if f.Errors[name] == "" {
				f.Errors[name] = v.problem(d)
			}
		}
	}
	if len(e.Details) > 0 {
		return
	}
	text, args, field := web.Refusal(e.Message, v.requestID())
	problem := v.T(text, args...)
	if e.Status == http.StatusTooManyRequests && e.RetryAfter > 0 {
		problem = v.T("Too many attempts.") + " " + tryAgain(v.Printer, e.RetryAfter)
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
}

// problem says what is wrong with a field as a sentence that stands beside it.
func (v *visit) problem(d store.Detail) string {
	text, args, _ := web.Refusal(strings.TrimPrefix(d.Message, d.Field+" "), v.requestID())
	if !strings.HasSuffix(d.Field, "_cents") {
		return v.T(text, args...)
	}
	if d.Code == wire.CodeInvalidType {
		return v.T("Enter an amount, such as {0}.", v.Amount(350, v.shop().Currency))
	}
	for i, arg := range args {
		if cents, ok := arg.(int64); ok {
			args[i] = v.money(cents)
		}
	}
	return v.T(text, args...)
}

// requestID returns the id of the request.
func (v *visit) requestID() string { return v.w.Header().Get("X-Request-Id") }

// formInput is the input of an operation that a form makes.
type formInput struct {
	*visit
	kernel.Form
}

// IdempotencyKey returns the random key that the form carries, so that a form which is
// sent twice acts once.
func (in *formInput) IdempotencyKey() (*kernel.IdempotencyKey, error) {
	value := in.form.Get(web.KeyField)
	switch {
	case in.caller.Session == nil || value == "": // the buttons of the frame have none
		return nil, nil
	case len(value) < 16 || len(value) > 64:
		return nil, store.InvalidField(web.KeyField, wire.CodeInvalidValue, "is not one of this page: open the form again")
	}
	return &kernel.IdempotencyKey{
		Value:   value + " " + in.r.URL.Path, // a form that waited for a proof is sent to two paths
		Method:  in.r.Method,
		Path:    in.r.URL.EscapedPath(),
		Body:    []byte(ownFields(in.form).Encode() + in.id()), // what is sent: the fields may depend on the store
		Success: http.StatusSeeOther,
		Status:  kernel.StatusOf,
	}, nil
}

// nonEmpty returns the parameters of a query that have a value: those of the names, or all.
func nonEmpty(q url.Values, names ...string) url.Values {
	fields := url.Values{}
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(q))
	}
	for _, name := range names {
		if value := q.Get(name); value != "" {
			fields.Set(name, value)
		}
	}
	return fields
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
