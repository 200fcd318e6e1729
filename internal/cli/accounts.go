package cli

import (
	"errors"
	"net/url"

	"github.com/cascadapay/cascada/internal/provider"
)

// Registry lists the adapters of the providers at which accounts can be opened.
type Registry []provider.Adapter

// AccountFlags are the flags that the commands about provider accounts share.
type AccountFlags struct {
	DatabaseFlags
	PublicURL PublicURL `env:"CASCADA_PUBLIC_URL" placeholder:"URL" help:"Public URL of the service, for the notification URL (${env})."`
}

// PublicURL is the URL that the service's links begin with.
type PublicURL string

// Validate is called by kong.
func (p PublicURL) Validate() error {
	if p == "" {
		return nil
	}
	u, err := url.Parse(string(p))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("want http:// or https:// and a host, without user, query or fragment, such as https://pay.example.com")
	}
	return nil
}

// Fields returns the credentials that an adapter needs. It returns none for an unknown adapter,
// which is refused when the account is opened.
func (r Registry) Fields(name string) []provider.Field {
	for _, a := range r {
		if a.Name == name {
			return a.Fields
		}
	}
	return nil
}
