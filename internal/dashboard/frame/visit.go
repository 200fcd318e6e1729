// Package frame has what all pages of the dashboard share: the layout, the parts that pages are made of, the
// texts, and the checks that a request must pass before its page.
package frame

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/app/base"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/store"
)

// Visit is a request to the dashboard: who makes it, and what it may see. Pages of one shop have Principal's
// scope; pages of the user alone (profile) and of the operator's console have an empty one.
type Visit struct {
	base.Principal
	User     people.User
	SignIn   people.SignIn
	Role     people.Role        // at the merchant; "" for an operator, who only looks
	Merchant merchants.Merchant // of the page; its ID is "" where the page is no merchant's
	Shop     merchants.Shop     // of the page
	Shops    []merchants.Shop   // of the merchant
	Others   []store.Tenancy    // the user's other merchants
	Path     string             // of the page below its shop: "payments", "webhooks/wh_1"
	// NoConsole: the operator's console is at another address than this page.
	NoConsole bool
	// Emptied: the page is of a sandbox that is being emptied.
	Emptied bool
	// NoSandbox: the merchant has none, or the service.
	NoSandbox bool

	places []func() // give places back that the request has
}

// leave gives the places back that the request has. A browser that hung up does not: its request may still be at work.
func (v *Visit) leave() {
	for _, back := range v.places {
		back()
	}
}

// From is where the request comes from.
func (v *Visit) From(r *http.Request) users.From {
	return users.From{Address: v.Address, Agent: r.UserAgent(), Request: v.RequestID}
}

// Language is that of the pages.
func (v *Visit) Language() merchants.Language {
	if v.User.Language == "" {
		return merchants.English
	}
	return v.User.Language
}

// Home is the address of the shop's pages, without a trailing slash: /dashboard/shp_1/sandbox.
func (v *Visit) Home() string {
	return "/dashboard/" + v.Shop.ID + "/" + string(v.Environment())
}
