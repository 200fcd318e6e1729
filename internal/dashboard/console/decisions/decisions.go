// Package decisions is the console's pages of what a person decides: payments whose outcome nobody knows, claims,
// withdrawals, verifications, notifications that do not fit, and what operators book by hand.
package decisions

import (
	"embed"
	"errors"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
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
	u := &pages{d, uses}
	site.HandleOperator("GET /console/decisions", operators.View, u.decisions)
	site.HandleOperator("GET /console/decisions.csv", operators.View, u.decidedFile)
	site.HandleOperator("GET /console/payments/{id}", operators.View, u.payment)
	site.HandleOperator("POST /console/payments/{id}/resolve", operators.Payments, u.resolvePayment)
	site.HandleOperator("GET /console/claims/{id}", operators.View, u.claim)
	site.HandleOperator("GET /console/claims/{id}/evidence/{evidence}", operators.View, u.evidenceFile)
	site.HandleOperator("POST /console/claims/{id}/resolve", operators.Claims, u.resolveClaim)
	site.HandleOperator("POST /console/claims/{id}/ask", operators.Cases, u.askClaim, frame.Calm())
	site.HandleOperator("POST /console/claims/{id}/carried", operators.Cases, u.carriedClaim)
	site.HandleOperator("GET /console/withdrawals/{id}", operators.View, u.withdrawal)
	site.HandleOperator("POST /console/withdrawals/{id}/approve", operators.Payouts, u.approve)
	site.HandleOperator("POST /console/withdrawals/{id}/resolve", operators.Payouts, u.resolveWithdrawal)
	site.HandleOperator("POST /console/withdrawals/{id}/reveal", operators.Reveal, u.reveal)
	site.HandleOperator("GET /console/verifications/{id}", operators.View, u.verification)
	site.HandleOperator("POST /console/verifications/{id}/decide", operators.Verifications, u.decide)
	site.HandleOperator("GET /console/notices", operators.View, u.notice)
	site.HandleOperator("POST /console/notices/close", operators.Cases, u.closeNotice)
	site.HandleOperator("GET /console/adjustments", operators.View, u.adjustments)
	site.HandleOperator("GET /console/adjustments/new", operators.Adjustments, u.newAdjustment, frame.Beforehand())
	site.HandleOperator("POST /console/adjustments/new", operators.Adjustments, u.createAdjustment)
	site.HandleOperator("GET /console/adjustments/{id}", operators.View, u.adjustment)
	site.HandleOperator("POST /console/adjustments/{id}/approve", operators.Adjustments, u.approveAdjustment)
	site.HandleOperator("POST /console/adjustments/{id}/reject", operators.Adjustments, u.rejectAdjustment)
	site.HandleOperator("POST /console/adjustments/{id}/reverse", operators.Adjustments, u.reverseAdjustment)
	return nil
}

// kinds are the lists of decisions, as the address names them.
func kinds() []string {
	return []string{"withdrawals", "claims", "notices", "verifications", "payments", "adjustments"}
}

type decisionsView struct {
	Kind          string
	Kinds         []string
	Payments      []pay.Payment
	Notices       []pay.KeptNotice
	Held          []inUSD // due and not sent
	Sent          []inUSD // with a payout provider
	Verifications []merchants.Verification
	Claims        []pay.Claim
	Adjustments   adjustedTable
	Names         *desk.Names
	Most          int
}

// inUSD is a withdrawal with its amount.
type inUSD struct {
	pay.Withdrawal
	USD money.Amount
}

func dollars(list []pay.Withdrawal) (rows []inUSD) {
	for _, w := range list {
		rows = append(rows, inUSD{w, money.New(w.Amount, money.USD)})
	}
	return rows
}

