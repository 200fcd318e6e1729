package merchants

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	appplans "github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/plans/planfile"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// MerchantPath names a merchant.
type MerchantPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_]+$" example:"mer_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type merchantOut struct{ Body shape.Merchant }

type termsIn struct {
	MerchantPath
	Body TermsBody
}

// TermsBody changes the terms of a merchant.
type TermsBody struct {
	_          struct{}             `additionalProperties:"false"`
	Tier       merchants.Tier       `json:"tier,omitempty" enum:"starter,standard,premium,trusted" doc:"It decides the request limits, and the price plan of a merchant to which none was assigned"`
	TrustScore *int                 `json:"trustScore,omitempty" minimum:"0" maximum:"1000" doc:"Needs a reason. A new tier brings its own score if this is left out"`
	Plan       *PlanGiven           `json:"plan,omitempty"`
	Reason     string               `json:"reason,omitempty" maxLength:"300" doc:"For the audit log" example:"A year without a dispute"`
	RefundFees merchants.RefundFees `json:"refundFees,omitempty" enum:"kept,returned" doc:"For payments that are made from now on"`

	Installments *[]string `json:"installments,omitempty" maxItems:"50" example:"[\"card.MEX:12/6@MXN:3000\"]" doc:"What shoppers may be offered from now on, in place of all earlier terms, each RAIL:MAX/INTERESTFREE and, for payments from an amount on, @CURRENCY:FROM. card.* is all rails of a network, * all rails. An empty list grants none"`
}

// PlanGiven is the price plan that a merchant has from a time on.
type PlanGiven struct {
	_          struct{}            `additionalProperties:"false"`
	Name       string              `json:"name" maxLength:"40" example:"gold"`
	From       *time.Time          `json:"from,omitempty" doc:"In force from then on; now if it is left out. What was to come into force then or later is withdrawn"`
	Exceptions *planfile.PlanTerms `json:"exceptions,omitempty" doc:"What differs from the plan for this merchant, in the plan's currency; nothing if it is left out"`
}

type pauseIn struct {
	MerchantPath
	Body PauseBody
}

// PauseBody pauses a merchant.
type PauseBody struct {
	_      struct{} `additionalProperties:"false"`
	Reason string   `json:"reason" maxLength:"300" example:"We wait for your new bank account" doc:"The merchant's team reads it"`
}

type closeIn struct {
	MerchantPath
	Body CloseBody
}

// CloseBody closes a merchant.
type CloseBody struct {
	_      struct{} `additionalProperties:"false"`
	Reason string   `json:"reason" maxLength:"300" example:"You asked us to close the account" doc:"The merchant's team reads it"`
}

type sandboxIn struct {
	MerchantPath
	Body SandboxBody
}

// SandboxBody switches a merchant's sandbox.
type SandboxBody struct {
	_  struct{} `additionalProperties:"false"`
	On bool     `json:"on" doc:"Whether the merchant has a sandbox"`
}

type merchantsIn struct {
	call.PageQuery
	Text string `query:"text" maxLength:"100" doc:"Only merchants whose name or e-mail address contains it"`
}

type merchantsOut struct {
	Body struct {
		Data       []shape.Merchant `json:"data"`
		Pagination call.Cursor      `json:"pagination"`
	}
}

type createMerchantIn struct{ Body NewMerchantBody }

// NewMerchantBody is a merchant to be made.
type NewMerchantBody struct {
	_          struct{}             `additionalProperties:"false"`
	Name       string               `json:"name" minLength:"1" maxLength:"100" example:"Acme" doc:"Of the merchant, and of its first shop"`
	Email      string               `json:"email" maxLength:"254" example:"ops@acme.example"`
	Industry   string               `json:"industry,omitempty" maxLength:"100" doc:"What it sells"`
	Tier       merchants.Tier       `json:"tier,omitempty" enum:"starter,standard,premium,trusted" doc:"starter by default"`
	Language   merchants.Language   `json:"language,omitempty" enum:"es,pt,en" doc:"Of receipts and reports; en by default"`
	RefundFees merchants.RefundFees `json:"refundFees,omitempty" enum:"kept,returned" doc:"kept by default"`
}

