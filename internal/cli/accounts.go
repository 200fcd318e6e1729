package cli

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/provider"
)

// Registry is the adapters that accounts may be opened at.
type Registry []provider.Adapter

// AccountFlags is the flags that the commands of provider accounts share.
type AccountFlags struct {
	DatabaseFlags
	PublicURL PublicURL `env:"CASCADA_PUBLIC_URL" placeholder:"URL" help:"Where the service is reached, for the notification URL (${env})."`
}

// Over is the use cases over a database that is there, with the clients of its provider accounts.
func (d AccountFlags) Over(ctx context.Context, log *slog.Logger, adapters Registry) (*app.App, error) {
	c := d.OperatorConfig(log)
	c.PublicURL, c.Adapters = strings.TrimSuffix(string(d.PublicURL), "/"), adapters
	return daemon.Open(ctx, c)
}

// PublicURL is an address that links begin with.
type PublicURL string

// Validate is asked by kong.
func (p PublicURL) Validate() error {
	if p == "" {
		return nil
	}
	u, err := url.Parse(string(p))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("want http:// or https://, a host, and nothing secret, such as https://pay.example.com")
	}
	return nil
}

// Fields are the credentials of an adapter; none where there is no such one, which
// is told by whoever opens the account.
func (r Registry) Fields(name string) []provider.Field {
	for _, a := range r {
		if a.Name == name {
			return a.Fields
		}
	}
	return nil
}
