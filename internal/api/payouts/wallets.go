package payouts

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/api/call"
	apppayouts "github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// Required fields are checked with the rest; the document marks them.
type addWalletIn struct {
	Simulate string `header:"Sandbox-Simulate" enum:"cool_down" doc:"Sandbox only: cool_down applies production's cool-down, which the test clock can skip"`
	Body     struct {
		Label       string `json:"label,omitempty" maxLength:"60"`
		Type        string `json:"type,omitempty" maxLength:"40" example:"bank_account" doc:"bank_account or crypto"`
		Currency    string `json:"currency,omitempty" maxLength:"10" example:"MXN" doc:"What arrives: ISO 4217, or a token such as USDT"`
		Network     string `json:"network,omitempty" maxLength:"40" example:"spei" doc:"spei, pix, ted, cbu, iban or account; tron, ethereum or bitcoin. Needed only if the currency has several; without it, BRL means pix"`
		Destination string `json:"destination,omitempty" text:"account" maxLength:"200" example:"032180000118359719" doc:"CLABE, PIX key, CBU or CVU, IBAN, account number, or address. Kept encrypted and never shown again"`
		IsDefault   bool   `json:"isDefault,omitempty" doc:"The wallet of withdrawals that name none; a shop's first wallet is the default"`

		HolderName     string              `json:"holderName,omitempty" maxLength:"140" doc:"Whose account it is, as the bank knows the name. The holder's fields are kept encrypted and never shown again"`
		HolderDocument string              `json:"holderDocument,omitempty" text:"number" maxLength:"40" example:"52998224725" doc:"The holder's tax id: CPF, CNPJ, RFC, CUIT. Points, spaces and dashes are taken away; 4 to 20 letters and digits stay, with & and Ñ"`
		HolderEmail    string              `json:"holderEmail,omitempty" maxLength:"254" pattern:"^[^@ ]+@[^@ ]+$"`
		BankCode       string              `json:"bankCode,omitempty" text:"number" maxLength:"24" doc:"1 to 12 letters and digits. The bank's code in its country: of ted, the 3 digits of COMPE"`
		BranchCode     string              `json:"branchCode,omitempty" text:"number" maxLength:"20" doc:"1 to 10 digits. The branch, without its check digit"`
		AccountType    pay.BankAccountType `json:"accountType,omitempty" enum:"checking,savings"`
		BankCountry    string              `json:"bankCountry,omitempty" maxLength:"3" pattern:"^[A-Z]{3}$" example:"MEX" doc:"ISO 3166 alpha-3"`
	}
	place destination.Destination
}

// The forms of numbers about a holder, once copied separators are taken away.
var (
	holderForm, bankForm, branchForm = regexp.MustCompile(`^[A-Za-z0-9Ññ&]{4,20}$`), regexp.MustCompile(`^[A-Za-z0-9]{1,12}$`), regexp.MustCompile(`^[0-9]{1,10}$`)
	separators                       = strings.NewReplacer(" ", "", ".", "", "-", "", "/", "")
)

// Resolve cleans the numbers, and reads the destination.
func (in *addWalletIn) Resolve(huma.Context) (issues []error) {
	b := &in.Body
	for _, number := range []struct {
		name, means string
		text        *string
		form        *regexp.Regexp
	}{
		{"holderDocument", "4 to 20 letters and digits, such as 52998224725", &b.HolderDocument, holderForm}, {"bankCode", "1 to 12 letters and digits, such as 033", &b.BankCode, bankForm},
		{"branchCode", "1 to 10 digits, such as 4321", &b.BranchCode, branchForm},
	} {
		sent := *number.text
		if *number.text = separators.Replace(document.Clean(sent)); sent != "" && !number.form.MatchString(*number.text) {
			issues = append(issues, wire.Coded(problem.InvalidRequest, number.name, number.name+" must be "+number.means+"; you sent "+call.Clip(sent)))
		}
	}
	place, problems := destination.Parse(b.Type, b.Network, b.Currency, b.Destination)
	for _, p := range problems {
		code := problem.InvalidRequest
		switch {
		case p.Absent:
			code = problem.MissingField
		case p.Field == destination.Currency:
			code = problem.UnsupportedCurrency
		}
		issues = append(issues, wire.Coded(code, string(p.Field), p.Message))
	}
	if _, known := geo.Parse(b.BankCountry); b.BankCountry != "" && !known {
		issues = append(issues, wire.Coded(problem.InvalidRequest, "bankCountry", "bankCountry must be a country of ISO 3166, three letters"))
	}
	in.place = place
	return issues
}

