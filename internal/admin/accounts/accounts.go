package accounts

import (
	"context"
	"fmt"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

type accountOut struct{ Body shape.Account }

type accountsIn struct {
	call.PageQuery
	All bool `query:"all" doc:"Include removed accounts"`
}

type accountsOut struct {
	Body struct {
		Data       []shape.Account `json:"data"`
		Pagination call.Cursor     `json:"pagination"`
	}
}

type openIn struct{ Body OpenBody }

// OpenBody opens an account.
type OpenBody struct {
	_           struct{}              `additionalProperties:"false"`
	ID          string                `json:"id,omitempty" maxLength:"64" example:"stripe-mx" doc:"Part of the notification URL; it can never change. By default one is made; give one, so that a repeat opens no second account"`
	Adapter     string                `json:"adapter" maxLength:"64" example:"stripe"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production" example:"production" doc:"sandbox: the provider's own test environment"`
	Merchant    *string               `json:"merchantId,omitempty" nullable:"true" maxLength:"64" doc:"The merchant whose payments it takes; absent: all merchants"`
	Credentials map[string]string     `json:"credentials" text:"lines" example:"{\"secretKey\":\"sk_live_…\",\"webhookSecret\":\"whsec_…\"}" doc:"By name, as GET /adapters lists them. Kept encrypted and never shown"`
	Rails       []string              `json:"rails,omitempty" maxItems:"500" example:"[\"card.MEX\"]" doc:"Catalog keys; none: all rails of the adapter"`
	Terms       []shape.Terms         `json:"terms,omitempty" maxItems:"500"`
	Priority    *int                  `json:"priority,omitempty" example:"100" doc:"Accounts with lower numbers are tried first; 100 by default"`
	BaseURL     string                `json:"baseUrl,omitempty" maxLength:"500" doc:"URL to use instead of the provider's own: https, or http to the node's own machine for tests"`
	Disabled    bool                  `json:"disabled,omitempty" doc:"Take no charges until it is enabled"`
}

type changeIn struct {
	call.AccountPath
	Body ChangeBody
}

// ChangeBody changes an account. It has no base URL: credentials go where requests go, and the holder of a
// token must not redirect them.
type ChangeBody struct {
	_        struct{}      `additionalProperties:"false"`
	Version  int64         `json:"version" example:"3" doc:"The account's version as you read it; if the account has changed since, the request is a conflict"`
	Priority *int          `json:"priority,omitempty" example:"10"`
	Rails    []string      `json:"rails,omitempty" maxItems:"500" doc:"Replaces the current rails; an empty list: all rails of the adapter"`
	Terms    []shape.Terms `json:"terms,omitempty" maxItems:"500" doc:"Replaces the current terms"`
}

type rotateIn struct {
	call.AccountPath
	Body RotateBody
}

// RotateBody replaces the credentials of the same names.
type RotateBody struct {
	_           struct{}          `additionalProperties:"false"`
	Credentials map[string]string `json:"credentials" text:"lines" example:"{\"webhookSecret\":\"whsec_…\"}" doc:"Credentials that are not named stay; an empty text removes an optional one"`
}

type removeIn struct {
	call.AccountPath
	Force bool `query:"force" doc:"Remove it even if it has open payments: their outcome then stays unknown"`
}

type checkOut struct{ Body shape.Check }

func (a *api) accountRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Accounts"}}
	}
	conflict := []problem.Code{problem.ConflictState}
	call.Handle(a.API, operators.View, op("listAccounts", http.MethodGet, "/accounts", "List provider accounts", "All of them, by environment, merchant and priority."), nil, a.accounts)
	open := call.Creates(op("openAccount", http.MethodPost, "/accounts", "Open a provider account",
		"This node uses it at once, the others within seconds. The provider is not called: check the account afterwards."))
	call.Handle(a.API, operators.Credentials, open, conflict, a.open)
	call.Handle(a.API, operators.View, op("getAccount", http.MethodGet, "/accounts/{id}", "Read a provider account", "A change must name its `version`. Only the names of its credentials are shown."), nil, a.account)
	call.Handle(a.API, operators.Accounts, op("changeAccount", http.MethodPatch, "/accounts/{id}", "Change an account's rails, terms or priority",
		"Fields that are not given stay the same. Adapter, environment, merchant and base URL cannot change here: open another account."), conflict, a.change)
	call.Handle(a.API, operators.Accounts, op("removeAccount", http.MethodDelete, "/accounts/{id}", "Remove an account for good",
		"Its credentials are deleted, its payments can no longer be refunded or queried, and its id is never used again."), conflict, a.remove)
	call.Handle(a.API, operators.Credentials, op("rotateCredentials", http.MethodPost, "/accounts/{id}/credentials", "Replace an account's credentials",
		"Calls use them at once. Notifications that are signed with the old ones are accepted for 24 hours."), conflict, a.rotate)
	call.Handle(a.API, operators.Accounts, op("enableAccount", http.MethodPost, "/accounts/{id}/enable", "Let an account take new charges", "A repeat changes nothing."), conflict, a.enable)
	call.Handle(a.API, operators.Accounts, op("disableAccount", http.MethodPost, "/accounts/{id}/disable", "Let an account take no new charges",
		"Its payments go on: they can be queried and refunded, and its notifications are accepted. A repeat changes nothing."), conflict, a.disable)
	call.Handle(a.API, operators.Accounts, op("checkAccount", http.MethodPost, "/accounts/{id}/check", "Ask the provider whether the credentials work",
		"The call costs nothing. If they do not work, that is a result, not an error."), conflict, a.check)
}

