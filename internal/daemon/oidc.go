package daemon

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/identity"
)

// OIDC is the company's identity provider, at which users of the dashboard may sign in. Without an issuer there is
// none.
type OIDC struct {
	Issuer   string // as the provider writes it: https://login.example.com
	ClientID string
	// Secret is the client's; or it is the only line of SecretFile. A public client has none.
	Secret, SecretFile string
	Name               string        // text of the button, "" for the usual one
	Timeout            time.Duration // of a call of the provider; 0 means 10 seconds
}

// open returns the provider, nil without an issuer. It calls nobody: the service starts while the provider is down.
func (o OIDC) open(publicURL string, now func() time.Time) (*identity.Provider, error) {
	if o.Issuer == "" {
		if o.ClientID != "" || o.Secret != "" || o.SecretFile != "" || o.Name != "" {
			return nil, errors.New("there are settings of a company's identity provider, but no provider: set --oidc-issuer too")
		}
		return nil, nil
	}
	if o.ClientID == "" {
		return nil, errors.New("there is a company's identity provider, but no client id: set --oidc-client-id too")
	}
	if o.SecretFile != "" {
		if o.Secret != "" {
			return nil, errors.New("the secret of the identity provider is set twice: by --oidc-client-secret-file and by CASCADA_OIDC_CLIENT_SECRET")
		}
		text, err := os.ReadFile(o.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("read the secret of the identity provider: %w", err)
		}
		if o.Secret = strings.TrimRight(string(text), "\r\n"); o.Secret == "" || strings.ContainsAny(o.Secret, "\r\n") {
			return nil, fmt.Errorf("%s: want one line, the secret of the identity provider", o.SecretFile)
		}
	}
	provider, err := identity.New(identity.Config{
		Issuer: o.Issuer, ClientID: o.ClientID, Secret: o.Secret, Redirect: publicURL + frame.Base + "/sign-in/company/back", Now: now, Timeout: o.Timeout,
	})
	if err != nil {
		return nil, fmt.Errorf("--oidc-issuer: %w", err)
	}
	return provider, nil
}
