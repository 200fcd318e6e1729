package accounts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
)

// NewAccount describes a provider account to be opened.
type NewAccount struct {
	ID          string // "": an id is made
	Adapter     string
	Live        bool
	Merchant    string // "" for all
	BaseURL     string
	Credentials map[string]string
	Rails       []string // none: all rails of the adapter
	Terms       []accounts.RailTerms
	Priority    int
	Disabled    bool
}

// Add opens a provider account. Running servers use it within seconds. No provider is called.
//
// Errors: invalid_request for invalid settings, conflict_state for an id that was used before; those of
// base.DualControls.Require. No error contains a credential.
func (ac *Accounts) Add(ctx context.Context, by audit.Actor, n NewAccount) (account accounts.Account, err error) {
	now, named := ac.Now(), n.ID
	if n.ID == "" {
		n.ID = ac.NewID(accounts.Prefix, now)
	}
	status := accounts.Enabled
	if n.Disabled {
		status = accounts.Disabled
	}
	fresh := accounts.Account{
		ID: n.ID, Adapter: n.Adapter, Live: n.Live, Merchant: n.Merchant, Status: status, BaseURL: n.BaseURL,
		Rails: n.Rails, Terms: n.Terms, Priority: n.Priority,
	}
	if err := ac.check(ctx, fresh, n.Credentials); err != nil {
		return fresh, err
	}
	asked := fresh
	asked.ID = named // one that is made differs each time
	if err := ac.propose(ctx, by, "account.open", asked, n.Credentials); err != nil {
		return fresh, err
	}
	if fresh.Credentials, err = ac.providers.encryptCredentials(fresh.ID, n.Credentials); err != nil {
		return fresh, err
	}
	err = base.Again(func() error {
		_, err := ac.Store.Accounts().Get(ctx, n.ID)
		if err == nil {
			return &problem.Error{Code: problem.ConflictState, Param: "id", Reason: accountIDTaken.With(n.ID),
				Details: problem.Details{Reason: "id_taken"}}
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if account, err = fresh.Save(now); err != nil {
			return err
		}
		return ac.Store.Commit(ctx, pay.Change{
			Accounts: []accounts.Account{account}, Audit: ac.providers.AuditAccount(by, audit.ProviderAdded, account, terms(account)),
		})
	})
	if err != nil {
		return fresh, err
	}
	ac.Reread(ctx, "provider accounts", ac.providers.ReadAccounts)
	return account, nil
}

// propose asks for a second person for an account with credentials. They are not stored: whoever proposed them gives them again.
//
// Errors: those of base.DualControls.Require.
func (ac *Accounts) propose(ctx context.Context, by audit.Actor, kind string, account accounts.Account, credentials map[string]string) error {
	named := slices.Sorted(maps.Keys(credentials))
	secret := []string{account.BaseURL}
	for _, name := range named {
		secret = append(secret, name, credentials[name])
	}
	details := terms(account)
	if details == nil {
		details = map[string]string{}
	}
	details["credentials"] = strings.Join(named, " ")
	details["environment"], details["merchant"] = string(account.Environment()), account.Merchant
	return ac.Dual.Require(ctx, by, base.Ask{
		Right: operators.Credentials, Kind: kind, Subject: account.ID, Details: details, Body: details, Secret: strings.Join(secret, "\x00"),
	})
}

// check validates an account by data outside of it: the adapter, the merchant, the credentials.
//
// Errors: invalid_request.
func (ac *Accounts) check(ctx context.Context, account accounts.Account, credentials map[string]string) error {
	if _, reserved := ac.providers.StandIns[account.ID]; reserved || account.ID == StandInPayouts || account.ID == HandPayouts {
		return invalid("id", accountIsSimulated.With(account.ID))
	}
	if err := account.Check(); err != nil { // before the id becomes part of anything
		return err
	}
	adapter, err := ac.providers.Adapter(account.Adapter)
	if err != nil {
		return invalid("adapter", settingWrong.With(err.Error()))
	}
	if err := CheckRails(adapter, account); err != nil {
		return err
	}
	if err := checkTerms(adapter, account); err != nil {
		return err
	}
	if err := problem.Fit(problem.Text{Param: "baseUrl", Text: account.BaseURL, Most: accounts.MaxBaseURL}); err != nil {
		return err
	}
	if err := provider.CheckBaseURL(account.BaseURL); err != nil {
		return invalid("baseUrl", settingWrong.With(err.Error()))
	}
	if account.Merchant != "" {
		_, err := ac.Store.Merchants().Get(ctx, account.Merchant)
		if errors.Is(err, store.ErrNotFound) {
			return invalid("merchantId", merchantOfAccountUnknown.With(account.Merchant))
		}
		if err != nil {
			return fmt.Errorf("merchant %s: %w", account.Merchant, err)
		}
	}
	_, _, err = ac.providers.openClient(adapter, account, credentials)
	if wrong, ok := errors.AsType[*provider.FieldError](err); ok {
		return invalid("credentials."+wrong.Field, settingWrong.With(wrong.Error()))
	}
	return err
}

// CheckRails returns an error that lists the account's rails which its adapter lacks.
func CheckRails(adapter provider.Adapter, account accounts.Account) error {
	var wrong []problem.Issue
	check := func(path, rail string) {
		if !accounts.RailIn(adapter.Rails, rail) {
			wrong = append(wrong, problem.Issue{Path: path, Reason: railNotServed.With(adapter.Name, rail, adapter.Rails)})
		}
	}
	for i, rail := range account.Rails {
		check(fmt.Sprintf("rails[%d]", i), rail)
	}
	for i, t := range account.Terms {
		if t.Rail != "" {
			check(fmt.Sprintf("terms[%d].rail", i), t.Rail)
		}
	}
	return problem.Invalid(wrong...)
}

// checkTerms refuses limits that would limit nothing: limits on payouts must be in USD.
func checkTerms(adapter provider.Adapter, account accounts.Account) error {
	if adapter.OpenPayouts == nil {
		return nil
	}
	var wrong []problem.Issue
	for i, t := range account.Terms {
		for n, l := range t.Limits {
			if l.Currency != money.USD {
				wrong = append(wrong, problem.Issue{Path: fmt.Sprintf("terms[%d].limits[%d]", i, n), Reason: payoutLimitNotUSD.With(l.Currency)})
			}
		}
	}
	return problem.Invalid(wrong...)
}

// invalid is the error for one invalid field.
func invalid(path string, why problem.Reason) error {
	return problem.Invalid(problem.Issue{Path: path, Reason: why})
}

// AuditAccount is the audit entry of an act on an account.
func (ps *Providers) AuditAccount(by audit.Actor, act audit.Act, account accounts.Account, details map[string]string) []audit.Entry {
	return ps.Audited(by, account.Scope(), act, account.ID, details)
}

// terms lists an account's settings for the audit log, without its credentials.
func terms(account accounts.Account) map[string]string {
	told := map[string]string{"adapter": account.Adapter, "priority": strconv.Itoa(account.Priority), "status": string(account.Status)}
	if len(account.Rails) > 0 {
		told["rails"] = strings.Join(account.Rails, " ")
	}
	if account.BaseURL != "" {
		told["baseUrl"] = account.BaseURL
	}
	for _, t := range account.Terms {
		words := []string{}
		if t.Fee != nil {
			words = append(words, t.Fee.String())
		}
		for _, l := range t.Limits {
			words = append(words, l.String())
		}
		told[strings.TrimSuffix("terms "+t.Rail, " ")] = strings.Join(words, " ")
	}
	return told
}

// change decides about an account and writes the result.
func (ac *Accounts) change(ctx context.Context, by audit.Actor, id string, act audit.Act, decide func(accounts.Account) (accounts.Account, map[string]string, error)) (accounts.Account, error) {
	done, err := base.Decide(func() (accounts.Account, error) {
		account, err := ac.Store.Accounts().Get(ctx, id)
		if err != nil {
			return account, fmt.Errorf("provider account %s: %w", id, err)
		}
		next, details, err := decide(account)
		if err != nil || next.Version == account.Version {
			return next, err
		}
		return next, ac.Store.Commit(ctx, pay.Change{
			Accounts: []accounts.Account{next}, Audit: ac.providers.AuditAccount(by, act, next, details),
		})
	})
	if err != nil {
		return done, err
	}
	ac.Reread(ctx, "provider accounts", ac.providers.ReadAccounts)
	return done, nil
}

// Edit changes an account's settings. edit may return an error.
//
// Errors: store.ErrNotFound, invalid_request, conflict_state, edit's own.
func (ac *Accounts) Edit(ctx context.Context, by audit.Actor, id string, edit func(accounts.Account) (accounts.Account, error)) (accounts.Account, error) {
	return ac.change(ctx, by, id, audit.ProviderChanged, func(account accounts.Account) (accounts.Account, map[string]string, error) {
		if err := account.Present(); err != nil {
			return account, nil, err
		}
		edited, err := edit(account)
		if err != nil {
			return account, nil, err
		}
		if reflect.DeepEqual(edited, account) {
			return account, nil, nil
		}
		next, err := edited.Save(ac.Now())
		if err != nil {
			return account, nil, err
		}
		credentials, err := ac.providers.decryptCredentials(id, account.Credentials)
		if err == nil {
			err = ac.check(ctx, edited, credentials)
		}
		if err == nil && edited.BaseURL != account.BaseURL { // the credentials go there
			if err = ac.Dual.Check(ctx, by, operators.Credentials); err == nil {
				err = ac.propose(ctx, by, "account.address", edited, nil)
			}
		}
		return next, terms(next), err
	})
}

// Rotate replaces the given credentials and keeps the others. Calls under way finish with the old
// ones, and notifications signed with the old ones are accepted for accounts.Grace.
//
// Errors: store.ErrNotFound, invalid_request, conflict_state; those of base.DualControls.Require.
func (ac *Accounts) Rotate(ctx context.Context, by audit.Actor, id string, credentials map[string]string) (accounts.Account, error) {
	if len(credentials) == 0 {
		return accounts.Account{}, invalid("credentials", noCredentialGiven)
	}
	return ac.change(ctx, by, id, audit.ProviderRotated, func(account accounts.Account) (accounts.Account, map[string]string, error) {
		refuse := func(err error) (accounts.Account, map[string]string, error) {
			return account, nil, err
		}
		if err := account.Present(); err != nil {
			return refuse(err)
		}
		present, err := ac.providers.decryptCredentials(id, account.Credentials)
		if err != nil {
			return refuse(err)
		}
		now := ac.Now()
		before, err := ac.providers.encryptPast(account, present, now)
		if err != nil {
			return refuse(err)
		}
		named := slices.Sorted(maps.Keys(credentials))
		maps.Copy(present, credentials)
		maps.DeleteFunc(present, func(_, value string) bool { return value == "" }) // an empty value removes an optional one
		if err := ac.check(ctx, account, present); err != nil {
			return refuse(err)
		}
		if err := ac.propose(ctx, by, "account.credentials", account, credentials); err != nil {
			return refuse(err)
		}
		encrypted, err := ac.providers.encryptCredentials(id, present)
		if err != nil {
			return refuse(err)
		}
		next, err := account.Rotate(encrypted, before, now)
		return next, map[string]string{"credentials": strings.Join(named, " ")}, err
	})
}

// ForgetCredentialsEvery is the pause between two searches for credentials whose grace period is over. The period is a day, and nobody
// waits for its end.
const ForgetCredentialsEvery = time.Hour

// ForgetCredentials deletes rotated credentials after their grace period.
func (ac *Accounts) ForgetCredentials(ctx context.Context) error {
	list, err := ac.Store.Accounts().List(ctx)
	for _, account := range list {
		if _, spent := account.Forget(ac.Now()); !spent {
			continue
		}
		_, failed := ac.change(ctx, audit.Actor{Kind: audit.BySystem}, account.ID, audit.ProviderForgot,
			func(read accounts.Account) (accounts.Account, map[string]string, error) {
				next, _ := read.Forget(ac.Now())
				return next, nil, nil
			})
		err = errors.Join(err, failed)
	}
	return err
}

// Enable sets whether an account takes new charges.
//
// Errors: store.ErrNotFound, conflict_state for a removed account.
func (ac *Accounts) Enable(ctx context.Context, by audit.Actor, id string, on bool) (accounts.Account, error) {
	act, status := audit.ProviderEnabled, accounts.Enabled
	if !on {
		act, status = audit.ProviderDisabled, accounts.Disabled
	}
	return ac.change(ctx, by, id, act, func(account accounts.Account) (accounts.Account, map[string]string, error) {
		if account.Status == status {
			return account, nil, nil
		}
		edited := account
		if edited.Status != accounts.Removed {
			edited.Status = status
		}
		next, err := edited.Save(ac.Now())
		return next, nil, err
	})
}

// Remove removes an account for good.
//
// Errors: store.ErrNotFound, conflict_state if it has open payments, unless force is set.
func (ac *Accounts) Remove(ctx context.Context, by audit.Actor, id string, force bool) (accounts.Account, error) {
	return ac.change(ctx, by, id, audit.ProviderRemoved, func(account accounts.Account) (accounts.Account, map[string]string, error) {
		open, err := ac.Store.Accounts().OpenAt(ctx, id)
		if err != nil {
			return account, nil, err
		}
		next, err := account.Remove(open, force, ac.Now())
		return next, map[string]string{"open": strconv.Itoa(open)}, err
	})
}

// Proof is the result of checking an account's credentials.
type Proof string

// The results.
const (
	ProofWorks    Proof = "works"
	ProofFails    Proof = "fails"
	ProofUnproved Proof = "unproved" // the adapter has no call that is free of charge
)

// Prove checks an account's credentials with a call that is free of charge. problem says why they
// do not work, "" if they do.
//
// Errors: store.ErrNotFound, conflict_state for a removed account.
func (ac *Accounts) Prove(ctx context.Context, id string) (proof Proof, problem string, err error) {
	account, err := ac.Store.Accounts().Get(ctx, id)
	if err != nil {
		return "", "", fmt.Errorf("provider account %s: %w", id, err)
	}
	if err := account.Present(); err != nil {
		return "", "", err
	}
	d := ac.providers.openConnector(account)
	if d.Broken != nil {
		return ProofFails, d.Broken.Error(), nil
	}
	var client any = d.client
	if d.Payouts != nil {
		client = d.Payouts
	}
	checker, ok := client.(provider.Checker)
	if !ok {
		return ProofUnproved, "this adapter has no call that checks credentials", nil
	}
	ctx, cancel := context.WithTimeout(ctx, pay.CallTimeout)
	defer cancel()
	if err := checker.Check(ctx); err != nil {
		return ProofFails, err.Error(), nil
	}
	return ProofWorks, "", nil
}

// AccountStatus is a provider account as the operator sees it.
type AccountStatus struct {
	accounts.Account
	On     []string // the rails on which it takes payments
	Fields []string // the names of its credentials
	Broken string   // why it cannot be used, "" if it can
	// PaysOut: withdrawals are paid from it, and it takes no payments.
	PaysOut bool
	// NotificationURL is where its provider must send notifications, "" if it sends none.
	NotificationURL string
}

// Accounts lists the provider accounts for the operator. Removed ones are listed only with all.
func (ps *Providers) Accounts(ctx context.Context, all bool) ([]AccountStatus, error) {
	list, err := ps.Store.Accounts().List(ctx)
	if err != nil {
		return nil, err
	}
	var told []AccountStatus
	for _, account := range list {
		if account.Status != accounts.Removed || all {
			told = append(told, ps.StatusOf(account))
		}
	}
	return told, nil
}

// ProviderAccount reads a provider account for the operator.
//
// Errors: store.ErrNotFound.
func (ps *Providers) ProviderAccount(ctx context.Context, id string) (AccountStatus, error) {
	account, err := ps.Store.Accounts().Get(ctx, id)
	if err != nil {
		return AccountStatus{}, fmt.Errorf("provider account %s: %w", id, err)
	}
	return ps.StatusOf(account), nil
}

// StatusOf is an account as the operator sees it.
func (ps *Providers) StatusOf(account accounts.Account) AccountStatus {
	s := AccountStatus{Account: account}
	if account.Status == accounts.Removed {
		return s
	}
	d := ps.openConnector(account)
	s.On, s.PaysOut = d.Account.Rails, d.paysOut
	if _, told := d.Payouts.(provider.PayoutListener); told || !d.paysOut {
		s.NotificationURL = ps.NotificationURL(account.ID)
	}
	if d.Broken != nil {
		s.Broken = d.Broken.Error()
	}
	if credentials, err := ps.decryptCredentials(account.ID, account.Credentials); err == nil {
		s.Fields = slices.Sorted(maps.Keys(credentials))
	}
	return s
}

// StandInPayouts is the account name in withdrawals that a stand-in pays.
const StandInPayouts = "simulated"

// HandPayouts is the account name in withdrawals that the operator paid by hand while there is no account for that.
const HandPayouts = "by_hand"

// handAdapter is the adapter of accounts from which the operator pays by hand.
const handAdapter = "manual"
