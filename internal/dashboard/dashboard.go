// Package dashboard is the web interface of merchants' staff and operators, at /dashboard. Its pages are made on
// the server; scripts make them faster and live. It decides nothing: pages call the use cases of internal/app.
//
// frame has what all pages share. Every other package is a room: the pages of one part, with their templates
// and texts.
package dashboard

import (
	"log/slog"
	"net/url"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/dashboard/merchants"
	"github.com/cascadapay/cascada/internal/work"
)

// Config is what the dashboard needs.
type Config struct {
	App     *app.App
	Gate    frame.Gate
	Log     *slog.Logger
	Now     func() time.Time
	URL     string // the public URL of the service
	Version string
	Preview merchants.Preview  // shows the checkout with a brand that is not saved
	Loops   func() []work.Done // what the loops of this node did
}

// New returns the dashboard with all its rooms. Serve it at /dashboard and below.
func New(c Config) (*frame.Site, error) {
	public, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	f, err := frame.New(frame.Config{Log: c.Log, Now: c.Now, Root: public.Path, Docs: "/docs", Version: c.Version})
	if err != nil {
		return nil, err
	}
	site, err := frame.NewSite(f, frame.Uses{Base: c.App.Base, Access: c.App.Access, People: c.App.People}, c.Gate, c.Log, c.URL)
	if err != nil {
		return nil, err
	}
	if err := register(site, c); err != nil {
		return nil, err
	}
	return site, nil
}
