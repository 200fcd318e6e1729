package payouts

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// walletRow is a wallet with what holds it back.
type walletRow struct {
	pay.Wallet
	Why pay.Unpayable // it cannot be paid to now
}

// Waits reports whether only time holds the wallet back.
func (w walletRow) Waits() bool { return w.Why == pay.UnpayableCoolDown }

// Gone reports whether the wallet was removed.
func (w walletRow) Gone() bool { return w.Why == pay.UnpayableDisabled }

type walletsView struct {
	Rows  []walletRow
	Pager frame.Pager
}

// walletRows adds to wallets what holds them back.
func (p *pages) walletRows(r *http.Request, v *frame.Visit, list []pay.Wallet) ([]walletRow, error) {
	why, err := p.Uses.Payouts.Payability(r.Context(), v.Scope)
	if err != nil {
		return nil, err
	}
	shown := make([]walletRow, len(list))
	for i, w := range list {
		shown[i] = walletRow{w, why(w)}
	}
	return shown, nil
}

func (p *pages) wallets(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	list, total, err := p.Uses.Wallets.List(r.Context(), v.Scope, pay.WalletStatus(r.FormValue("status")), frame.PageOf(r))
	if err != nil {
		return err
	}
	list, pager := frame.Paged(r, list, total, func(w pay.Wallet) string { return w.ID })
	shown, err := p.walletRows(r, v, list)
	if err != nil {
		return err
	}
	return p.Show(w, r, v, "wallets", walletsView{shown, pager})
}

// one reads the wallet of a page.
func (p *pages) one(r *http.Request, v *frame.Visit) (walletRow, error) {
	found, err := p.Uses.Wallets.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return walletRow{}, err
	}
	shown, err := p.walletRows(r, v, []pay.Wallet{found})
	if err != nil {
		return walletRow{}, err
	}
	return shown[0], nil
}

func (p *pages) wallet(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	one, err := p.one(r, v)
	if err != nil {
		return err
	}
	return p.Show(w, r, v, "wallet", one)
}

// askRemoval is the page that asks before a wallet is removed, for a browser without a script.
func (p *pages) askRemoval(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	one, err := p.one(r, v)
	if err != nil {
		return err
	}
	return p.Show(w, r, v, "removal", one)
}

func (p *pages) removeWallet(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := p.Uses.Wallets.Delete(r.Context(), v.Principal.Actor(), v.Scope, r.PathValue("id")); err != nil {
		return err
	}
	return p.Done(w, r, v, "wallets", "wallet_removed")
}

// walletForm is what somebody typed to add a wallet.
type walletForm struct {
	Network    string
	Bank       bool // it is a bank account
	Currencies []frame.Option
	Countries  []frame.Option
	Value      map[string]string // by field
	Ask        bool              // the second factor is asked for in the form: too much time has passed
	Wrong      map[string]string
	Error      string
}

// walletFields are the fields of the form, as the use case and its errors name them.
var walletFields = []string{
	"label", "currency", "destination", "default", "holderName", "holderDocument", "holderEmail", "bankCode", "branchCode", "accountType", "bankCountry",
}

// formFor is the form of a network; ok is false for an unknown network.
func formFor(r *http.Request) (f walletForm, ok bool) {
	f = walletForm{Network: r.FormValue("network"), Value: map[string]string{}}
	kind, currencies, ok := destination.Reaches(f.Network)
	f.Bank = kind == string(pay.BankAccount)
	for _, currency := range currencies {
		f.Currencies = append(f.Currencies, frame.Option{Value: currency, Label: currency})
	}
	for _, country := range geo.All() {
		f.Countries = append(f.Countries, frame.Option{Value: country.Alpha3, Label: country.Alpha3})
	}
	for _, field := range walletFields {
		f.Value[field] = strings.TrimSpace(r.PostFormValue(field))
	}
	return f, ok
}

// newWallet asks for the network first, and then for what it needs.
func (p *pages) newWallet(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, ok := formFor(r)
	if !ok {
		return p.Show(w, r, v, "networks", destination.Networks())
	}
	if !p.Fresh(w, r, v, v.Home()+"/wallets/new?network="+f.Network) {
		return nil
	}
	return p.Show(w, r, v, "newwallet", f)
}

// proven reports whether the second factor was given just now, also with a code in the form. Otherwise the
// form asks for one, and keeps what was typed, which must not be in an address.
func (p *pages) proven(w http.ResponseWriter, r *http.Request, v *frame.Visit, f *walletForm) (ok bool, err error) {
	if v.SignIn.Fresh(p.Uses.Now()) {
		return true, nil
	}
	f.Ask = true
	code := r.PostFormValue("code")
	if code == "" {
		f.Error = p.Text(v, "code_again")
		return false, nil
	}
	err = p.Prove(w, r, v, code)
	if err == nil {
		f.Ask = false
		return true, nil
	}
	if f.Wrong = frame.FieldErrors(v.Language(), err); f.Wrong != nil {
		err = nil
	}
	return false, err
}

