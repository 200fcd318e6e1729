package payouts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	apprates "github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// payer returns the client of a payout account that a withdrawal was sent to.
func (po *Payouts) payer(live bool, account string) (payouts.Provider, bool) {
	if account == appaccounts.StandInPayouts {
		to := po.standIn(live)
		return to, to != nil
	}
	d, _ := po.providers.Connector(account)
	return d.Payouts, d.Payouts != nil
}

// standIn pays out if no account does; nil: there is none.
func (po *Payouts) standIn(live bool) payouts.Provider {
	if live {
		return po.config.Live
	}
	return po.config.Sandbox
}

// paying lists the accounts that pay out to a wallet, and the fields of the beneficiary that the
// other accounts would need.
func (po *Payouts) paying(w pay.Wallet) (list accounts.Accounts, rail accounts.Rail, lacks []pay.HolderField) {
	rail = accounts.PayoutRail(w.Network, w.Currency)
	for _, d := range po.providers.Paying(w.Scope, rail) {
		missing := lacking(d.Needs, rail.Key, w.Known)
		if len(missing) == 0 && po.fits(d, w) == nil {
			list = append(list, d.Account)
		}
		lacks = append(lacks, missing...)
	}
	slices.Sort(lacks)
	return list, rail, slices.Compact(lacks)
}

// fits says why an account cannot pay to a wallet at all, if it can tell. An unreadable wallet
// returns nil: the code that sends reports that error.
func (po *Payouts) fits(d appaccounts.Connector, w pay.Wallet) error {
	to, choosy := d.Payouts.(payouts.Choosy)
	currency, err := money.ParseCurrency(w.Currency)
	if !choosy || err != nil {
		return nil
	}
	request, err := po.requestTo(w)
	if err != nil {
		return nil
	}
	request.Local = money.New(1_00, currency) // any amount
	return to.Fits(request)
}

// lacking lists the fields of a beneficiary that a rail needs and that are not known.
func lacking(needs map[string][]pay.HolderField, rail string, known []string) (missing []pay.HolderField) {
	network, _, _ := strings.Cut(rail, ".")
	fields, exact := needs[rail]
	if !exact {
		fields = needs[network+".*"]
	}
	for _, f := range fields {
		if !slices.Contains(known, string(f)) {
			missing = append(missing, f)
		}
	}
	return missing
}

// choosePayer chooses the account that pays out a withdrawal: by priority, then by fee. Accounts
// that recently proved that they did not pay it rest; until is when the first of them is tried
// again. Accounts with too little float, according to have, are passed over.
//
// Errors: service_unavailable (no_payout_account, payout_delayed) and conflict_state
// (beneficiary_incomplete) if no account pays to such a wallet now; amount_above_maximum and
// amount_below_minimum if none pays out this amount.
func (po *Payouts) choosePayer(wallet pay.Wallet, w pay.Withdrawal, have floats, now time.Time) (route pay.PayoutRoute, until time.Time, err error) {
	net := money.New(w.Net(), money.USD)
	serving, rail, lacks := po.paying(wallet)
	if len(serving) == 0 {
		switch {
		case len(lacks) > 0:
			return route, until, incomplete(lacks)
		case po.standIn(wallet.Live) != nil:
			return pay.PayoutRoute{Account: appaccounts.StandInPayouts}, until, nil
		}
		return route, until, unpayable(pay.UnpayableNoAccount,
			noAccountPays.With(wallet.Network, wallet.Currency))
	}
	accepting, passed := serving.Accepting(rail, net)
	if len(accepting) == 0 {
		return route, until, serving.RefusePayout(rail, net)
	}
	var awake accounts.Accounts
	short := false
	for _, account := range accepting {
		if rests := w.Rests(account.ID); now.Before(rests) {
			passed = append(passed, account.ID+": did not pay it, rests until "+rests.Format(time.RFC3339))
			if until.IsZero() || rests.Before(until) {
				until = rests
			}
			continue
		}
		need, free := have.of(account.ID, w)
		if need.Minor > free.Minor {
			passed, short = append(passed, account.ID+": "+tooLittle(need, free)), true
			continue
		}
		awake = append(awake, account)
	}
	switch {
	case len(awake) > 0:
	case short:
		return route, time.Time{}, unpayable(pay.WaitsFloat, payoutWaitsForFloat.With(strings.Join(passed, "; ")))
	default:
		return route, until, unpayable(pay.WaitsAccount, payoutWaitsForAccount)
	}
	first := awake.First(rail, net)
	return pay.PayoutRoute{Account: first.ID, Why: reason(first, awake, rail, net), Passed: passed}, time.Time{}, nil
}

// reason is why an account is tried first, for the operator.
func reason(first accounts.Account, among accounts.Accounts, rail accounts.Rail, net money.Amount) string {
	why := fmt.Sprintf("by priority: %d", first.Priority)
	if len(among) == 1 {
		why = "the only one"
	}
	if cost, known := first.Cost(rail.Key, net); known {
		why += "; it costs " + cost.String()
	}
	return why
}

func unpayable(why pay.Unpayable, told problem.Reason) error {
	return &problem.Error{Code: problem.ServiceUnavailable, Details: problem.Details{Reason: string(why)}, Reason: told}
}

func incomplete(lacks []pay.HolderField) error {
	var fields []string
	for _, f := range lacks {
		fields = append(fields, string(f))
	}
	return &problem.Error{Code: problem.ConflictState, Param: "walletId", Details: problem.Details{Reason: string(pay.UnpayableIncomplete), MissingFields: fields},
		Reason: walletLacksFields.With(fields)}
}

// conversion is the local amount for an amount of USD; zero for a token, for which no rate is kept.
//
// Errors: service_unavailable with the reason no_rate or stale_rate.
func (po *Payouts) conversion(w pay.Wallet, net money.Amount) (rates.Conversion, error) {
	currency := money.Currency(w.Currency)
	if w.Type == pay.Crypto || !currency.Valid() {
		return rates.Conversion{}, nil
	}
	reading, err := po.rates.Reading(w.Live, currency)
	if err != nil {
		if refused, ok := errors.AsType[*problem.Error](err); ok {
			refused.Reason = noRateForWithdrawals.With(w.Currency, apprates.RateNeeded(currency, refused.Details.Reason))
		}
		return rates.Conversion{}, err
	}
	return reading.Into(net)
}

// Payability returns why a wallet of a shop cannot be paid to now: pay.Payable if it can.
func (po *Payouts) Payability(ctx context.Context, scope merchants.Scope) (func(pay.Wallet) pay.Unpayable, error) {
	err := po.requireKYC(ctx, scope, merchants.KYCBasic)
	refused, unverified := errors.AsType[*problem.Error](err)
	if unverified = unverified && refused.Code == problem.KYCRequired; err != nil && !unverified {
		return nil, err
	}
	return func(w pay.Wallet) pay.Unpayable {
		if why := w.Unpayable(po.TimeOf(w.Scope)); why != pay.Payable {
			return why
		}
		if unverified {
			return pay.UnpayableUnverified
		}
		serving, _, lacks := po.paying(w)
		switch {
		case len(serving) == 0 && len(lacks) > 0:
			return pay.UnpayableIncomplete
		case len(serving) == 0 && po.standIn(w.Live) == nil:
			return pay.UnpayableNoAccount
		}
		if _, err := po.conversion(w, money.New(1_00, money.USD)); err != nil {
			return pay.UnpayableNoRate
		}
		return pay.Payable
	}, nil
}
