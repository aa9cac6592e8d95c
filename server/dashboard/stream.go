package dashboard

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/web"
	"punchcard/store"
)

// The bounds of streams of server-sent events.
const (
	maxOwn      = 6                // of one person at once
	streamPause = time.Second      // between two messages of a stream
	streamBeat  = 20 * time.Second // between the heartbeats of a stream without news
	streamWrite = 10 * time.Second // that a message may take
)

// streams are the open streams. While there are any, they are woken after changes of the
// file, by this or another process.
type streams struct {
	ctx  context.Context // ends all streams
	st   *store.Store
	max  int
	mu   sync.Mutex
	wake map[chan struct{}]int64 // with the person who reads each
	stop context.CancelFunc      // ends watching the file
}

func newStreams(ctx context.Context, st *store.Store, max int) *streams {
	return &streams{ctx: ctx, st: st, max: max, wake: map[chan struct{}]int64{}}
}

// join adds a stream of a person. It returns a channel that gets a value after changes, and
// the function that removes the stream. ok is false if there are too many, in all or of the
// person.
func (s *streams) join(person int64) (wake <-chan struct{}, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	for _, reader := range s.wake {
		if reader == person {
			own++
		}
	}
	if own >= maxOwn || len(s.wake) >= s.max {
		return nil, nil, false
	}
	if len(s.wake) == 0 {
		ctx, stop := context.WithCancel(s.ctx)
		s.stop = stop
		go s.watch(ctx)
	}
	c := make(chan struct{}, 1)
	s.wake[c] = person
	return c, func() { s.leave(c) }, true
}

func (s *streams) leave(c chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.wake, c)
	if len(s.wake) == 0 {
		s.stop()
	}
}

// watch wakes the streams after changes until ctx is done: every second where the store
// announces none.
func (s *streams) watch(ctx context.Context) {
	s.st.Watch(ctx, s.announce)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(streamPause):
			s.announce()
		}
	}
}

func (s *streams) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.wake {
		select {
		case c <- struct{}{}:
		default: // a wake-up is pending
		}
	}
}

// stream answers with a stream of server-sent events. A message has the parts of a page, whose data
// read returns; it is sent when they have changed, at most once a second. The
// stream ends with the session, and when the person looks at another shop.
func (v *visit) stream(page string, read func() (any, error)) error {
	render := func() ([]byte, error) {
		data, err := read()
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = v.templates.Fragment(&b, page, "parts", data, v.Printer)
		return b.Bytes(), err
	}
	web.SetHeaders(v.w.Header())
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no")
	if v.r.Method == http.MethodHead {
		return nil
	}
	wake, leave, ok := v.streams.join(v.person.User)
	if !ok {
		return kernel.Refuse(store.RateLimited, "Too many pages are open.")
	}
	defer leave()
	first, err := render()
	if err != nil {
		return err
	}
	http.NewResponseController(v.w).SetReadDeadline(time.Time{}) // else the server would end the request's context
	v.w.WriteHeader(http.StatusOK)
	send := func(message []byte) bool { return web.SendMessage(v.w, message, streamWrite) == nil }
	if !send(message(first)) {
		return nil
	}
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for {
		idle := false
		select {
		case <-v.streams.ctx.Done():
			return nil
		case <-v.r.Context().Done():
			return nil
		case <-beat.C:
			idle = true
		case <-wake:
		}
		next, err := v.renderAgain(render)
		switch {
		case err != nil:
			send([]byte("event: reload\ndata: \n\n"))
			return nil
		case !bytes.Equal(next, first):
			first = next
			if !send(message(next)) {
				return nil
			}
		case idle && !send([]byte(":\n\n")):
			return nil
		}
		select {
		case <-v.streams.ctx.Done():
			return nil
		case <-v.r.Context().Done():
			return nil
		case <-time.After(streamPause):
		}
	}
}

// errOtherShop ends a stream.
var errOtherShop = errors.New("the person looks at another shop")

// renderAgain identifies the person again and calls render.
func (v *visit) renderAgain(render func() ([]byte, error)) (html []byte, err error) {
	shop, role := v.person.Shop, v.caller.Role
	err = v.identified(binding{}, func() error {
		if v.person.Shop != shop || v.caller.Role != role {
			return errOtherShop
		}
		html, err = render()
		return err
	})
	return html, err
}

// message returns a message with a text as its data.
func message(text []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}
