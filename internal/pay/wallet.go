package pay

import (
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// WalletPrefix begins the id of a wallet.
const WalletPrefix = "wal_"

// WalletType is the type of a wallet's destination.
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

// WalletCoolDown is how long a new wallet cannot be paid to. So the thief of a key cannot empty the
// balance before the owner notices the new wallet.
const WalletCoolDown = 24 * time.Hour

// How long a withdrawal to it stays pending in each environment: WithdrawalHold.
const (
	liveHold    = 10 * time.Minute
	sandboxHold = 5 * time.Second
)

// Wallet is where a merchant's withdrawals are paid to. Its destination never changes, and is
// encrypted.
type Wallet struct {
	ID string // wal_…
	merchants.Scope
	Version     int64
	Label       string
	Type        WalletType
	Currency    string // ISO 4217, or a token such as USDT
	Network     string
	Encrypted   []byte   // the destination, encrypted, bound to Secret
	Holder      []byte   // the beneficiary, encrypted, bound to HolderSecret; nil if none was given
	Known       []string // the fields of the beneficiary that are known
	Masked      string   // the part of the destination that is shown
	Fingerprint string   // keyed hash of network and destination
	Default     bool     // withdrawals go here if they name no wallet
	Status      WalletStatus
	ActiveAt    time.Time // the end of the cool-down
	DueAt       time.Time // when a node has to end the cool-down; zero once it has ended
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Secret names what the encrypted destination belongs to: moved to another row or tenant, it cannot
// be decrypted.
func (wa Wallet) Secret() string {
	return "wallet/" + wa.Merchant + "/" + wa.Shop + "/" + string(wa.Environment()) + "/" + wa.ID
}

// HolderSecret is Secret for the beneficiary.
func (wa Wallet) HolderSecret() string { return wa.Secret() + "/holder" }

// Open adds a new wallet, which becomes active after coolDown; zero: at once. A new default
// replaces the one before. Each shop of the merchant gets the event: the balance is the merchant's,
// and the thief of one shop's key could add a wallet.
func (wa Wallet) Open(coolDown time.Duration, before *Wallet, shops []merchants.Shop, now time.Time) (Wallet, Change) {
	wa.Version, wa.CreatedAt, wa.UpdatedAt = 1, now, now
	wa.Status, wa.ActiveAt = WalletActive, now.Add(coolDown)
	if coolDown > 0 {
		wa.Status, wa.DueAt = WalletPending, wa.ActiveAt
	}
	var change Change
	if before == nil {
		wa.Default = true // the shop's first wallet is its default
	} else if wa.Default {
		other := before.next(now)
		other.Default = false
		change.Wallets = append(change.Wallets, other)
	}
	change.Wallets = append(change.Wallets, wa)
	snapshot := wa
	for _, shop := range shops {
		change.Events = append(change.Events, Event{
			ID:   webhooks.EventID(strings.TrimPrefix(wa.ID, WalletPrefix), 1) + "-" + strings.TrimPrefix(shop.ID, merchants.ShopPrefix),
			Type: webhooks.WalletAdded, Scope: merchants.Scope{Merchant: wa.Merchant, Shop: shop.ID, Live: wa.Live}, Object: wa.ID, Sequence: 1, At: now, Wallet: &snapshot,
		})
	}
	return wa, change
}

// Unpayable is why a wallet cannot be paid to, or why a withdrawal waits.
type Unpayable string

// The reasons (PAYOUT-2).
const (
	Payable             Unpayable = "" // it can be paid to
	UnpayableDisabled   Unpayable = "disabled"
	UnpayableCoolDown   Unpayable = "cool_down"
	UnpayableUnverified Unpayable = "kyc_required"
	UnpayableNoAccount  Unpayable = "no_payout_account"      // no payout account of the operator serves it
	UnpayableIncomplete Unpayable = "beneficiary_incomplete" // its accounts need to know more about the beneficiary
	UnpayableNoRate     Unpayable = "no_rate"                // no rate for its currency, or it is too old
)

// Unpayable is why the wallet itself cannot be paid to.
func (wa Wallet) Unpayable(now time.Time) Unpayable {
	switch {
	case wa.Status == WalletDisabled:
		return UnpayableDisabled
	case !wa.Usable(now):
		return UnpayableCoolDown
	}
	return Payable
}

// Usable reports whether withdrawals may go to the wallet. A wallet whose cool-down has passed is
// usable, even if that was not written yet.
func (wa Wallet) Usable(now time.Time) bool {
	return wa.Status == WalletActive || wa.Status == WalletPending && !now.Before(wa.ActiveAt)
}

// Activate ends the cool-down. It reports whether there was one.
func (wa Wallet) Activate(now time.Time) (Change, bool) {
	if wa.Status != WalletPending {
		return Change{}, false
	}
	wa = wa.next(now)
	wa.Status, wa.DueAt = WalletActive, time.Time{}
	return Change{Wallets: []Wallet{wa}}, true
}

// Disable ends a wallet for good; its row stays. It reports whether the wallet changed.
func (wa Wallet) Disable(now time.Time) (Change, bool) {
	if wa.Status == WalletDisabled {
		return Change{}, false
	}
	wa = wa.next(now)
	wa.Status, wa.Default, wa.DueAt = WalletDisabled, false, time.Time{}
	return Change{Wallets: []Wallet{wa}}, true
}

// Erased reports whether the destination was removed.
func (wa Wallet) Erased() bool { return len(wa.Encrypted) == 0 }

// Erase removes the destination, the beneficiary and the label of a disabled wallet, at the end of its merchant's leaving (LEAVE-6). What
// payouts in the books were proved against stays: the keyed hash of the destination, and its masked form. It reports whether the wallet
// changed.
func (wa Wallet) Erase(now time.Time) (Change, bool) {
	if wa.Status != WalletDisabled || wa.Erased() {
		return Change{}, false
	}
	wa = wa.next(now)
	wa.Encrypted, wa.Holder, wa.Known, wa.Label = nil, nil, nil, ""
	return Change{Wallets: []Wallet{wa}}, true
}

// Mail returns the e-mail to a merchant about the new wallet. preview shows the key that added it; user is
// the e-mail address of the user who did. It returns false if no e-mail is sent: in the sandbox, where
// a wallet does no harm, and if the merchant has no address.
func (wa Wallet) Mail(merchant merchants.Merchant, preview, user string) (mails.Message, bool) {
	to := strings.TrimSpace(merchant.Email)
	if !wa.Live || to == "" {
		return mails.Message{}, false
	}
	m := mails.New(mails.Prefix+strings.TrimPrefix(wa.ID, WalletPrefix), wa.Scope, wa.ID, wa.CreatedAt)
	m.Wallet = mails.Wallet{
		To:          to,
		Language:    merchant.Language,
		Merchant:    merchant.Name,
		Wallet:      wa.ID,
		Network:     wa.Network,
		Currency:    wa.Currency,
		Destination: wa.Masked,
		Shop:        wa.Shop,
		Key:         preview,
		User:        user,
		AddedAt:     wa.CreatedAt,
		ActiveAt:    wa.ActiveAt,
	}
	return m, true
}

func (wa Wallet) next(now time.Time) Wallet {
	wa.Version++
	wa.UpdatedAt = now
	return wa
}

// Limits of a wallet, in characters. Those of the holder's document, the bank and the branch are without punctuation.
const (
	MaxWalletLabel    = 60
	MaxDestination    = 200
	MaxHolderName     = 140
	MaxHolderDocument = 20
	MaxBankCode       = 12
	MaxBranchCode     = 10
)

// FitWallet returns an error if a text of a new wallet is too long. The fields are named as in the API.
//
// Errors: invalid_request.
func FitWallet(label, destination string, b Beneficiary) error {
	return problem.Fit(problem.Text{Param: "label", Text: label, Most: MaxWalletLabel}, problem.Text{Param: "destination", Text: destination, Most: MaxDestination},
		problem.Text{Param: "holderName", Text: b.Name, Most: MaxHolderName}, problem.Text{Param: "holderDocument", Text: b.Document, Most: MaxHolderDocument},
		problem.Text{Param: "holderEmail", Text: b.Email, Most: MaxEmail}, problem.Text{Param: "bankCode", Text: b.Bank, Most: MaxBankCode},
		problem.Text{Param: "branchCode", Text: b.Branch, Most: MaxBranchCode})
}

// Beneficiary is who a wallet belongs to, as the merchant wrote it. It is secret: do not log it.
type Beneficiary struct {
	Name        string          `json:"name,omitempty"`     // of the person or the company, as the bank knows it
	Document    string          `json:"document,omitempty"` // tax id: only letters and digits
	Bank        string          `json:"bank,omitempty"`     // the bank's code in its country
	Branch      string          `json:"branch,omitempty"`   // digits
	AccountType BankAccountType `json:"accountType,omitempty"`
	Email       string          `json:"email,omitempty"`
	Country     string          `json:"country,omitempty"` // of the bank, ISO 3166 alpha-3
}

// BankAccountType is the kind of a bank account. An adapter has its provider's word for each.
type BankAccountType string

// The kinds of a bank account.
const (
	CheckingAccount BankAccountType = "checking"
	SavingsAccount  BankAccountType = "savings"
)

// BankAccountTypes lists the kinds of a bank account.
func BankAccountTypes() []BankAccountType { return []BankAccountType{CheckingAccount, SavingsAccount} }

// HolderField is a field of the beneficiary that some destinations need.
type HolderField string

// The fields, named as in the API.
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
		{AccountType, string(b.AccountType)}, {HolderEmail, b.Email}, {BankCountry, b.Country}} {
		if f.value != "" {
			list = append(list, f.field)
		}
	}
	return list
}