func (p *pages) addWallet(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, ok := formFor(r)
	switch {
	case !ok:
		return problem.Field(problem.InvalidRequest, "network", unknownNetwork)
	case !v.User.HasFactor(): // there is no code to ask for
		p.Fresh(w, r, v, v.Home()+"/wallets/new?network="+f.Network)
		return nil
	}
	ok, err := p.proven(w, r, v, &f)
	if err != nil {
		return err
	}
	if !ok {
		return p.ShowStatus(w, r, v, http.StatusUnauthorized, "newwallet", f)
	}
	n, wrong := p.read(v, f)
	if len(wrong) > 0 {
		f.Wrong = wrong
		return p.ShowStatus(w, r, v, http.StatusBadRequest, "newwallet", f)
	}
	added, err := p.Uses.Wallets.Add(r.Context(), v.Principal, v.Scope, n)
	if err != nil {
		if f.Wrong, f.Error, err = p.wrong(v, err); err != nil {
			return err
		}
		return p.ShowStatus(w, r, v, http.StatusConflict, "newwallet", f)
	}
	return p.Done(w, r, v, "wallets/"+added.ID, "wallet_added")
}

// most is how many characters a field may have.
var most = map[string]int{
	"label": pay.MaxWalletLabel, "destination": pay.MaxDestination, "holderName": pay.MaxHolderName, "holderDocument": pay.MaxHolderDocument,
	"holderEmail": pay.MaxEmail, "bankCode": pay.MaxBankCode, "branchCode": pay.MaxBranchCode,
}

// read makes a wallet of a form, and says what is wrong with it.
func (p *pages) read(v *frame.Visit, f walletForm) (payouts.NewWallet, map[string]string) {
	wrong := map[string]string{}
	kind, _, _ := destination.Reaches(f.Network)
	place, problems := destination.Parse(kind, f.Network, f.Value["currency"], f.Value["destination"])
	for _, one := range problems {
		key := "wrong_" + string(one.Field)
		if one.Field == destination.Account {
			key = "wrong_" + f.Network
		}
		wrong[string(one.Field)] = p.Text(v, key)
	}
	for field, limit := range most {
		if len([]rune(f.Value[field])) > limit {
			wrong[field] = p.Text(v, "too_long", "n", limit)
		}
	}
	if d := f.Value["holderDocument"]; d != "" && (len(d) < 4 || strings.ContainsFunc(d, func(c rune) bool { return notPlain(c) && !strings.ContainsRune("Ññ&", c) })) {
		wrong["holderDocument"] = p.Text(v, "wrong_holderDocument")
	}
	if at := strings.Index(f.Value["holderEmail"], "@"); f.Value["holderEmail"] != "" && (at < 1 || at == len(f.Value["holderEmail"])-1 || strings.Contains(f.Value["holderEmail"], " ")) {
		wrong["holderEmail"] = p.Text(v, "wrong_holderEmail")
	}
	if strings.ContainsFunc(f.Value["bankCode"], notPlain) {
		wrong["bankCode"] = p.Text(v, "wrong_bankCode")
	}
	if strings.ContainsFunc(f.Value["branchCode"], func(c rune) bool { return c < '0' || c > '9' }) {
		wrong["branchCode"] = p.Text(v, "wrong_branchCode")
	}
	if f.Value["accountType"] != "" && !slices.Contains(pay.BankAccountTypes(), pay.BankAccountType(f.Value["accountType"])) {
		wrong["accountType"] = p.Text(v, "wrong_accountType")
	}
	if _, known := geo.Parse(f.Value["bankCountry"]); f.Value["bankCountry"] != "" && !known {
		wrong["bankCountry"] = p.Text(v, "wrong_bankCountry")
	}
	return payouts.NewWallet{
		Destination: place, Label: f.Value["label"], Default: f.Value["default"] != "",
		Beneficiary: pay.Beneficiary{
			Name: f.Value["holderName"], Document: strings.ToUpper(f.Value["holderDocument"]), Email: f.Value["holderEmail"], Bank: strings.ToUpper(f.Value["bankCode"]),
			Branch: f.Value["branchCode"], AccountType: pay.BankAccountType(f.Value["accountType"]), Country: f.Value["bankCountry"],
		},
	}, wrong
}

// notPlain reports whether a character is neither a letter of ASCII nor a digit.
func notPlain(c rune) bool {
	return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
}
