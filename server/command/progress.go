package command

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"punchcard/store"
)

// When the progress of long work is shown: on a terminal after firstDraw and then every
// redraw, elsewhere by a line of the log every logEvery.
const (
	firstDraw = 500 * time.Millisecond
	redraw    = 200 * time.Millisecond
	logEvery  = 10 * time.Second
)

// defaultWidth is the width in columns of a terminal that does not tell its own.
const defaultWidth = 80

// progress shows how far long work is. Its method report is a store.Progress.
type progress struct {
	terminal io.Writer  // nil: the log is written
	width    func() int // of the terminal, in columns
	log      *slog.Logger
	// signals ends the process on SIGINT and SIGTERM as if nobody caught them, once the
	// line is removed. It is false for commands that catch them.
	signals bool

	mu    sync.Mutex
	step  store.Step
	done  int64
	total int64
	began time.Time     // the step
	quit  chan struct{} // closed when the work has ended; nil while there is none
	ended chan struct{} // closed when the line is removed
}

// showProgress returns a progress on stderr: a line that is drawn again and again if that
// is a terminal, and lines of the log otherwise.
func showProgress(log *slog.Logger, signals bool) *progress {
	p := &progress{log: log, signals: signals}
	if fd := int(os.Stderr.Fd()); term.IsTerminal(fd) && os.Getenv("TERM") != "dumb" {
		p.terminal, p.width = os.Stderr, func() int {
			width, _, err := term.GetSize(fd)
			if err != nil || width <= 0 {
				return defaultWidth
			}
			return width
		}
	}
	return p
}

// commandProgress returns the Progress of a command that has no log of its own: its log is
// that of serve with the default flags. Tests replace it.
var commandProgress = func(signals bool) store.Progress {
	return showProgress(slog.New(slog.NewTextHandler(os.Stderr, nil)), signals).report
}

// report notes how far the work is, and begins to show it. With the zero step it removes
// the line before it returns.
func (p *progress) report(step store.Step, done, total int64) {
	p.mu.Lock()
	if step == (store.Step{}) {
		quit := p.quit
		p.quit, p.step = nil, step
		p.mu.Unlock()
		if quit != nil {
			close(quit)
			<-p.ended
		}
		return
	}
	defer p.mu.Unlock()
	if step != p.step || done < p.done {
		p.began = time.Now()
	}
	p.step, p.done, p.total = step, done, total
	if p.quit == nil {
		p.quit, p.ended = make(chan struct{}), make(chan struct{})
		go p.show(p.quit, p.ended)
	}
}

// show shows the progress until quit is closed.
func (p *progress) show(quit, ended chan struct{}) {
	defer close(ended)
	if p.terminal != nil {
		p.draw(quit)
		return
	}
	ticker := time.NewTicker(logEvery)
	defer ticker.Stop()
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
			p.log.Info("progress", p.state().attrs()...)
		}
	}
}

// draw draws the line on the terminal until quit is closed, and removes it.
func (p *progress) draw(quit chan struct{}) {
	signaled := make(chan os.Signal, 1)
	if p.signals {
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			if !signal.Ignored(sig) {
				signal.Notify(signaled, sig)
			}
		}
		defer signal.Stop(signaled)
	}
	drawn := false
	remove := func() {
		if drawn { // the whole line, since the terminal may have added ^C
			fmt.Fprintf(p.terminal, "\r%s\r", strings.Repeat(" ", max(0, p.width()-1)))
		}
	}
	defer remove()
	timer := time.NewTimer(firstDraw)
	defer timer.Stop()
	for last := 0; ; {
		select {
		case <-quit:
			return
		case sig := <-signaled:
			remove()
			raise(sig)
		case <-timer.C:
			width := p.width() - 1 // the last column would wrap
			line := p.state().line(width)
			fmt.Fprintf(p.terminal, "\r%-*s", max(0, min(last, width)), line)
			last, drawn = len(line), true
			timer.Reset(redraw)
		}
	}
}

// raise ends the process by a signal that it has caught.
func raise(sig os.Signal) {
	signal.Reset(sig)
	self, err := os.FindProcess(os.Getpid())
	if err != nil || self.Signal(sig) != nil {
		os.Exit(1)
	}
	select {} // until the signal arrives
}

// state returns how far the work is now.
func (p *progress) state() progressState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return progressState{p.step, p.done, p.total, time.Since(p.began)}
}

// progressState is how far a step is.
type progressState struct {
	store.Step
	done, total int64
	elapsed     time.Duration // since the step began
}

// percent returns the part that is done, from 0 to 100.
func (s progressState) percent() int64 { return int64(float64(s.done) / float64(s.total) * 100) }

// rate returns the units per second; 0 while it is not known.
func (s progressState) rate() float64 {
	if s.total == 0 || s.elapsed <= 0 {
		return 0
	}
	return float64(s.done) / s.elapsed.Seconds()
}

// left returns the time that the rest takes at the rate, in whole seconds.
func (s progressState) left() time.Duration {
	return time.Duration(float64(s.total-s.done) / s.rate() * float64(time.Second)).Round(time.Second)
}

// line returns the line on a terminal, which is ASCII and has at most most columns: a long
// name loses its end. A step whose total is not known has the time since it began.
func (s progressState) line(width int) string {
	figures := ": "
	switch {
	case s.total == 0:
		figures += s.elapsed.Round(time.Second).String()
	case s.rate() == 0:
		figures += fmt.Sprintf("%d %%, %v", s.percent(), s.elapsed.Round(time.Second))
	default:
		figures += fmt.Sprintf("%d %%, %s, %v left", s.percent(), s.rateText(), s.left())
	}
	line := s.Name[:min(len(s.Name), max(0, width-len(figures)))] + figures
	return line[:max(0, min(len(line), width))]
}

// rateText returns the rate for people, such as 83.1 MB/s or 61k rows/s.
func (s progressState) rateText() string {
	rate := s.rate()
	switch {
	case s.Unit == store.Bytes:
		return fmt.Sprintf("%.1f MB/s", rate/1e6)
	case rate >= 1e6:
		return fmt.Sprintf("%.1fM %s/s", rate/1e6, s.Unit)
	case rate >= 10e3:
		return fmt.Sprintf("%.0fk %s/s", rate/1e3, s.Unit)
	}
	return fmt.Sprintf("%.0f %s/s", rate, s.Unit)
}

// attrs returns the attributes of a line of the log.
func (s progressState) attrs() []any {
	attrs := []any{"step", s.Name, "elapsed", s.elapsed.Round(time.Second)}
	if s.total > 0 {
		attrs = append(attrs, "percent", s.percent())
	}
	if s.rate() > 0 {
		attrs = append(attrs, s.Unit+"_per_second", int64(s.rate()), "left", s.left())
	}
	return attrs
}
