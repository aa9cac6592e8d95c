package app

import (
	"net/http"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/api"
	"punchcard/server/dev"
	"punchcard/server/dev/seed"
	"punchcard/webhook"
)

// mountFixture fills the store of a fixture and adds its control API to the router. start is the
// state to begin with, nil for the demo shop, and before the seed of its random numbers.
func (i *instance) mountFixture(
	a *App,
	router *httprouter.Router,
	start *image,
	before string,
	targets *webhook.Guard,
	keys *api.Guard,
	journal *dev.Journal,
) (err error) {
	c := a.conf
	if start != nil {
		i.Ready = start.ready.At(a.Origin)
	} else if i.Ready, err = seed.Demo(i.Store, a.Origin); err != nil {
		return err
	}
	faults, receivers := dev.NewFaults(i.ctx, i.kernel, fixtureAPIs), dev.NewReceivers(i.ctx, i.kernel, c.Dev.Clock.Now, a.Origin)
	receivers.Rand = c.Dev.rand(before)
	receivers.CheckTarget, receivers.Timeout = CheckTarget(targets), time.Duration(c.Limits.WebhookDeliveryTimeoutMS)*time.Millisecond
	receivers.Transport = func() *http.Transport { return targets.Transport(1) }
	control := &dev.Control{
		Store:     i.Store,
		Kernel:    i.kernel,
		Clock:     c.Dev.Clock,
		Mail:      &i.mail,
		Ready:     i.Ready,
		Hosts:     i.hosts,
		Settle:    i.settle,
		Wipe:      i.wipe,
		Due:       i.due,
		Context:   i.ctx,
		Reset:     a.Reset,
		History:   a.history(c.Dev),
		Samples:   i.samples,
		Journal:   journal,
		Faults:    faults,
		Receivers: receivers,
		Phones:    i.phones,
		SetKeyLimit: func(key int64, perMinute int) {
			keys.SetLimit(key, perMinute)
			i.mcp.SetLimit(key, perMinute)
		},
	}
	control.Mount(router)
	if !c.Dev.Bare {
		i.Handler = journal.Wrap(faults.Wrap(i.Handler))
	}
	return nil
}
