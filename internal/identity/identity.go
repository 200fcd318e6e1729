// Package identity asks a company's identity provider who somebody is (OpenID Connect). It knows no users.
package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

// usualTimeout is how long a call of the provider may take.
const usualTimeout = 10 * time.Second

// Config configures a Provider.
type Config struct {
	Issuer   string // https://login.example.com, as the provider writes it
	ClientID string
	Secret   string           // "": a public client, which PKCE alone protects
	Redirect string           // where the provider sends the browser back to
	Now      func() time.Time // the clock; tokens expire by it
	Timeout  time.Duration    // of a call; 0 means 10 seconds
	Client   *http.Client     // nil: one with the timeout
}

// Provider is an identity provider. What it offers is read when it is first needed, so that the service starts
// without it. It is safe for use by many goroutines.
type Provider struct {
	config  Config
	found   atomic.Pointer[oidc.Provider]
	finding singleflight.Group
}

// ErrDown means that the provider does not answer, or does not answer like an identity provider.
var ErrDown = errors.New("the identity provider cannot be used")

// ErrRefused means that the provider refused, or that its answer cannot be trusted.
var ErrRefused = errors.New("the identity provider's answer was refused")

// New returns a provider. It calls nobody.
func New(c Config) (*Provider, error) {
	u, err := url.Parse(c.Issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, errors.New("the issuer is not an https address: want one such as https://login.example.com, as the identity provider writes it")
	}
	if c.ClientID == "" {
		return nil, errors.New("the identity provider needs a client id")
	}
	if c.Timeout == 0 {
		c.Timeout = usualTimeout
	}
	if c.Client == nil {
		c.Client = &http.Client{Timeout: c.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the identity provider redirects, and the client's secret goes to nobody else") // followed, a redirect takes it along
		}}
	}
	return &Provider{config: c}, nil
}

// loopback reports whether a host can only be this machine.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// discover reads what the provider offers, once. All who wait for it get the same answer.
//
// Errors: ErrDown.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	if found := p.found.Load(); found != nil {
		return found, nil
	}
	got, err, _ := p.finding.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.config.Timeout)
		defer cancel()
		found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.config.Client), p.config.Issuer)
		if err == nil {
			p.found.Store(found)
		}
		return found, err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDown, err)
	}
	return got.(*oidc.Provider), nil
}

// client is this service as the provider knows it. It fixes how the secret is sent: trying both ways, as the
// library would, uses up the code at some providers.
func (p *Provider) client(found *oidc.Provider) *oauth2.Config {
	var offers struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	endpoint := found.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if err := found.Claims(&offers); err == nil && len(offers.Methods) > 0 && !slices.Contains(offers.Methods, "client_secret_basic") || p.config.Secret == "" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: p.config.Secret, Endpoint: endpoint, RedirectURL: p.config.Redirect,
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// Challenge is a question to the provider, which the browser keeps until the answer. Nobody else may read it.
type Challenge struct {
	State    string `json:"s"` // ties the answer to the browser
	Nonce    string `json:"n"` // ties the token to the question
	Verifier string `json:"v"` // of PKCE: ties the code to whoever asked
}

// Ask returns a question, and the address at the provider to which the browser must go.
//
// Errors: ErrDown.
func (p *Provider) Ask(ctx context.Context) (a Challenge, address string, err error) {
	found, err := p.discover(ctx)
	if err != nil {
		return a, "", err
	}
	a = Challenge{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return a, p.client(found).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Person is who somebody is, as the provider says.
type Person struct {
	Issuer, Subject string // together they name the person, for ever
	Email           string // "" if the provider gives none, or has not verified it
	Name            string
}

// Answered checks the answer to a question: the state and the code with which the browser came back.
//
// Errors: ErrDown, ErrRefused.
func (p *Provider) Answered(ctx context.Context, a Challenge, state, code string) (Person, error) {
	if a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) != 1 || code == "" {
		return Person{}, fmt.Errorf("%w: the state is another one", ErrRefused)
	}
	found, err := p.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.config.Client), p.config.Timeout)
	defer cancel()
	token, err := p.client(found).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		if told, ok := errors.AsType[*oauth2.RetrieveError](err); ok && told.Response.StatusCode < http.StatusInternalServerError {
			return Person{}, fmt.Errorf("%w: the code was refused: %s", ErrRefused, told.ErrorCode)
		}
		return Person{}, fmt.Errorf("%w: %w", ErrDown, err)
	}
	raw, _ := token.Extra("id_token").(string)
	return p.read(ctx, found, a, raw)
}

// read checks an ID token: signature, issuer, audience, expiry and nonce.
func (p *Provider) read(ctx context.Context, found *oidc.Provider, a Challenge, raw string) (Person, error) {
	token, err := found.Verifier(&oidc.Config{ClientID: p.config.ClientID, Now: p.config.Now}).Verify(ctx, raw)
	if err != nil {
		return Person{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(a.Nonce)) != 1 {
		return Person{}, fmt.Errorf("%w: the token has another nonce", ErrRefused)
	}
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some providers write it as a text
		Name     string `json:"name"`
		Party    string `json:"azp"`
	}
	if err := token.Claims(&claims); err != nil {
		return Person{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if token.Subject == "" || claims.Party != "" && claims.Party != p.config.ClientID {
		return Person{}, fmt.Errorf("%w: the token is for somebody else", ErrRefused)
	}
	person := Person{Issuer: token.Issuer, Subject: token.Subject, Name: claims.Name}
	if claims.Verified == true || claims.Verified == "true" {
		person.Email = claims.Email
	}
	return person, nil
}
