// Package shape is what operators see: provider accounts, the decisions about a payment, the health of
// accounts. The admin API replies with these shapes, and the commands print them with --json, so the two
// cannot differ.
//
// It turns values into JSON and decides nothing. Merchants see internal/view.
package shape

import (
	"fmt"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/view"
)

// Adapter is a provider at which accounts can be opened.
type Adapter struct {
	Name        string   `json:"name" example:"stripe"`
	Rails       []string `json:"rails" doc:"Catalog keys of its rails" example:"[\"card.MEX\",\"cash.oxxo.MEX\"]"`
	Credentials []Field  `json:"credentials" doc:"What an account needs"`
}

// Field is one credential of an adapter.
type Field struct {
	Name     string `json:"name" example:"secretKey"`
	Doc      string `json:"doc" doc:"Where to find it at the provider"`
	Required bool   `json:"required"`
	Secret   bool   `json:"secret"`
}

// NewAdapter shows an adapter.
func NewAdapter(a provider.Adapter) Adapter {
	told := Adapter{Name: a.Name, Rails: a.Rails, Credentials: []Field{}}
	for _, f := range a.Fields {
		told.Credentials = append(told.Credentials, Field{f.Name, f.Doc, !f.Optional, !f.Public})
	}
	return told
}

// Account is a provider account. It never has a credential's value.
type Account struct {
	ID              string                `json:"id" example:"stripe-mx"`
	Adapter         string                `json:"adapter" example:"stripe"`
	Environment     merchants.Environment `json:"environment" enum:"sandbox,production"`
	Merchant        *string               `json:"merchantId" doc:"The merchant whose payments it takes; null: all merchants"`
	Status          accounts.Status       `json:"status" enum:"enabled,disabled,removed"`
	Priority        int                   `json:"priority" doc:"Accounts with lower numbers are tried first"`
	Rails           []string              `json:"rails" doc:"Catalog keys of its rails" example:"[\"card.MEX\"]"`
	AllRails        bool                  `json:"allRails" doc:"It has all rails of its adapter, also those that a later version adds"`
	Terms           []Terms               `json:"terms" doc:"The provider's prices and limits"`
	BaseURL         string                `json:"baseUrl,omitempty" doc:"URL to use instead of the provider's own"`
	Credentials     []string              `json:"credentials" doc:"Names of its credentials; values are never shown" example:"[\"secretKey\",\"webhookSecret\"]"`
	NotificationURL string                `json:"notificationUrl,omitempty" doc:"Where the provider must send notifications; absent if it sends none"`
	PaysOut         bool                  `json:"paysOut" doc:"Withdrawals are paid from it, and it takes no payments"`
	Problem         string                `json:"problem,omitempty" doc:"Why it cannot be used; absent if it can"`
	Version         int64                 `json:"version" doc:"A change that names another version is refused"`
	CreatedAt       view.Time             `json:"createdAt"`
	UpdatedAt       view.Time             `json:"updatedAt"`
	RotatedAt       *view.Time            `json:"rotatedAt,omitempty" doc:"When credentials were last replaced"`
}

// Terms are a provider's prices and limits for a rail.
type Terms struct {
	_      struct{} `additionalProperties:"false"`
	Rail   string   `json:"rail,omitempty" maxLength:"100" doc:"Absent: every rail that has no terms of its own" example:"cash.oxxo.MEX"`
	Price  string   `json:"price,omitempty" maxLength:"40" doc:"Percent and USD, or one of the two; absent: not known" example:"2.9%+0.30"`
	Limits []string `json:"limits,omitempty" maxItems:"50" doc:"One for each currency, in major units; absent: the rail's own" example:"[\"MXN:10-10000\"]"`
}

// NewAccount shows an account.
func NewAccount(s appaccounts.AccountStatus) Account {
	told := Account{
		ID: s.ID, Adapter: s.Adapter, Environment: s.Environment(), Status: s.Status, Priority: s.Priority, Rails: append([]string{}, s.On...),
		AllRails: len(s.Account.Rails) == 0, Terms: []Terms{}, BaseURL: s.BaseURL, Credentials: append([]string{}, s.Fields...),
		NotificationURL: s.NotificationURL, PaysOut: s.PaysOut, Problem: s.Broken, Version: s.Version,
		CreatedAt: view.Time{Time: s.CreatedAt}, UpdatedAt: view.Time{Time: s.UpdatedAt}, RotatedAt: moment(s.RotatedAt),
	}
	if s.Merchant != "" {
		told.Merchant = &s.Merchant
	}
	for _, t := range s.Terms {
		line := Terms{Rail: t.Rail}
		if t.Fee != nil {
			line.Price = t.Fee.String()
		}
		for _, l := range t.Limits {
			line.Limits = append(line.Limits, l.String())
		}
		told.Terms = append(told.Terms, line)
	}
	return told
}

// ReadTerms reads terms as they are shown.
//
// Errors: invalid_request.
func ReadTerms(list []Terms) ([]accounts.RailTerms, error) {
	var terms []accounts.RailTerms
	var wrong []problem.Issue
	for i, t := range list {
		line := accounts.RailTerms{Rail: t.Rail}
		path := fmt.Sprintf("terms[%d]", i)
		if t.Price == "" && len(t.Limits) == 0 {
			wrong = append(wrong, problem.Issue{Path: path, Reason: message.Literal("terms without a price and limits say nothing: leave them out")})
		}
		if t.Price != "" {
			fee, err := money.ParseFee(t.Price)
			if err != nil {
				wrong = append(wrong, problem.Issue{Path: path + ".price", Reason: message.Literal(err.Error())})
			}
			line.Fee = &fee
		}
		for n, text := range t.Limits {
			l, err := accounts.ParseLimit(text)
			if err != nil {
				wrong = append(wrong, problem.Issue{Path: fmt.Sprintf("%s.limits[%d]", path, n), Reason: message.Literal(err.Error())})
			}
			line.Limits = append(line.Limits, l)
		}
		terms = append(terms, line)
	}
	return terms, problem.Invalid(wrong...)
}

// Check is the provider's answer about an account's credentials.
type Check struct {
	Account string            `json:"account" example:"stripe-mx"`
	Result  appaccounts.Proof `json:"result" enum:"works,fails,unproved" doc:"unproved: the adapter has no call that proves credentials"`
	Problem string            `json:"problem,omitempty" doc:"Why it does not work"`
}

// moment returns nil for the zero time.
func moment(t time.Time) *view.Time {
	if t.IsZero() {
		return nil
	}
	return &view.Time{Time: t}
}