type openedMerchantOut struct{ Body shape.OpenedMerchant }

type contactIn struct {
	MerchantPath
	Body ContactBody
}

// ContactBody changes how a merchant is written to.
type ContactBody struct {
	_        struct{}           `additionalProperties:"false"`
	Email    string             `json:"email,omitempty" maxLength:"254" doc:"The old address and the owners get an e-mail"`
	Language merchants.Language `json:"language,omitempty" enum:"es,pt,en" doc:"Of receipts and reports"`
}

type resetOut struct{ Body shape.SandboxReset }

type leavingOut struct{ Body shape.LeavingMerchant }

type allLeavingIn struct{ call.PageQuery }

type allLeavingOut struct {
	Body struct {
		Data       []shape.LeavingMerchant `json:"data"`
		Pagination call.Cursor             `json:"pagination"`
	}
}

func (a *api) merchantRoutes() {
	tags := []string{"Merchants"}
	call.Handle(a.API, operators.View, huma.Operation{OperationID: "listMerchants", Method: http.MethodGet, Path: "/merchants", Tags: tags,
		Summary: "List merchants", Description: "Newest first."}, nil, a.merchants)
	call.Handle(a.API, operators.Merchants, call.Creates(huma.Operation{OperationID: "createMerchant", Method: http.MethodPost, Path: "/merchants", Tags: tags,
		Summary: "Create a merchant with a shop and keys", Description: "The keys are shown once: a repeat with the same Idempotency-Key shows them again for 7 days."}), nil, a.createMerchant)
	call.Handle(a.API, operators.Merchants, huma.Operation{OperationID: "changeContact", Method: http.MethodPatch, Path: "/merchants/{id}/contact", Tags: tags,
		Summary: "Change a merchant's e-mail address and language", Description: "Fields that are not given stay the same."}, nil, a.changeContact)
	call.Handle(a.API, operators.Merchants, huma.Operation{OperationID: "emptySandbox", Method: http.MethodPost, Path: "/merchants/{id}/sandbox/reset", Tags: tags,
		Summary: "Delete everything in a merchant's sandbox", Description: "The sandbox is closed at once, and open again when it is empty, in a minute or so. Its keys and settings stay."}, nil, a.emptySandbox)
	call.Handle(a.API, operators.View, huma.Operation{OperationID: "getSandboxReset", Method: http.MethodGet, Path: "/merchants/{id}/sandbox/reset", Tags: tags,
		Summary: "Read how far the emptying of a merchant's sandbox is", Description: "Of the last one."}, nil, a.sandboxReset)
	call.Handle(a.API, operators.View, huma.Operation{OperationID: "getMerchant", Method: http.MethodGet, Path: "/merchants/{id}", Tags: tags,
		Summary: "Read a merchant's terms", Description: "Its tier, and the fees, the reserve and the delay that follow from it."}, nil, a.merchant)
	call.Handle(a.API, operators.Prices, huma.Operation{OperationID: "changeMerchant", Method: http.MethodPatch, Path: "/merchants/{id}", Tags: tags,
		Summary: "Change a merchant's terms", Description: "Existing payments keep the terms that they were made with. Fields that are not given stay the same."}, []problem.Code{problem.ConflictState}, a.changeMerchant)
	call.Handle(a.API, operators.Pause, huma.Operation{OperationID: "pauseMerchant", Method: http.MethodPost, Path: "/merchants/{id}/pause", Tags: tags,
		Summary: "Pause a merchant in production", Description: "New payments, checkouts, links and withdrawals are refused, on every node within 5 seconds. What is under way goes on, and so does the sandbox. A repeat changes the reason."}, nil, a.pauseMerchant)
	call.Handle(a.API, operators.Pause, huma.Operation{OperationID: "resumeMerchant", Method: http.MethodPost, Path: "/merchants/{id}/resume", Tags: tags,
		Summary: "End the pause of a merchant", Description: "A repeat changes nothing."}, nil, a.resumeMerchant)
	call.Handle(a.API, operators.Pause, huma.Operation{OperationID: "closeMerchant", Method: http.MethodPost, Path: "/merchants/{id}/close", Tags: tags,
		Summary: "Close a merchant's account", Description: "Nothing new begins, in production and in the sandbox, on every node within 5 seconds; its keys only read. What is open ends or runs to its end. The balance is paid out once nothing can change it. What is kept is erased after the retention of shoppers' data; until then the account can be opened again."}, []problem.Code{problem.ConflictState}, a.closeMerchant)
	call.Handle(a.API, operators.Pause, huma.Operation{OperationID: "reopenMerchant", Method: http.MethodPost, Path: "/merchants/{id}/reopen", Tags: tags,
		Summary: "Open a closed account again", Description: "Its keys work as before. A repeat changes nothing."}, []problem.Code{problem.ConflictState}, a.reopenMerchant)
	call.Handle(a.API, operators.Merchants, huma.Operation{OperationID: "switchSandbox", Method: http.MethodPut, Path: "/merchants/{id}/sandbox", Tags: tags,
		Summary: "Switch a merchant's sandbox on or off", Description: "Off, test keys and the sandbox's pages are refused, and the dashboard shows production alone. What is in the sandbox stays."}, []problem.Code{problem.NotFound}, a.switchSandbox)
	a.leavingRoutes()
}

