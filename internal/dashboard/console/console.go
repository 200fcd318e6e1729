// Package console is the first pages of the operator's console: what needs a decision, merchants, the audit log,
// operators. The packages below have its other pages.
package console

import (
	"embed"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

//go:embed all:templates text
var files embed.FS

type pages struct {
	*desk.Pages
	Uses Uses
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	d, err := desk.New(site, files)
	if err != nil {
		return err
	}
	c := &pages{d, uses}
	site.HandleOperator("GET /console", operators.View, c.overview)
	site.HandleOperator("GET /console/search", operators.View, c.search)
	site.HandleOperator("GET /console/merchants", operators.View, c.merchants)
	site.HandleOperator("GET /console/merchants.csv", operators.View, c.merchantsFile)
	site.HandleOperator("GET /console/audit.csv", operators.View, c.auditFile)
	site.HandleOperator("GET /console/merchants/new", operators.Merchants, c.newMerchant, frame.Beforehand())
	site.HandleOperator("POST /console/merchants", operators.Merchants, c.createMerchant)
	site.HandleOperator("GET /console/merchants/{id}", operators.View, c.merchant)
	site.HandleOperator("POST /console/merchants/{id}/terms", operators.Prices, c.agree)
	site.HandleOperator("GET /console/merchants/{id}/pause", operators.Pause, c.pausing)
	site.HandleOperator("POST /console/merchants/{id}/pause", operators.Pause, c.pause)
	site.HandleOperator("POST /console/merchants/{id}/resume", operators.Pause, c.resume)
	site.HandleOperator("POST /console/merchants/{id}/close", operators.Pause, c.close)
	site.HandleOperator("POST /console/merchants/{id}/reopen", operators.Pause, c.reopen)
	site.HandleOperator("POST /console/merchants/{id}/sandbox", operators.Merchants, c.switchSandbox)
	site.HandleOperator("POST /console/merchants/{id}/email", operators.Merchants, c.setEmail)
	site.HandleOperator("POST /console/merchants/{id}/invite", operators.Merchants, c.invite)
	site.HandleOperator("POST /console/merchants/{id}/withdraw", operators.Merchants, c.withdraw, frame.Calm())
	site.HandleOperator("POST /console/merchants/{id}/visit", operators.Merchants, c.visit, frame.Calm())
	site.HandleOperator("POST /console/visit/end", operators.View, c.leave, frame.Calm())
	site.HandleOperator("GET /console/audit", operators.View, c.audit)
	site.HandleOperator("GET /console/operators", operators.View, c.operators)
	site.HandleOperator("POST /console/operators/invite", operators.Manage, c.inviteOperator)
	site.HandleOperator("POST /console/operators/confirm", operators.Manage, c.confirmOperator)
	site.HandleOperator("POST /console/operators/withdraw", operators.Manage, c.withdrawOperator, frame.Calm())
	site.HandleOperator("POST /console/operators/remove", operators.Manage, c.removeOperator)
	site.HandleOperator("POST /console/operators/role", operators.Manage, c.setOperatorRole)
	site.HandleOperator("POST /console/operators/dual-control", operators.Manage, c.setDual)
	site.HandleOperator("POST /console/operators/tokens", operators.View, c.makeToken)
	site.HandleOperator("POST /console/operators/tokens/remove", operators.View, c.removeToken, frame.Calm())
	site.HandleOperator("GET /console/proposals", operators.View, c.proposals)
	site.HandleOperator("GET /console/proposals/{id}", operators.View, c.proposal)
	site.HandleOperator("POST /console/proposals/{id}/approve", operators.View, c.approveProposal)
	site.HandleOperator("POST /console/proposals/{id}/reject", operators.View, c.rejectProposal, frame.Calm())
	site.HandleOperator("POST /console/operators/sign-out", operators.Manage, c.signOutOperator)
	site.HandleOperator("POST /console/operators/unlock", operators.Manage, c.unlockOperator)
	return nil
}

// places are where the objects of an id are shown, by the id's beginning.
var places = []struct{ prefix, path string }{
	{pay.PaymentPrefix, "payments/"}, {pay.ClaimPrefix, "claims/"}, {pay.WithdrawalPrefix, "withdrawals/"},
	{merchants.MerchantPrefix, "merchants/"}, {merchants.VerificationPrefix, "verifications/"},
	{pay.AdjustmentPrefix, "adjustments/"}, {operators.ProposalPrefix, "proposals/"},
}

// search leads to the object of an id, or to the merchants with a name.
func (pg *pages) search(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	asked := strings.TrimSpace(r.FormValue("q"))
	for _, place := range places {
		if strings.HasPrefix(asked, place.prefix) {
			pg.Site.Go(w, r, pg.Page(place.path+asked))
			return nil
		}
	}
	if strings.HasPrefix(asked, merchants.ShopPrefix) {
		shop, err := pg.Uses.Onboarding.AnyShop(r.Context(), asked)
		if found, err := pg.found(w, r, "merchants/"+shop.Merchant, err); found || err != nil {
			return err
		}
	}
	if asked != "" && base.Storable(asked) {
		_, err := pg.Uses.Providers.ProviderAccount(r.Context(), asked)
		if found, err := pg.found(w, r, "accounts/"+asked, err); found || err != nil {
			return err
		}
	}
	return pg.list(w, r, v, asked, true)
}

// found leads to the page of what a read has found. That it is absent is no error.
func (pg *pages) found(w http.ResponseWriter, r *http.Request, page string, err error) (bool, error) {
	if base.Absent(err) {
		return false, nil
	}
	if err == nil {
		pg.Site.Go(w, r, pg.Page(page))
	}
	return err == nil, err
}
