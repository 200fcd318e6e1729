package main

import (
	"os"

	"github.com/cascadapay/cascada/internal/daemon"
)

// oidcFlags name the company's identity provider, at which users of the dashboard may sign in (docs/OPERATIONS.md).
type oidcFlags struct {
	Issuer     string `name:"oidc-issuer" env:"CASCADA_OIDC_ISSUER" placeholder:"URL" help:"Identity provider at which users of the dashboard may sign in (OpenID Connect), such as https://login.example.com; none by default (${env})."`
	ClientID   string `name:"oidc-client-id" env:"CASCADA_OIDC_CLIENT_ID" placeholder:"ID" help:"Client id of this service at the identity provider (${env})."`
	SecretFile string `name:"oidc-client-secret-file" env:"CASCADA_OIDC_CLIENT_SECRET_FILE" placeholder:"FILE" help:"File with the client's secret (${env}). CASCADA_OIDC_CLIENT_SECRET may hold the secret itself."`
	Name       string `name:"oidc-name" env:"CASCADA_OIDC_NAME" placeholder:"TEXT" help:"Text of the button that leads to the identity provider, such as 'Sign in with Acme' (${env})."`
}

func (f oidcFlags) config() daemon.OIDC {
	return daemon.OIDC{Issuer: f.Issuer, ClientID: f.ClientID, Secret: os.Getenv("CASCADA_OIDC_CLIENT_SECRET"), SecretFile: f.SecretFile, Name: f.Name}
}
