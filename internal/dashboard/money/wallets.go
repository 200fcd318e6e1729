package money

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
func (m *moneyPages) walletRows(r *http.Request, v *frame.Visit, list []pay.Wallet) ([]walletRow, error) {
	why, err := m.Uses.Payouts.Payability(r.Context(), v.Scope)
	if err != nil {
		return nil, err
	}
	shown := make([]walletRow, len(list))
	for i, w := range list {
		shown[i] = walletRow{w, why(w)}
	}
	return shown, nil
}

func (m *moneyPages) wallets(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	list, total, err := m.Uses.Wallets.List(r.Context(), v.Scope, pay.WalletStatus(r.FormValue("status")), frame.PageOf(r))
	if err != nil {
		return err
	}
	list, pager := cut(r, list, total, func(w pay.Wallet) string { return w.ID })
	shown, err := m.walletRows(r, v, list)
	if err != nil {
		return err
	}
	return m.Show(w, r, v, "wallets", walletsView{shown, pager})
}

// one reads the wallet of a page.
func (m *moneyPages) one(r *http.Request, v *frame.Visit) (walletRow, error) {
	found, err := m.Uses.Wallets.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return walletRow{}, err
	}
	shown, err := m.walletRows(r, v, []pay.Wallet{found})
	if err != nil {
		return walletRow{}, err
	}
	return shown[0], nil
}

func (m *moneyPages) wallet(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	one, err := m.one(r, v)
	if err != nil {
		return err
	}
	return m.Show(w, r, v, "wallet", one)
}

// askRemoval is the page that asks before a wallet is removed, for a browser without a script.
func (m *moneyPages) askRemoval(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	one, err := m.one(r, v)
	if err != nil {
		return err
	}
	return m.Show(w, r, v, "removal", one)
}

func (m *moneyPages) removeWallet(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := m.Uses.Wallets.Delete(r.Context(), v.Principal.Actor(), v.Scope, r.PathValue("id")); err != nil {
		return err
	}
	m.Flash(w, "wallet_removed")
	return m.lead(w, r, v, "/wallets")
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
func (m *moneyPages) newWallet(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, ok := formFor(r)
	if !ok {
		return m.Show(w, r, v, "networks", destination.Networks())
	}
	if !m.Fresh(w, r, v, v.Home()+"/wallets/new?network="+f.Network) {
		return nil
	}
	return m.Show(w, r, v, "newwallet", f)
}

// proven reports whether the second factor was given just now, also with a code in the form. Otherwise the
// form asks for one, and keeps what was typed, which must not be in an address.
func (m *moneyPages) proven(w http.ResponseWriter, r *http.Request, v *frame.Visit, f *walletForm) (ok bool, err error) {
	if v.SignIn.Fresh(m.Uses.Now()) {
		return true, nil
	}
	f.Ask = true
	code := r.PostFormValue("code")
	if code == "" {
		f.Error = m.Text(v, "code_again")
		return false, nil
	}
	err = m.Prove(w, r, v, code)
	if err == nil {
		f.Ask = false
		return true, nil
	}
	if f.Wrong = frame.FieldErrors(v.Language(), err); f.Wrong != nil {
		err = nil
	}
	return false, err
}

func (m *moneyPages) addWallet(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, ok := formFor(r)
	switch {
	case !ok:
		return problem.Field(problem.InvalidRequest, "network", unknownNetwork)
	case !v.User.HasFactor(): // there is no code to ask for
		m.Fresh(w, r, v, v.Home()+"/wallets/new?network="+f.Network)
		return nil
	}
	ok, err := m.proven(w, r, v, &f)
	if err != nil {
		return err
	}
	if !ok {
		return m.ShowStatus(w, r, v, http.StatusUnauthorized, "newwallet", f)
	}
	n, wrong := m.read(v, f)
	if len(wrong) > 0 {
		f.Wrong = wrong
		return m.ShowStatus(w, r, v, http.StatusBadRequest, "newwallet", f)
	}
	added, err := m.Uses.Wallets.Add(r.Context(), v.Principal, v.Scope, n)
	if err != nil {
		if f.Wrong, f.Error, err = m.wrong(v, err); err != nil {
			return err
		}
		return m.ShowStatus(w, r, v, http.StatusConflict, "newwallet", f)
	}
	m.Flash(w, "wallet_added")
	return m.lead(w, r, v, "/wallets/"+added.ID)
}

// most is how many characters a field may have.
var most = map[string]int{
	"label": pay.MaxWalletLabel, "destination": pay.MaxDestination, "holderName": pay.MaxHolderName, "holderDocument": pay.MaxHolderDocument,
	"holderEmail": pay.MaxEmail, "bankCode": pay.MaxBankCode, "branchCode": pay.MaxBranchCode,
}

// read makes a wallet of a form, and says what is wrong with it.
func (m *moneyPages) read(v *frame.Visit, f walletForm) (payouts.NewWallet, map[string]string) {
	wrong := map[string]string{}
	kind, _, _ := destination.Reaches(f.Network)
	place, problems := destination.Parse(kind, f.Network, f.Value["currency"], f.Value["destination"])
	for _, p := range problems {
		key := "wrong_" + string(p.Field)
		if p.Field == destination.Account {
			key = "wrong_" + f.Network
		}
		wrong[string(p.Field)] = m.Text(v, key)
	}
	for field, limit := range most {
		if len([]rune(f.Value[field])) > limit {
			wrong[field] = m.Text(v, "too_long", "n", limit)
		}
	}
	if d := f.Value["holderDocument"]; d != "" && (len(d) < 4 || strings.ContainsFunc(d, func(c rune) bool { return notPlain(c) && !strings.ContainsRune("Ññ&", c) })) {
		wrong["holderDocument"] = m.Text(v, "wrong_holderDocument")
	}
	if at := strings.Index(f.Value["holderEmail"], "@"); f.Value["holderEmail"] != "" && (at < 1 || at == len(f.Value["holderEmail"])-1 || strings.Contains(f.Value["holderEmail"], " ")) {
		wrong["holderEmail"] = m.Text(v, "wrong_holderEmail")
	}
	if strings.ContainsFunc(f.Value["bankCode"], notPlain) {
		wrong["bankCode"] = m.Text(v, "wrong_bankCode")
	}
	if strings.ContainsFunc(f.Value["branchCode"], func(c rune) bool { return c < '0' || c > '9' }) {
		wrong["branchCode"] = m.Text(v, "wrong_branchCode")
	}
	if !slices.Contains([]string{"", "checking", "savings"}, f.Value["accountType"]) {
		wrong["accountType"] = m.Text(v, "wrong_accountType")
	}
	if _, known := geo.Parse(f.Value["bankCountry"]); f.Value["bankCountry"] != "" && !known {
		wrong["bankCountry"] = m.Text(v, "wrong_bankCountry")
	}
	return payouts.NewWallet{
		Destination: place, Label: f.Value["label"], Default: f.Value["default"] != "",
		Beneficiary: pay.Beneficiary{
			Name: f.Value["holderName"], Document: strings.ToUpper(f.Value["holderDocument"]), Email: f.Value["holderEmail"], Bank: strings.ToUpper(f.Value["bankCode"]),
			Branch: f.Value["branchCode"], AccountType: f.Value["accountType"], Country: f.Value["bankCountry"],
		},
	}, wrong
}

// notPlain reports whether a character is neither a letter of ASCII nor a digit.
func notPlain(c rune) bool {
	return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
}
