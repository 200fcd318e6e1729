package pay

import (
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// WalletPrefix begins the id of every wallet.
const WalletPrefix = "wal_"

// WalletType says what a wallet's destination is.
type WalletType string

// The two types (PAYOUT-1).
const (
	BankAccount WalletType = "bank_account"
	Crypto      WalletType = "crypto"
)

// WalletStatus says whether a wallet can be paid to.
type WalletStatus string

// States of a wallet. A deleted one is disabled: its history stays.
const (
	WalletPending  WalletStatus = "pending_verification"
	WalletActive   WalletStatus = "active"
	WalletDisabled WalletStatus = "disabled"
)

// WalletStatuses lists all states.
func WalletStatuses() []WalletStatus {
	return []WalletStatus{WalletPending, WalletActive, WalletDisabled}
}

// WalletCoolDown is how long a new wallet cannot be paid to, so that who stole
// a key cannot empty the balance before its owner notices the new wallet.
const WalletCoolDown = 24 * time.Hour

// Wallet is where a merchant's withdrawals are paid to. Its destination never
// changes and is kept encrypted.
type Wallet struct {
	ID string // wal_…
	tenant.Scope
	Version     int64
	Label       string
	Type        WalletType
	Currency    string // ISO 4217, or a token such as USDT
	Network     string
	Sealed      []byte   // the destination, bound to Secret
	Holder      []byte   // who it belongs to, bound to HolderSecret; nil where nobody told
	Known       []string // which of the holder's fields are known
	Masked      string   // what is shown of it
	Fingerprint string   // keyed hash of network and destination
	Default     bool     // where a withdrawal goes that names no wallet
	Status      WalletStatus
	ActiveAt    time.Time // the end of the cool-down
	DueAt       time.Time // when somebody has to end it; zero once it has ended
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Secret names what the sealed destination belongs to: moved to another row or
// tenant it does not open.
func (w Wallet) Secret() string {
	return "wallet/" + w.Merchant + "/" + w.Shop + "/" + string(w.Environment()) + "/" + w.ID
}

// HolderSecret is Secret for who the wallet belongs to.
func (w Wallet) HolderSecret() string { return w.Secret() + "/holder" }

// Open adds a new wallet, which is active after a cool-down; none makes it so
// at once. A default one takes the place of the one before. Each shop of the merchant is told:
// the balance is the merchant's, and who took a key of one would add a wallet of his own.
func (w Wallet) Open(coolDown time.Duration, before *Wallet, shops []tenant.Shop, now time.Time) (Wallet, Change) {
	w.Version, w.CreatedAt, w.UpdatedAt = 1, now, now
	w.Status, w.ActiveAt = WalletActive, now.Add(coolDown)
	if coolDown > 0 {
		w.Status, w.DueAt = WalletPending, w.ActiveAt
	}
	var change Change
	if before == nil {
		w.Default = true // a shop's only wallet
	} else if w.Default {
		other := before.next(now)
		other.Default = false
		change.Wallets = append(change.Wallets, other)
	}
	change.Wallets = append(change.Wallets, w)
	snapshot := w
	for _, shop := range shops {
		change.Events = append(change.Events, Event{
			ID:   hook.EventID(strings.TrimPrefix(w.ID, WalletPrefix), 1) + "-" + strings.TrimPrefix(shop.ID, "shp_"),
			Type: hook.WalletAdded, Scope: tenant.Scope{Merchant: w.Merchant, Shop: shop.ID, Live: w.Live}, Object: w.ID, Sequence: 1, At: now, Wallet: &snapshot,
		})
	}
	return w, change
}

// Unpayable is why a wallet cannot be paid to.
type Unpayable string

// The reasons (PAYOUT-2).
const (
	Payable             Unpayable = "" // it can
	UnpayableDisabled   Unpayable = "disabled"
	UnpayableCoolDown   Unpayable = "cool_down"
	UnpayableUnverified Unpayable = "kyc_required"
	UnpayableNoAccount  Unpayable = "no_payout_account"      // the operator has none that pays out to it
	UnpayableIncomplete Unpayable = "beneficiary_incomplete" // the accounts that would need to know more of the holder
	UnpayableNoRate     Unpayable = "no_rate"                // of its currency, or one that is too old
)

// Unpayable is why the wallet by itself cannot be paid to.
func (w Wallet) Unpayable(now time.Time) Unpayable {
	switch {
	case w.Status == WalletDisabled:
		return UnpayableDisabled
	case !w.Usable(now):
		return UnpayableCoolDown
	}
	return Payable
}

// Usable reports whether withdrawals may go to the wallet. One whose cool-down
// has passed is, whether or not somebody has written so yet.
func (w Wallet) Usable(now time.Time) bool {
	return w.Status == WalletActive || w.Status == WalletPending && !now.Before(w.ActiveAt)
}

// Activate ends the cool-down. It reports whether there was one to end.
func (w Wallet) Activate(now time.Time) (Change, bool) {
	if w.Status != WalletPending {
		return Change{}, false
	}
	w = w.next(now)
	w.Status, w.DueAt = WalletActive, time.Time{}
	return Change{Wallets: []Wallet{w}}, true
}

// Disable ends a wallet for good; its row stays. It reports whether there was
// something to end.
func (w Wallet) Disable(now time.Time) (Change, bool) {
	if w.Status == WalletDisabled {
		return Change{}, false
	}
	w = w.next(now)
	w.Status, w.Default, w.DueAt = WalletDisabled, false, time.Time{}
	return Change{Wallets: []Wallet{w}}, true
}

func (w Wallet) next(now time.Time) Wallet {
	w.Version++
	w.UpdatedAt = now
	return w
}

// Beneficiary is who a wallet belongs to, as far as the merchant told. Secret; not to be logged.
type Beneficiary struct {
	Name        string `json:"name,omitempty"`        // of the person or the company, as the bank knows it
	Document    string `json:"document,omitempty"`    // tax id: letters and digits alone
	Bank        string `json:"bank,omitempty"`        // the bank's code in its country
	Branch      string `json:"branch,omitempty"`      // digits
	AccountType string `json:"accountType,omitempty"` // checking or savings
	Email       string `json:"email,omitempty"`
	Country     string `json:"country,omitempty"` // of the bank, ISO 3166 alpha-3
}

// HolderField names what some destinations need of a beneficiary.
type HolderField string

// The fields, called as in the API.
const (
	HolderName     HolderField = "holderName"
	HolderDocument HolderField = "holderDocument"
	BankCode       HolderField = "bankCode"
	BranchCode     HolderField = "branchCode"
	AccountType    HolderField = "accountType"
	HolderEmail    HolderField = "holderEmail"
	BankCountry    HolderField = "bankCountry"
)

// Has lists the fields that are known, in order.
func (b Beneficiary) Has() (list []HolderField) {
	for _, f := range []struct {
		field HolderField
		value string
	}{{HolderName, b.Name}, {HolderDocument, b.Document}, {BankCode, b.Bank}, {BranchCode, b.Branch},
		{AccountType, b.AccountType}, {HolderEmail, b.Email}, {BankCountry, b.Country}} {
		if f.value != "" {
			list = append(list, f.field)
		}
	}
	return list
}