func (a *api) accounts(ctx context.Context, _ audit.Actor, in *accountsIn) (*accountsOut, error) {
	list, err := a.Uses.Providers.Accounts(ctx, in.All)
	if err != nil {
		return nil, err
	}
	place := func(s appaccounts.AccountStatus) string {
		return fmt.Sprintf("%t %s %010d %s", s.Live, s.Merchant, s.Priority, s.ID)
	}
	list = call.Cut(in.PageQuery, list, place)
	out := &accountsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, place, shape.NewAccount)
	return out, nil
}

func (a *api) account(ctx context.Context, _ audit.Actor, in *call.AccountPath) (*accountOut, error) {
	s, err := a.Uses.Providers.ProviderAccount(ctx, in.ID)
	return a.accountReply(s.Account, err)
}

// accountReply shows an account after a use case changed it.
func (a *api) accountReply(account accounts.Account, err error) (*accountOut, error) {
	if err != nil {
		return nil, err
	}
	return &accountOut{shape.NewAccount(a.Uses.Providers.StatusOf(account))}, nil
}

func (a *api) open(ctx context.Context, by audit.Actor, in *openIn) (*accountOut, error) {
	b := in.Body
	terms, err := shape.ReadTerms(b.Terms)
	if err != nil {
		return nil, err
	}
	n := appaccounts.NewAccount{
		ID: b.ID, Adapter: b.Adapter, Live: b.Environment == merchants.Production, BaseURL: b.BaseURL, Credentials: b.Credentials,
		Rails: b.Rails, Terms: terms, Priority: accounts.DefaultPriority, Disabled: b.Disabled,
	}
	if b.Merchant != nil {
		n.Merchant = *b.Merchant
	}
	if b.Priority != nil {
		n.Priority = *b.Priority
	}
	return a.accountReply(a.Uses.Accounts.Add(ctx, by, n))
}

func (a *api) change(ctx context.Context, by audit.Actor, in *changeIn) (*accountOut, error) {
	b := in.Body
	terms, err := shape.ReadTerms(b.Terms)
	if err != nil {
		return nil, err
	}
	return a.accountReply(a.Uses.Accounts.Edit(ctx, by, in.ID, func(account accounts.Account) (accounts.Account, error) {
		if err := account.Unchanged(b.Version); err != nil {
			return account, err
		}
		if b.Priority != nil {
			account.Priority = *b.Priority
		}
		if b.Rails != nil {
			account.Rails = append([]string(nil), b.Rails...) // an empty list becomes nil
		}
		if b.Terms != nil {
			account.Terms = terms
		}
		return account, nil
	}))
}

func (a *api) remove(ctx context.Context, by audit.Actor, in *removeIn) (*accountOut, error) {
	return a.accountReply(a.Uses.Accounts.Remove(ctx, by, in.ID, in.Force))
}

func (a *api) rotate(ctx context.Context, by audit.Actor, in *rotateIn) (*accountOut, error) {
	return a.accountReply(a.Uses.Accounts.Rotate(ctx, by, in.ID, in.Body.Credentials))
}

func (a *api) enable(ctx context.Context, by audit.Actor, in *call.AccountPath) (*accountOut, error) {
	return a.accountReply(a.Uses.Accounts.Enable(ctx, by, in.ID, true))
}

func (a *api) disable(ctx context.Context, by audit.Actor, in *call.AccountPath) (*accountOut, error) {
	return a.accountReply(a.Uses.Accounts.Enable(ctx, by, in.ID, false))
}

func (a *api) check(ctx context.Context, _ audit.Actor, in *call.AccountPath) (*checkOut, error) {
	proof, problem, err := a.Uses.Accounts.Prove(ctx, in.ID)
	return &checkOut{shape.Check{Account: in.ID, Result: proof, Problem: problem}}, err
}
