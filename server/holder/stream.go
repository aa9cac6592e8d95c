package holder

import (
	"context"
	"net/http"
	"sync"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// The bounds of streams of server-sent events.
const (
	streamsPerCard = 4
	streamPause    = 250 * time.Millisecond // between two messages of a stream
	streamBeat     = 20 * time.Second       // after which a stream without news says that it is there
	streamWrite    = 10 * time.Second       // that a message may take
	streamRetry    = 30 * time.Second       // after which a page that got none may ask again
)

// streams are the open streams by the root of the card that they watch, so that a commit
// wakes those of its cards alone.
type streams struct {
	ctx  context.Context // ends all streams
	most int
	mu   sync.Mutex
	open int
	of   map[int64][]*cardStream // oldest first
}

// cardStream is one stream.
type cardStream struct {
	wake chan struct{} // gets a value after changes
	end  chan struct{} // closed when a newer stream takes its place
}

func newStreams(ctx context.Context, most int) *streams {
	return &streams{ctx: ctx, most: most, of: map[int64][]*cardStream{}}
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
	if s.open >= s.most {
		return nil, false
	}
	c = &cardStream{wake: make(chan struct{}, 1), end: make(chan struct{})}
	s.of[root] = append(list[:len(list):len(list)], c)
	s.open++
	return c, true
}

// leave removes a stream, unless a newer one took its place.
func (s *streams) leave(root int64, c *cardStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.of[root]
	for i := range list {
		if list[i] != c {
			continue
		}
		s.open--
		if len(list) == 1 {
			delete(s.of, root)
			return
		}
		s.of[root] = append(list[:i:i], list[i+1:]...)
		return
	}
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
			default: // it is awake
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
		return &kernel.Error{Status: http.StatusServiceUnavailable, Code: store.RateLimited, Message: "Too many pages are open.", RetryAfter: streamRetry}
	}
	defer v.streams.leave(root, c)
	rc := http.NewResponseController(v.w)
	rc.SetReadDeadline(time.Time{}) // else the server would end the request's context
	v.w.WriteHeader(http.StatusOK)
	send := func(message string) bool {
		rc.SetWriteDeadline(time.Now().Add(streamWrite))
		_, err := v.w.Write([]byte(message))
		return err == nil && rc.Flush() == nil
	}
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for message := beatMessage; send(message); {
		if message == changedMessage && !v.wait(streamPause) {
			return nil
		}
		select {
		case <-v.streams.ctx.Done():
			return nil
		case <-v.r.Context().Done():
			return nil
		case <-c.end:
			send(closedMessage)
			return nil
		case <-beat.C:
			message = beatMessage
		case <-c.wake:
			message = changedMessage
			if _, err := do[int64](v, operation.WatchCard, nil); err != nil { // such as after a reissue
				send(message)
				return nil
			}
		}
	}
	return nil
}

// The messages of streams.
const (
	beatMessage    = ":\n\n"
	changedMessage = "event: changed\ndata:\n\n"
	closedMessage  = "event: closed\ndata:\n\n"
)

// wait waits, and returns false if the stream ends meanwhile.
func (v *visit) wait(d time.Duration) bool {
	select {
	case <-v.streams.ctx.Done():
	case <-v.r.Context().Done():
	case <-time.After(d):
		return true
	}
	return false
}