// decisions lists what waits for an operator: one kind at a time.
func (p *pages) decisions(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	ctx, view := r.Context(), decisionsView{Kind: r.FormValue("kind"), Kinds: kinds(), Names: p.Names(r.Context()), Most: desk.Most}
	var err error
	switch view.Kind {
	case "payments":
		view.Payments, err = p.Uses.Payments.Unsure(ctx, desk.Most)
	case "notices":
		view.Notices, err = p.Uses.Notices.Notifications(ctx, "", desk.Most)
	case "adjustments":
		var list []pay.Adjustment
		list, err = p.Uses.Adjustments.List(ctx, "", pay.AdjustmentPending, desk.Most)
		view.Adjustments.Names = view.Names
		view.Adjustments.add(list)
	case "verifications":
		view.Verifications, err = p.Uses.Verifications.List(ctx, merchants.KYCProcessing, "", desk.Most)
	case "claims":
		view.Claims, err = p.Uses.Claims.AnyList(ctx, pay.ClaimUnderReview, "", desk.Most)
		if err == nil {
			var late []pay.Claim
			late, err = p.Uses.Claims.AnyList(ctx, pay.ClaimPending, pay.Inquiry, desk.Most)
			view.Claims = append(view.Claims, late...)
		}
	default:
		view.Kind = "withdrawals"
		var held, sent []pay.Withdrawal
		if held, err = p.Uses.Payouts.WaitingWithdrawals(ctx, desk.Most); err == nil {
			sent, err = p.Uses.Payouts.Unpaid(ctx, desk.Most)
		}
		view.Held, view.Sent = dollars(held), dollars(sent)
	}
	if err != nil {
		return err
	}
	return p.Room.Show(w, r, v, "decisions", view)
}

// refused puts an error into the form of a decision. If a provider says otherwise, the form may force it.
func refused(v *frame.Visit, f *desk.Form, err error) (status int, fault error) {
	status, fault = f.Refused(v, err)
	if shown, ok := errors.AsType[*problem.Error](err); ok && shown.Details.Reason == pay.OtherwiseSaid {
		f.Force = true
	}
	return status, fault
}

type verificationView struct {
	desk.Form
	merchants.Verification
	Open bool
	Of   merchants.Merchant
}

func (p *pages) verification(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showVerification(w, r, v, http.StatusOK, desk.Form{})
}

func (p *pages) showVerification(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, typed desk.Form) error {
	read, err := p.Uses.Verifications.Any(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	m, err := p.Uses.AnyMerchant(r.Context(), read.Merchant)
	if err != nil {
		return err
	}
	return p.Room.ShowStatus(w, r, v, status, "verification", verificationView{typed, read, read.Open(), m})
}

// decide verifies a merchant, or rejects what it handed in with a reason that the merchant reads.
func (p *pages) decide(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "outcome", "code", "message")
	to := merchants.VerificationStatus(typed.Value("outcome"))
	var err error
	switch {
	case to != merchants.KYCVerified && to != merchants.KYCRejected:
		err = problem.Field(problem.InvalidRequest, "outcome", chooseVerificationEnd)
	case to == merchants.KYCRejected && typed.Value("message") == "":
		err = problem.Field(problem.InvalidRequest, "message", verificationNeedsReason)
	default:
		code, message := typed.Value("code"), typed.Value("message")
		if to == merchants.KYCVerified {
			code, message = "", ""
		}
		err = p.Uses.Verifications.Decide(r.Context(), v.Actor(), r.PathValue("id"), to, code, message)
	}
	if err == nil {
		return p.Done(w, r, "verifications/"+r.PathValue("id"), "decided")
	}
	status, fault := refused(v, &typed, err)
	if fault != nil {
		return fault
	}
	return p.showVerification(w, r, v, status, typed)
}

type noticeView struct {
	desk.Form
	pay.KeptNotice
	Waits      bool // for the operator
	Withdrawal bool // it is about one
	Pages      *desk.Accounts
}

func (p *pages) notice(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showNotice(w, r, v, http.StatusOK, desk.Form{})
}

func (p *pages) showNotice(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, typed desk.Form) error {
	n, err := p.Uses.Notices.Notification(r.Context(), r.FormValue("id"))
	if err != nil {
		return err
	}
	waits, err := p.Uses.Notices.Waits(r.Context(), n)
	if err != nil {
		return err
	}
	view := noticeView{typed, n, waits, strings.HasPrefix(n.Payment, pay.WithdrawalPrefix), desk.NewAccounts(r.Context(), p.Uses.Providers)}
	return p.Room.ShowStatus(w, r, v, status, "notice", view)
}

func (p *pages) closeNotice(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "note")
	note, err := desk.ReadNote(r)
	if err == nil {
		err = desk.Shown(p.Uses.Notices.CloseNotification(r.Context(), v.Actor(), r.FormValue("id"), note), "")
	}
	if err == nil {
		return p.Done(w, r, "decisions?kind=notices", "notice_closed")
	}
	status, fault := refused(v, &typed, err)
	if fault != nil {
		return fault
	}
	return p.showNotice(w, r, v, status, typed)
}
