package holder

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// The bounds of streams of server-sent events.
const (
	streamsPerCard = 4
	streamPause    = 250 * time.Millisecond // between two messages of a stream
	streamBeat     = 20 * time.Second       // between the heartbeats of a stream without news
	streamWrite    = 10 * time.Second       // that a message may take
	streamRetry    = 30 * time.Second       // after which a page that was refused a stream may ask again
)

// streams are the open streams by the root of the card that they watch, so that a commit
// wakes those of its cards alone.
type streams struct {
	ctx  context.Context // ends all streams
	max  int
	mu   sync.Mutex
	open int
	of   map[int64][]*cardStream // oldest first

	checks chan *cardStream // see check
}

// cardStream is one stream.
type cardStream struct {
	wake   chan struct{} // gets a value after changes
	end    chan struct{} // closed when a newer stream takes its place
	valid  func() bool   // reports whether the link is valid
	answer chan bool     // of a check; of capacity 1
}

func newStreams(ctx context.Context, max int) *streams {
	s := &streams{ctx: ctx, max: max, of: map[int64][]*cardStream{}, checks: make(chan *cardStream)}
	go s.runChecks()
	return s
}

// join adds a stream of a card, in the place of the card's oldest one if it has as many as
// it may have: a phone that lost its connection leaves streams of which nobody learns that
// they have ended. ok is false if there are too many streams in all.
func (s *streams) join(root int64) (c *cardStream, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.of[root]
	if len(list) == streamsPerCard {
		close(list[0].end)
		list = list[1:]
		s.open--
	}
	if s.open >= s.max {
		return nil, false
	}
	c = &cardStream{wake: make(chan struct{}, 1), end: make(chan struct{}), answer: make(chan bool, 1)}
	s.of[root] = append(list[:len(list):len(list)], c)
	s.open++
	return c, true
}

// leave removes a stream, unless a newer one took its place.
func (s *streams) leave(root int64, c *cardStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.of[root]
	i := slices.Index(list, c)
	if i < 0 {
		return
	}
	s.open--
	if len(list) == 1 {
		delete(s.of, root)
		return
	}
	s.of[root] = slices.Delete(list, i, i+1)
}

// changed wakes the streams of cards.
func (s *streams) changed(roots []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		return
	}
	for _, root := range roots {
		for _, c := range s.of[root] {
			select {
			case c.wake <- struct{}{}:
			default: // a wake-up is pending
			}
		}
	}
}

// stream answers with a stream of server-sent events: "changed" when the page is to be
// read again, and "closed" when a newer stream took its place. It ends with the link.
func stream(v *visit) error {
	root, err := do[int64](v, operation.WatchCard, nil)
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	if v.r.Method == http.MethodHead {
		return nil
	}
	c, ok := v.streams.join(root)
	if !ok {
		return &kernel.Error{
			Status:     http.StatusServiceUnavailable,
			Code:       store.RateLimited,
			Message:    "Too many pages are open.",
			RetryAfter: streamRetry,
		}
	}
	// The function must not hold v, which holds the buffers of the request.
	pages, token := v.Pages, strings.Clone(v.token())
	c.valid = func() bool {
		_, err := kernel.Do[int64](
			pages.streams.ctx,
			pages.Kernel,
			kernel.HolderCaller(),
			operation.WatchCard,
			kernel.Args{Params: map[string]string{"token": token}},
		)
		return err == nil
	}
	rc := http.NewResponseController(v.w)
	if conn, _, err := rc.Hijack(); err == nil {
		go pages.streams.serveConn(root, c, conn, h.Clone())
		return nil
	}
	defer v.streams.leave(root, c)  // HTTP/2
	rc.SetReadDeadline(time.Time{}) // else the server would end the request's context
	v.w.WriteHeader(http.StatusOK)
	v.streams.pump(c, v.r.Context().Done(), func(message string) bool {
		return web.SendMessage(v.w, []byte(message), streamWrite) == nil
	})
	return nil
}

// serveConn writes the answer of a stream to its connection, which net/http has given up with
// its buffers and goroutines: they would take most of the memory of a stream
// (BenchmarkHolderStreams of server/e2e). It closes the connection.
func (s *streams) serveConn(root int64, c *cardStream, conn net.Conn, h http.Header) {
	defer conn.Close()
	defer s.leave(root, c) // before the page learns of the end
	conn.SetDeadline(time.Time{})
	gone := make(chan struct{})
	go func() {
		conn.Read(make([]byte, 1)) // a page sends nothing, so this ends with the connection
		close(gone)
	}()
	send := func(message string) bool {
		conn.SetWriteDeadline(time.Now().Add(streamWrite))
		_, err := io.WriteString(conn, message)
		return err == nil
	}
	if send(streamHead(h)) {
		s.pump(c, gone, send)
	}
}

// streamHead returns the beginning of the answer with the headers of a stream, which ends with
// the connection.
func streamHead(h http.Header) string {
	h.Set("Connection", "close")
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\n")
	h.Write(&b)
	b.WriteString("\r\n")
	return b.String()
}

// pump sends the messages of a stream until the page is gone, send fails, the link ends, or a
// newer stream takes its place.
func (s *streams) pump(c *cardStream, gone <-chan struct{}, send func(string) bool) {
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for message := beatMessage; send(message); {
		if message == changedMessage && !s.wait(streamPause, gone) {
			return
		}
		select {
		case <-s.ctx.Done():
			return
		case <-gone:
			return
		case <-c.end:
			send(closedMessage)
			return
		case <-beat.C:
			message = beatMessage
		case <-c.wake:
			message = changedMessage
			if !s.check(c) { // such as after a reissue
				send(message)
				return
			}
		}
	}
}

// The messages of streams.
const (
	beatMessage    = ":\n\n"
	changedMessage = "event: changed\ndata:\n\n"
	closedMessage  = "event: closed\ndata:\n\n"
)

// wait waits, and returns false if the stream ends meanwhile.
func (s *streams) wait(d time.Duration, gone <-chan struct{}) bool {
	select {
	case <-s.ctx.Done():
	case <-gone:
	case <-time.After(d):
		return true
	}
	return false
}

// check reports whether the link of a stream is valid. All streams have it checked by one
// goroutine, since a read makes the stack of its goroutine grow.
func (s *streams) check(c *cardStream) bool {
	select {
	case s.checks <- c:
		return <-c.answer
	case <-s.ctx.Done():
		return false
	}
}

// runChecks makes the checks until the end of all streams.
func (s *streams) runChecks() {
	for {
		select {
		case c := <-s.checks:
			c.answer <- c.valid()
		case <-s.ctx.Done():
			return
		}
	}
}
