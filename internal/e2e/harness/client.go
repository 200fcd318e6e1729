package harness

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/auth"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Pair logs in: it exchanges the shop's sandbox key pair for tokens.
func Pair(t *testing.T, o Client) Reply {
	t.Helper()
	return o.Post(t, "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, o.Sandbox.Publishable, o.Sandbox.Secret)).Want(t, http.StatusOK)
}

// Sibling is another shop of the same merchant, with a sandbox key that may withdraw.
func Sibling(t *testing.T, o Client) Client {
	t.Helper()
	made, err := o.App.Onboarding.CreateShop(ctx, o.App.Self(), o.Merchant.ID, "Twin")
	Must(t, err)
	return Client{Onboarded: made, Instance: o.Instance}.NewKey(t, auth.NewKey{Kind: merchants.Secret, Rights: []merchants.Right{merchants.RightWithdrawals}})
}

// NewKey makes a key of the merchant and returns the shop with it. n.Shop is this shop unless it is
// set. The key is of the sandbox unless n.Live is set.
func (o Client) NewKey(t *testing.T, n auth.NewKey) Client {
	t.Helper()
	if n.Merchant = o.Merchant.ID; n.Shop == "" {
		n.Shop = o.Shop.ID
	}
	key, err := o.App.Keys.Create(ctx, o.App.Self(), n)
	Must(t, err)
	return o.As(key)
}

// APIPath stands before the path of every endpoint.
const APIPath = "/api/v1"

// Client makes the requests of a merchant's shop.
type Client struct {
	appmerchants.Onboarded
	*Instance
	Credential string // sent as the Bearer value
}

// As returns the shop with another credential.
func (o Client) As(credential string) Client {
	o.Credential = credential
	return o
}

// Production returns the shop with its secret production key.
func (o Client) Production() Client { return o.As(o.Live.Secret) }

// Whole returns the shop with a legacy key that belongs to the merchant and to no shop.
func (o Client) Whole(t *testing.T, live bool) Client {
	t.Helper()
	key, err := o.App.Keys.Create(ctx, o.App.Self(), auth.NewKey{Scope: merchants.Scope{Merchant: o.Merchant.ID, Live: live}, Kind: merchants.Secret})
	Must(t, err)
	return o.As(key)
}

// Get makes a GET request.
func (o Client) Get(t *testing.T, path string) Reply {
	t.Helper()
	return o.Call(t, http.MethodGet, path, "")
}

// Delete makes a DELETE request.
func (o Client) Delete(t *testing.T, path string) Reply {
	t.Helper()
	return o.Call(t, http.MethodDelete, path, "")
}

// Post makes a POST request with a JSON body and "Name: value" header lines.
func (o Client) Post(t *testing.T, path, body string, header ...string) Reply {
	t.Helper()
	return o.Call(t, http.MethodPost, path, body, header...)
}

// Call makes a request with "Name: value" header lines. path does not include APIPath.
func (o Client) Call(t *testing.T, method, path, body string, header ...string) Reply {
	t.Helper()
	r := Request{Method: method, Path: APIPath + path, Body: body, Header: http.Header{"Authorization": {"Bearer " + o.Credential}}}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	return o.Send(t, r)
}

// Create makes a payment and returns its id. It ends the test unless the status is 201.
func (o Client) Create(t *testing.T, body string, header ...string) string {
	t.Helper()
	return o.Post(t, "/payments", body, header...).Want(t, http.StatusCreated).Text(t, "transactionId")
}

// Status returns a payment's status.
func (o Client) Status(t *testing.T, payment string) string {
	t.Helper()
	return o.Get(t, "/payments/"+payment).Want(t, http.StatusOK).Text(t, "status")
}

// Simulate runs a simulated action, such as "paid", on a payment of the sandbox.
func (o Client) Simulate(t *testing.T, payment, action string) Reply {
	t.Helper()
	return o.Post(t, "/payments/"+payment+"/simulate", `{"action":"`+action+`"}`)
}

// Total counts the payments that a query selects.
func (o Client) Total(t *testing.T, query url.Values) string {
	t.Helper()
	return o.Get(t, "/payments?limit=1&"+query.Encode()).Want(t, http.StatusOK).Text(t, "pagination.total")
}