// leavingRoutes registers what merchants have that leave, and what is theirs.
func (a *api) leavingRoutes() {
	tags := []string{"Merchants"}
	call.Handle(a.API, operators.View, call.Heavy(huma.Operation{OperationID: "listLeavingMerchants", Method: http.MethodGet, Path: "/merchants/leaving", Tags: tags,
		Summary: "List the merchants that leave", Description: "With what each still has. Those that have left and have a balance again are in it too. Oldest merchants first."}), nil, a.allLeaving)
	call.Handle(a.API, operators.View, huma.Operation{OperationID: "getLeavingMerchant", Method: http.MethodGet, Path: "/merchants/{id}/leaving", Tags: tags,
		Summary: "Read what a merchant still has, and what its payout waits for", Description: "Also of one that is open."}, nil, a.leaving)
	call.Handle(a.API, operators.Privacy, call.Heavy(huma.Operation{OperationID: "exportMerchant", Method: http.MethodGet, Path: "/merchants/{id}/export", Tags: tags,
		Summary: "Export everything that is a merchant's", Description: "A ZIP archive: each list as lines of JSON and as CSV, the files of evidence, and at last manifest.json with the hash of each file. It has shoppers' data, and no key or destination. The audit log has that you read it. If it breaks off, the connection is cut.",
		Responses: map[string]*huma.Response{"200": {Description: "The archive", Content: map[string]*huma.MediaType{"application/zip": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}}}), nil, a.exportMerchant)
}

func (a *api) allLeaving(ctx context.Context, _ audit.Actor, in *allLeavingIn) (*allLeavingOut, error) {
	list, err := a.Uses.Leaving.List(ctx)
	if err != nil {
		return nil, err
	}
	owing, err := a.Uses.Leaving.Owing(ctx)
	if err != nil {
		return nil, err
	}
	out := &allLeavingOut{}
	id := func(m merchants.Merchant) string { return m.ID }
	some, at := call.Paged(in.PageQuery, call.Cut(in.PageQuery, append(list, owing...), id), id, func(m merchants.Merchant) merchants.Merchant { return m })
	out.Body.Data, out.Body.Pagination = make([]shape.LeavingMerchant, 0, len(some)), at
	for _, m := range some {
		shown, err := a.rest(ctx, m)
		if err != nil {
			return nil, err
		}
		out.Body.Data = append(out.Body.Data, shown)
	}
	return out, nil
}

func (a *api) leaving(ctx context.Context, _ audit.Actor, in *MerchantPath) (*leavingOut, error) {
	m, err := a.Uses.AnyMerchant(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	shown, err := a.rest(ctx, m)
	return &leavingOut{shown}, err
}

// rest shows what a merchant still has.
func (a *api) rest(ctx context.Context, m merchants.Merchant) (shown shape.LeavingMerchant, err error) {
	live, err := a.Uses.Leaving.Rest(ctx, m, true)
	if err != nil {
		return shown, err
	}
	sandbox, err := a.Uses.Leaving.Rest(ctx, m, false)
	return shape.NewLeavingMerchant(m, live, sandbox), err
}

// exportMerchant sends the archive while it is made. Before the first byte it fails like any call; after it the reply is cut off, so
// that nobody mistakes a part for the whole.
func (a *api) exportMerchant(ctx context.Context, by audit.Actor, in *MerchantPath) (*huma.StreamResponse, error) {
	m, err := a.Uses.AnyMerchant(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(to huma.Context) {
		r, w := humago.Unwrap(to)
		file := &call.Archive{ResponseWriter: w, Name: m.ID + ".zip"}
		_, err := a.Uses.Leaving.Export(ctx, by, m.ID, file)
		switch {
		case err == nil:
		case !web.Begun(w):
			wire.Write(w, r, a.Log, err)
		default:
			if ctx.Err() == nil && !file.Lost {
				a.Log.ErrorContext(ctx, "an export of a merchant broke off", "merchant", m.ID, "error", err)
			}
			panic(http.ErrAbortHandler)
		}
	}}, nil
}

func (a *api) closeMerchant(ctx context.Context, by audit.Actor, in *closeIn) (*merchantOut, error) {
	return a.shown(ctx)(a.Uses.Leaving.Close(ctx, by, in.ID, in.Body.Reason))
}

func (a *api) reopenMerchant(ctx context.Context, by audit.Actor, in *MerchantPath) (*merchantOut, error) {
	return a.shown(ctx)(a.Uses.Onboarding.Reopen(ctx, by, in.ID))
}

func (a *api) switchSandbox(ctx context.Context, by audit.Actor, in *sandboxIn) (*merchantOut, error) {
	return a.shown(ctx)(a.Uses.Onboarding.SwitchSandbox(ctx, by, in.ID, in.Body.On))
}

func (a *api) merchant(ctx context.Context, _ audit.Actor, in *MerchantPath) (*merchantOut, error) {
	return a.shown(ctx)(a.Uses.AnyMerchant(ctx, in.ID))
}

func (a *api) merchants(ctx context.Context, _ audit.Actor, in *merchantsIn) (*merchantsOut, error) {
	list, err := a.Uses.Lists.Merchants(ctx, in.Text, in.Rows())
	if err != nil {
		return nil, err
	}
	out := &merchantsOut{}
	some, at := call.Paged(in.PageQuery, list, func(m merchants.Merchant) string { return m.ID }, func(m merchants.Merchant) merchants.Merchant { return m })
	out.Body.Data, out.Body.Pagination = make([]shape.Merchant, 0, len(some)), at
	for _, m := range some {
		one, err := a.shown(ctx)(m, nil)
		if err != nil {
			return nil, err
		}
		out.Body.Data = append(out.Body.Data, one.Body)
	}
	return out, nil
}

func (a *api) createMerchant(ctx context.Context, by audit.Actor, in *createMerchantIn) (*openedMerchantOut, error) {
	b := in.Body
	o, err := a.Uses.Onboarding.CreateMerchant(ctx, by, appmerchants.NewMerchant{
		Name: b.Name, Email: b.Email, Industry: b.Industry, Tier: b.Tier, Language: b.Language, RefundFees: b.RefundFees,
	})
	if err != nil {
		return nil, err
	}
	m, err := a.shown(ctx)(o.Merchant, nil)
	if err != nil {
		return nil, err
	}
	return &openedMerchantOut{shape.OpenedMerchant{Merchant: m.Body, OpenedShop: shape.NewOpenedShop(o)}}, nil
}

func (a *api) changeContact(ctx context.Context, by audit.Actor, in *contactIn) (*merchantOut, error) {
	if in.Body.Email == "" && in.Body.Language == "" {
		return nil, message.Refusal(problem.InvalidRequest, "name what changes: email or language")
	}
	if in.Body.Email != "" {
		if err := a.Uses.Onboarding.SetEmail(ctx, by, in.ID, in.Body.Email); err != nil {
			return nil, err
		}
	}
	if in.Body.Language != "" {
		if err := a.Uses.Onboarding.SetLanguage(ctx, by, in.ID, in.Body.Language); err != nil {
			return nil, err
		}
	}
	return a.merchant(ctx, by, &in.MerchantPath)
}

func (a *api) emptySandbox(ctx context.Context, by audit.Actor, in *MerchantPath) (*resetOut, error) {
	r, err := a.Uses.Sandbox.Reset(ctx, by, merchants.Scope{Merchant: in.ID})
	if err != nil {
		return nil, err
	}
	return &resetOut{shape.NewSandboxReset(r)}, nil
}

func (a *api) sandboxReset(ctx context.Context, _ audit.Actor, in *MerchantPath) (*resetOut, error) {
	r, err := a.Uses.Sandbox.ResetOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if r.Version == 0 {
		return nil, message.Refusal(problem.NotFound, "the sandbox was never emptied")
	}
	return &resetOut{shape.NewSandboxReset(r)}, nil
}

func (a *api) changeMerchant(ctx context.Context, by audit.Actor, in *termsIn) (*merchantOut, error) {
	to := appmerchants.Agreement{Tier: in.Body.Tier, RefundFees: in.Body.RefundFees}
	if list := in.Body.Installments; list != nil {
		text := strings.Join(*list, ",")
		to.Installments = &text
	}
	to.TrustScore, to.Reason = in.Body.TrustScore, in.Body.Reason
	if of := in.Body.Plan; of != nil {
		assigned, err := a.assignment(*of, in.Body.Reason)
		if err != nil {
			return nil, err
		}
		to.Plan = &assigned
	}
	if to == (appmerchants.Agreement{Reason: to.Reason}) {
		return nil, message.Refusal(problem.InvalidRequest, "name what changes: tier, trustScore, plan, refundFees or installments")
	}
	return a.shown(ctx)(a.Uses.Onboarding.Agree(ctx, by, in.ID, to))
}

func (a *api) pauseMerchant(ctx context.Context, by audit.Actor, in *pauseIn) (*merchantOut, error) {
	return a.shown(ctx)(a.Uses.Onboarding.Pause(ctx, by, in.ID, in.Body.Reason))
}

func (a *api) resumeMerchant(ctx context.Context, by audit.Actor, in *MerchantPath) (*merchantOut, error) {
	return a.shown(ctx)(a.Uses.Onboarding.Resume(ctx, by, in.ID, appmerchants.AnyReason))
}

// assignment is a plan with a merchant's exceptions, as a request says.
//
// Errors: invalid_request.
func (a *api) assignment(of PlanGiven, reason string) (appplans.Assignment, error) {
	to := appplans.Assignment{Plan: of.Name, From: call.TimeOr(of.From), Reason: reason}
	if of.Exceptions == nil {
		return to, nil
	}
	at := to.From
	if at.IsZero() {
		at = a.Uses.Now()
	}
	v, known := a.Uses.Plans.Book().At(of.Name, at)
	if !known {
		return to, appplans.Unknown(a.Uses.Plans.Book(), of.Name)
	}
	var err error
	to.Own, err = of.Exceptions.Exceptions(v.Plan)
	return to, err
}

// shown makes the answer about a merchant, with the terms that are in force.
func (a *api) shown(ctx context.Context) func(merchants.Merchant, error) (*merchantOut, error) {
	return func(m merchants.Merchant, err error) (*merchantOut, error) {
		if err != nil {
			return nil, err
		}
		terms, err := a.Uses.Plans.Terms(ctx, merchants.Scope{Merchant: m.ID, Live: true}, m)
		return &merchantOut{shape.NewMerchant(m, terms, a.Uses.Plans.Book())}, err
	}
}