type walletOut struct{ Body view.Wallet }

type walletsIn struct {
	wire.Page
	Status wire.Word[pay.WalletStatus] `query:"status"`
}

type walletsOut struct {
	Body struct {
		Data       []view.Wallet   `json:"data"`
		Pagination wire.Pagination `json:"pagination"`
	}
}

type deletedOut struct {
	Body struct {
		ID      string `json:"id"`
		Deleted bool   `json:"deleted"`
	}
}

func (a *api) walletRoutes() {
	tags := []string{"Payouts"}
	call.Handle(a.API, huma.Operation{OperationID: "createWallet", Method: http.MethodPost, Path: "/wallets", Tags: tags,
		Summary: "Add a wallet for withdrawals", DefaultStatus: http.StatusCreated}, call.ToWithdraw, call.InShop(a.API, a.addWallet))
	call.Handle(a.API, huma.Operation{OperationID: "listWallets", Method: http.MethodGet, Path: "/wallets", Tags: tags,
		Summary: "List wallets, newest first"}, call.ToRead, call.InShop(a.API, a.wallets))
	call.Handle(a.API, huma.Operation{OperationID: "getWallet", Method: http.MethodGet, Path: "/wallets/{id}", Tags: tags,
		Summary: "Read a wallet"}, call.ToRead, call.InShop(a.API, a.wallet))
	call.Handle(a.API, huma.Operation{OperationID: "deleteWallet", Method: http.MethodDelete, Path: "/wallets/{id}", Tags: tags,
		Summary: "Disable a wallet"}, call.ToWithdraw, call.InShop(a.API, a.deleteWallet))
}

func (a *api) addWallet(ctx context.Context, caller call.Caller, in *addWalletIn) (*walletOut, error) {
	if in.Simulate != "" && caller.Live {
		return nil, merchants.NoSimulation("Sandbox-Simulate")
	}
	unpayable, err := a.uses.Payouts.Payability(ctx, caller.Scope) // read first, so that a failure here does not look like a failed add
	if err != nil {
		return nil, err
	}
	w, err := a.uses.Wallets.Add(ctx, caller.Principal, caller.Scope, apppayouts.NewWallet{
		Destination: in.place, Label: in.Body.Label, Default: in.Body.IsDefault, CoolDown: in.Simulate != "",
		Beneficiary: pay.Beneficiary{
			Name: strings.TrimSpace(in.Body.HolderName), Document: strings.ToUpper(in.Body.HolderDocument), Email: in.Body.HolderEmail,
			Bank: strings.ToUpper(in.Body.BankCode), Branch: in.Body.BranchCode, AccountType: in.Body.AccountType, Country: in.Body.BankCountry,
		},
	})
	if err != nil {
		return nil, err
	}
	return &walletOut{view.NewWallet(w, unpayable(w))}, nil
}

func (a *api) wallets(ctx context.Context, caller call.Caller, in *walletsIn) (*walletsOut, error) {
	list, total, err := a.uses.Wallets.List(ctx, caller.Scope, pay.WalletStatus(in.Status), in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	unpayable, err := a.uses.Payouts.Payability(ctx, caller.Scope)
	if err != nil {
		return nil, err
	}
	out := &walletsOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(w pay.Wallet) string { return w.ID },
		func(w pay.Wallet) view.Wallet { return view.NewWallet(w, unpayable(w)) })
	return out, nil
}

func (a *api) wallet(ctx context.Context, caller call.Caller, in *call.IDPath) (*walletOut, error) {
	w, err := a.uses.Wallets.Get(ctx, caller.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	unpayable, err := a.uses.Payouts.Payability(ctx, caller.Scope)
	if err != nil {
		return nil, err
	}
	return &walletOut{view.NewWallet(w, unpayable(w))}, nil
}

func (a *api) deleteWallet(ctx context.Context, caller call.Caller, in *call.IDPath) (*deletedOut, error) {
	if err := a.uses.Wallets.Delete(ctx, caller.Actor(), caller.Scope, in.ID); err != nil {
		return nil, err
	}
	out := &deletedOut{}
	out.Body.ID, out.Body.Deleted = in.ID, true
	return out, nil
}
