package mercadopago

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// Credentials of an account that pays out.
const (
	countryField = "country"
	signingKey   = "signingKey"
)

// pixRail is the one rail: Mercado Pago's documents agree about Brazil alone.
const pixRail = "pix.BRL"

// elsewhere are the countries of its documents that an account cannot be in, and why.
var elsewhere = map[string]string{
	"CL": "payouts in Chile are not served: of Mercado Pago's own documents some describe them by this call and some do not, and none has the codes of the banks",
	"MX": "payouts in Mexico are not served: Mercado Pago's newer documents have another call for them, /v1/payouts, which this adapter does not have",
}

// PayoutAdapter is the adapter for accounts at Mercado Pago that pay out.
func PayoutAdapter() provider.Adapter {
	return provider.Adapter{
		Name: "mercadopago-payouts",
		Fields: []provider.Field{
			{Name: accessToken, Doc: "Your integrations › application › credentials › Access Token (APP_USR-… or TEST-…). Mercado Pago has to enable Payouts for the account, and the account needs a Pix key of its own"},
			{Name: countryField, Public: true, Doc: "the country of the account: BR. One account pays out in one country, and only Brazil (Pix) is served"},
			{Name: signingKey, Optional: true, Doc: "the private Ed25519 key whose public key is registered with Mercado Pago's Integrations team (openssl genpkey -algorithm ed25519): the PEM, or the Base64 of it. Production needs it"},
		},
		Rails:       []string{pixRail},
		Needs:       map[string][]pay.HolderField{pixRail: {pay.HolderDocument}},
		OpenPayouts: openPayouts,
	}
}

// payer is an account that pays out.
type payer struct {
	account *account
	key     ed25519.PrivateKey
}

func openPayouts(a provider.Account) (payouts.Provider, error) {
	c, err := newAccount(a)
	if err != nil {
		return nil, err
	}
	country, err := a.Credential(countryField, 2)
	if err != nil {
		return nil, err
	}
	if country != "BR" {
		reason := elsewhere[country]
		if reason == "" {
			reason = "it has to be BR"
		}
		return nil, &provider.FieldError{Field: countryField, Reason: reason}
	}
	p := &payer{account: c}
	switch text := a.Credentials[signingKey]; {
	case text != "":
		if p.key = parseSigningKey(text); p.key == nil {
			return nil, &provider.FieldError{Field: signingKey, Reason: "it has to be a private Ed25519 key in PEM"}
		}
	case a.Live:
		return nil, &provider.FieldError{Field: signingKey, Reason: "it is missing: production accepts only signed payouts"}
	}
	return p, nil
}

// parseSigningKey reads a key as openssl writes it, or the Base64 of that; nil if it is not
// one.
func parseSigningKey(text string) ed25519.PrivateKey {
	file := []byte(strings.TrimSpace(text))
	if decoded, err := base64.StdEncoding.DecodeString(string(file)); err == nil {
		file = decoded
	}
	block, _ := pem.Decode(file)
	if block == nil {
		return nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil
	}
	return key
}

// Send makes the payout. If its id at Mercado Pago is known, it queries the payout instead.
// The key makes a repetition safe, but the answer to one is not documented, so then only an
// answer with a payout counts.
func (p *payer) Send(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	if r.ProviderRef != "" {
		return p.Query(ctx, r)
	}
	to, wrong := p.receiver(r)
	if wrong != nil {
		return onFirstCall(r, *wrong)
	}
	answer, lost := p.call(ctx, http.MethodPost, intents+"process", p.order(r, to), "payout/"+r.Reference)
	switch {
	case lost != nil && lost.Kind != pay.Unknown: // it never left
		return onFirstCall(r, payouts.Unavailable("unreachable", "the provider could not be reached"))
	case lost != nil:
		return payouts.Unknown("there is no answer (" + lost.Decline + ")")
	case answer.Status < 200 || answer.Status > 299:
		return onFirstCall(r, declined(answer))
	}
	made, ok := readIntent(answer)
	if !ok || string(made.Reference) != r.Reference {
		return payouts.Unknown("the provider's answer cannot be read")
	}
	return p.outcome(made)
}

// onFirstCall is the outcome of a call that did nothing. It stands only if no other call
// was begun under the reference.
func onFirstCall(r payouts.Request, o pay.PayoutOutcome) pay.PayoutOutcome {
	if r.Calls == 1 {
		return o
	}
	return payouts.Unknown("this call did nothing, but what an earlier one did is not known: " + o.Message)
}

// Query reads the payout by the id from an answer or a notification. Our reference cannot
// be queried.
func (p *payer) Query(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	if !isIntentID(r.ProviderRef) {
		return payouts.Unknown("the provider's id of the payout is not known yet: a notification has to bring it")
	}
	found, err := p.get(ctx, r.ProviderRef)
	switch {
	case errors.Is(err, errNoIntent):
		return payouts.Unknown("the payout was there, but is not found now")
	case err != nil:
		return payouts.Unknown("the query got no usable answer")
	case string(found.Reference) != r.Reference:
		return payouts.Unknown("the payout under the provider's id is another one")
	}
	return p.outcome(found)
}

// nobody has the form of an id, but belongs to no user.
const nobody = "0-00000000000000000000000000"

// Check queries a payout that does not exist: an account without permission gets an error.
func (p *payer) Check(ctx context.Context) error {
	answer, lost := p.call(ctx, http.MethodGet, intents+nobody, nil, "")
	barred := []int{http.StatusUnauthorized, http.StatusForbidden}
	switch {
	case lost != nil:
		return errors.New("the provider does not answer: " + lost.Decline)
	case noIntent(answer):
		return nil
	case slices.Contains(barred, answer.Status), declined(answer).Code == notPermitted:
		return errors.New("the access token is refused, or payouts are not enabled for the account")
	}
	return errors.New("the provider answers " + provider.Refused(answer.Status).Decline)
}
