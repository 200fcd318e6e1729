package view

import (
	"fmt"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Named is an id with its name.
type Named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Profile is a merchant (SVC-14).
type Profile struct {
	ID           string                `json:"id"`
	Name         string                `json:"name"`
	Email        string                `json:"email" format:"email"`
	Industry     string                `json:"industry"`
	Tier         merchants.Tier        `json:"tier" enum:"starter,standard,premium,trusted"`
	TrustScore   int                   `json:"trustScore" doc:"0 to 1000"`
	Plan         string                `json:"plan" doc:"The name of the price plan" example:"standard"`
	Environment  merchants.Environment `json:"environment" enum:"sandbox,production"`
	Capabilities Capabilities          `json:"capabilities"`
	Balance      Buckets               `json:"balance"`
}

// Capabilities are what a merchant may use.
type Capabilities struct {
	Checkout     bool     `json:"checkout"`
	DirectCharge bool     `json:"directCharge"`
	Refunds      bool     `json:"refunds"`
	Webhooks     bool     `json:"webhooks"`
	Crypto       []string `json:"crypto"`
	Methods      []string `json:"methods" doc:"Slugs of the methods that can be charged now"`
}

// Buckets are the parts of a merchant's balance, in USD.
type Buckets struct {
	Available Money `json:"available"`
	Pending   Money `json:"pending"`
	Frozen    Money `json:"frozen"`
	Reserve   Money `json:"reserve"`
}

// Balance is a merchant's balance (BAL-1, BAL-4).
type Balance struct {
	MerchantID        string               `json:"merchantId"`
	Currency          string               `json:"currency" enum:"USD"`
	Balance           Buckets              `json:"balance"`
	LedgerWarnings    []LedgerWarning      `json:"ledgerWarnings"`
	Tier              merchants.Tier       `json:"tier"`
	TrustScore        int                  `json:"trustScore"`
	RollingReservePct Rate                 `json:"rollingReservePct" doc:"Percent of each payment"`
	WithdrawalFeeUSD  Money                `json:"withdrawalFeeUsd" doc:"The tax on it included"`
	WithdrawalFeeTax  *FeeTax              `json:"withdrawalFeeTax,omitempty" doc:"The tax in withdrawalFeeUsd; left out if there is none"`
	Payouts           PayoutTerms          `json:"payouts"`
	RefundFees        merchants.RefundFees `json:"refundFees" enum:"kept,returned" doc:"Whether a refund of a payment made from now on gives its fees back"`
	FeeSummary        FeeSummary           `json:"feeSummary" doc:"Of the last 90 days"`
	Movements         []Movement           `json:"movements" doc:"The latest 50; all at /me/balance/movements"`
	ReserveSchedule   []Release            `json:"reserveSchedule" doc:"The next three days on which reserve is released"`
}

// PayoutTerms says when what settlements owe is paid out (PLAN-4).
type PayoutTerms struct {
	Schedule   string   `json:"schedule" enum:"automatic,on_request" doc:"automatic: settlements pay themselves, to the default wallet of the first shop; on_request: the merchant withdraws"`
	MinimumUSD Money    `json:"minimumUsd" doc:"Of automatic payouts: a smaller one waits for the next settlement"`
	Weekdays   []string `json:"weekdays" doc:"Of automatic payouts: on which days of the week, in UTC; empty with monthdays: every day" enum:"mon,tue,wed,thu,fri,sat,sun"`
	Monthdays  []int    `json:"monthdays" doc:"Of automatic payouts: on which days of the month, in UTC; in a month without the day on its last one" example:"[]"`
}

// NewPayoutTerms shows when a merchant is paid out.
func NewPayoutTerms(p merchants.Payouts) PayoutTerms {
	t := PayoutTerms{Schedule: "on_request", Weekdays: []string{}, Monthdays: []int{}}
	if !p.Automatic {
		return t
	}
	t.Schedule, t.MinimumUSD = "automatic", USD(p.Minimum)
	t.Weekdays, t.Monthdays = append(t.Weekdays, p.Days.Weekdays.Words()...), append(t.Monthdays, p.Days.Monthdays.List()...)
	return t
}

// NewWithdrawalFee shows what a withdrawal costs, and the tax in it.
func NewWithdrawalFee(t merchants.Terms) (Money, *FeeTax) {
	return USD(t.WithdrawalCost()), newFeeTax(t.Taxed, t.Tax(t.WithdrawalFee))
}

// LedgerWarning reports something in the books that a person should see.
type LedgerWarning struct {
	Code      string `json:"code" enum:"negative_available,unbalanced_entry,provider_drift,stale_rate,unmatched_confirmation"`
	Message   string `json:"message"`
	AmountUSD Money  `json:"amountUsd"`
	Since     *Time  `json:"since" nullable:"true"`
}

// NewLedgerWarnings returns warnings about the books: about the balances, and about count confirmations
// that do not match payments worth so many USD cents.
func NewLedgerWarnings(b ledger.Balances, count, cents int64, since time.Time) []LedgerWarning {
	warnings := []LedgerWarning{}
	if available := b[ledger.Available]; available < 0 {
		warnings = append(warnings, LedgerWarning{Code: "negative_available", AmountUSD: USD(available),
			Message: "disputes have taken the available balance below zero"})
	}
	if suspense := b[ledger.Suspense]; suspense != 0 {
		warnings = append(warnings, LedgerWarning{Code: "unmatched_confirmation", AmountUSD: USD(suspense),
			Message: "money that came late, twice or in another amount waits for the operator"})
	}
	if count > 0 {
		warnings = append(warnings, LedgerWarning{Code: "unmatched_confirmation", AmountUSD: USD(cents), Since: at(since),
			Message: fmt.Sprintf("%d confirmations, of an amount or currency that was not requested, wait for the operator", count)})
	}
	return warnings
}

// NewDrift warns that a provider's report and the books differ in count places worth so many USD cents.
func NewDrift(count, cents int64, since time.Time) []LedgerWarning {
	if count == 0 {
		return nil
	}
	return []LedgerWarning{{Code: "provider_drift", AmountUSD: USD(cents), Since: at(since),
		Message: fmt.Sprintf("a provider's report and the books differ in %d places, which wait for the operator", count)}}
}

// FeeSummary sums the fees of the last 90 days' payments.
type FeeSummary struct {
	GrossVolume    Money  `json:"grossVolume"`
	PlatformFees   Money  `json:"platformFees"`
	ProcessingFees Money  `json:"processingFees"`
	FlatFees       Money  `json:"flatFees"`
	ChargebackFees Money  `json:"chargebackFees"`
	FeeTaxes       *Money `json:"feeTaxes,omitempty" doc:"Taxes on the fees; left out if there are none"`
	TotalFees      Money  `json:"totalFees"`
	NetBalance     Money  `json:"netBalance" doc:"What payments, refunds and disputes of the period left to the merchant: grossVolume less totalFees, refunds and lost disputes. Adjustments and withdrawals are not in it: balance has what the merchant has"`
}

// NewBuckets shows balances.
func NewBuckets(b ledger.Balances) Buckets {
	return Buckets{USD(b[ledger.Available]), USD(b[ledger.Pending]), USD(b[ledger.Frozen]), USD(b[ledger.Reserve])}
}

// NewFeeSummary shows the fees of a period, given the period's change of each account. netBalance is what
// the period's payments, refunds and disputes left to the merchant. An operator's adjustments are not in it: the contract
// lists it with the volume and the fees of 90 days, and does not say that it is what the merchant has, which is in balance.
// grossVolume less totalFees must lead to it by what payments did, and an adjustment may be of no payment, or of an older one.
func NewFeeSummary(b ledger.Balances) FeeSummary {
	processing := b[ledger.ProviderFees] + b[ledger.NetworkFees]
	total := b[ledger.PlatformFees] + processing + b[ledger.FlatFees] + b[ledger.ChargebackFees] + b[ledger.FeeTaxes]
	var taxes *Money
	if b[ledger.FeeTaxes] != 0 {
		taxes = new(USD(b[ledger.FeeTaxes]))
	}
	return FeeSummary{
		GrossVolume: USD(b.GrossVolume()), PlatformFees: USD(b[ledger.PlatformFees]), ProcessingFees: USD(processing),
		FlatFees: USD(b[ledger.FlatFees]), ChargebackFees: USD(b[ledger.ChargebackFees]), FeeTaxes: taxes, TotalFees: USD(total),
		NetBalance: USD(b.GrossVolume() - total - b[ledger.Refunds] - b[ledger.Chargebacks]),
	}
}

// Percent converts basis points to percent, exactly.
func Percent(bps int64) Rate {
	rate, err := money.ParseRate(strconv.FormatInt(bps, 10) + "e-2")
	if err != nil {
		return Rate{} // zero, which ParseRate refuses
	}
	return Rate{rate}
}

// Limit is a method's limits in one currency.
type Limit struct {
	Currency money.Currency `json:"currency"`
	Min      Money          `json:"min"`
	Max      Money          `json:"max"`
}

// Method is a row of the catalog (CAT-2).
type Method struct {
	PaymentMethodID  string           `json:"paymentMethodId"`
	Method           string           `json:"method"`
	MethodLabel      string           `json:"methodLabel"`
	Name             string           `json:"name"`
	Country          string           `json:"country" doc:"ISO 3166 alpha-2"`
	CountryISO3      string           `json:"countryIso3" doc:"ISO 3166 alpha-3"`
	Channel          accounts.Channel `json:"channel" enum:"ONLINE,CASH,CREDIT_CARD"`
	ImageURL         string           `json:"imageUrl,omitempty"`
	Currencies       []money.Currency `json:"currencies"`
	CurrencyLimits   []Limit          `json:"currencyLimits"`
	MinTxUSD         *Money           `json:"minTxUsd" nullable:"true"`
	MaxTxUSD         *Money           `json:"maxTxUsd" nullable:"true"`
	Fee              MethodFee        `json:"fee"`
	Enabled          bool             `json:"enabled"`
	Online           bool             `json:"online"`
	Routable         bool             `json:"routable" doc:"Whether it can be charged now"`
	UnroutableReason *string          `json:"unroutableReason"`
	Refundable       *bool            `json:"refundable" doc:"Whether its payments can be refunded with POST /payments/{id}/refund: some providers cannot refund vouchers. null while it is not routable"`

	Installments *MethodInstallments `json:"installments" doc:"What shoppers may choose, at the providers that would serve the merchant and within its terms; an issuer may offer less. null: none"`
}

// MethodFee is the price of a method, as the merchant's price plan in force has it. A payment keeps the price at which it is made.
type MethodFee struct {
	Percent  Rate           `json:"percent" doc:"Percent of each payment, the provider's part included, and the margin if the shopper pays in another currency than USD. A publishable key reads the list price"`
	Flat     Money          `json:"flat" doc:"Likewise"`
	Currency string         `json:"currency" enum:"USD"`
	Platform *MethodFeePart `json:"platform,omitempty" doc:"What of it is the platform's; left out for a publishable key"`
	Provider *MethodFeePart `json:"provider,omitempty" doc:"What of it is for the provider; left out for a publishable key"`
	TaxName  string         `json:"taxName,omitempty" doc:"Of the tax on these fees, which is added; left out if there is none, and for a publishable key" example:"IVA"`
	TaxRate  *Rate          `json:"taxPercent,omitempty" doc:"Percent of the fees" example:"16"`
}

// MethodFeePart is a part of the price of a method.
type MethodFeePart struct {
	Percent Rate   `json:"percent" doc:"Percent of each payment"`
	Flat    Money  `json:"flat"`
	Minimum *Money `json:"minimum,omitempty" doc:"The part is at least this, before the margin; left out if there is no minimum"`
}

// NewMethodFee shows what payments over a rail cost under terms.
func NewMethodFee(t merchants.Terms, r accounts.Rail) MethodFee {
	platform, provider := t.Listed(r.Fee, r.Limits[0].Currency != money.USD)
	fee := MethodFee{
		Percent: Percent(platform.Bps + provider.Bps), Flat: USD(platform.Flat + provider.Flat), Currency: string(money.USD),
		Platform: &MethodFeePart{Percent: Percent(platform.Bps), Flat: USD(platform.Flat)}, Provider: &MethodFeePart{Percent: Percent(provider.Bps), Flat: USD(provider.Flat)},
	}
	if t.Price.Least != 0 {
		fee.Platform.Minimum = new(USD(t.Price.Least))
	}
	if t.Taxed.Bps != 0 {
		fee.TaxName, fee.TaxRate = t.Taxed.Name, new(Percent(t.Taxed.Bps))
	}
	return fee
}

// NewMethod shows a rail. reason says why it cannot be charged now, "" if it can; refundable, whether its payments can be refunded. usd converts a local
// amount; false if no rate is known.
func NewMethod(r accounts.Rail, alpha2, reason string, refundable bool, usd func(money.Amount, money.Rounding) (money.Amount, bool)) Method {
	m := Method{
		PaymentMethodID: r.ID, Method: r.Method, MethodLabel: r.Label, Name: r.Name, Country: alpha2, CountryISO3: r.Country,
		Channel: r.Channel, ImageURL: r.ImageURL, Currencies: []money.Currency{}, CurrencyLimits: []Limit{},
		Fee:     MethodFee{Percent: Percent(r.Fee.Bps), Flat: USD(r.Fee.Flat), Currency: string(money.USD)},
		Enabled: r.Enabled, Online: r.Online, Routable: reason == "", UnroutableReason: text(reason),
	}
	if m.Routable {
		m.Refundable = &refundable
	}
	for _, l := range r.Limits {
		m.Currencies = append(m.Currencies, l.Currency)
		m.CurrencyLimits = append(m.CurrencyLimits, Limit{l.Currency, Money{money.New(l.Min, l.Currency)}, Money{money.New(l.Max, l.Currency)}})
	}
	first := r.Limits[0]
	if low, ok := usd(money.New(first.Min, first.Currency), money.Up); ok {
		m.MinTxUSD = &Money{low}
	}
	if high, ok := usd(money.New(first.Max, first.Currency), money.Down); ok {
		m.MaxTxUSD = &Money{high}
	}
	return m
}
