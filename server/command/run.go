package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"punchcard/server/app"
)

// signaled is done at SIGINT or SIGTERM, from CatchSignals on; nil without it.
var signaled context.Context

// CatchSignals catches SIGINT and SIGTERM if the arguments begin with a command that ends with
// status 0 by them. main calls it before it does anything else, so that no signal is missed.
func CatchSignals(args []string) {
	if len(args) > 0 && (args[0] == "serve" || args[0] == "dev") {
		signaled = untilSignal()
	}
}

// untilSignal returns a context that SIGINT and SIGTERM cancel. A second signal ends the process at
// once.
func untilSignal() context.Context {
	ctx, stop := interruptible()
	context.AfterFunc(ctx, stop)
	return ctx
}

// untilStdinCloses returns a context that also ends when standard input closes. It returns ctx
// itself at a terminal, whose end is a key for people.
func untilStdinCloses(ctx context.Context) (context.Context, error) {
	const flag = "--exit-with-stdin (PUNCHCARD_EXIT_WITH_STDIN)"
	info, err := os.Stdin.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	null, err := os.Stat(os.DevNull)
	if err == nil && os.SameFile(info, null) || info.Mode().IsRegular() {
		return nil, errors.New(
			flag + ": standard input is the null device or a file, which is at its end already; it must be a pipe that stays open",
		)
	}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		return ctx, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, os.Stdin) // an error is an end too
		cancel()
	}()
	return ctx, nil
}

// run serves until a signal arrives, and then until requests in flight are finished. It calls
// ready when the server serves. A signal that arrives before ends the start, with nothing half
// done.
func (s Server) run(conf app.Config, ready func(*app.App) error) (err error) {
	ctx := signaled
	if ctx == nil {
		ctx = untilSignal()
	}
	if s.ExitWithStdin {
		if ctx, err = untilStdinCloses(ctx); err != nil {
			return err
		}
	}
	conf.Context = ctx
	a, err := app.Start(conf)
	if errors.Is(err, context.Canceled) {
		conf.Log.Info("stopped before it served", "why", err)
		return nil
	}
	if err != nil {
		return orWithoutCopy(err)
	}
	if err = ready(a); err == nil {
		select {
		case <-ctx.Done():
		case err = <-a.Wait():
		}
	}
	if err == nil && conf.Dev == nil {
		conf.Log.Info("stopping: requests in flight are finished, at most for --shutdown-timeout", "timeout", s.ShutdownTimeout)
	}
	end, cancel := context.WithTimeout(context.Background(), s.ShutdownTimeout)
	defer cancel()
	if serr := a.Stop(end); err == nil {
		err = serr
	}
	return err
}
