package webhook

import (
	"testing"

	"punchcard/store"
)

// What is given back while the queue is read was left out of the reading, so
// that nothing may be taken for past on the strength of it.
func TestGivenBackWhileReading(t *testing.T) {
	l := newLane(nil, 1)
	l.take(l.ask(), store.Due{Fresh: []int64{11, 12}, Last: 12})
	l.over(11, false)
	asked := l.ask()
	l.over(12, false)
	l.take(asked, store.Due{Fresh: []int64{11, 13}, Last: 13})
	if through := l.through(13); through >= 11 {
		t.Errorf("11 and 12 wait, and the file would say that nothing does up to %d", through)
	}
	l.over(11, true)
	if next := l.ask(); next.after >= 12 {
		t.Errorf("12 waits, and the queue is read behind %d", next.after)
	}
}
