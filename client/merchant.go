package client

import (
	"context"
	"net/http"
	"time"
)

// Named is an id with its name.
type Named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Pong is the reply to Ping.
type Pong struct {
	OK          bool      `json:"ok"`
	Environment string    `json:"environment"` // sandbox or production
	KeyKind     string    `json:"keyKind"`     // secret or publishable
	KeyID       string    `json:"keyId"`       // masked
	APIVersion  string    `json:"apiVersion"`
	Merchant    Named     `json:"merchant"`
	Timestamp   time.Time `json:"timestamp"`
}

// Ping checks the credentials.
func (c *Client) Ping(ctx context.Context) (Pong, error) {
	var p Pong
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/ping"}, &p)
	return p, err
}

// Profile is the merchant.
type Profile struct {
	ID           string       `json:"id"`
	Name         string       `json:"name"`
	Email        string       `json:"email"`
	Industry     string       `json:"industry"`
	Tier         string       `json:"tier"`
	Plan         string       `json:"plan"`       // the name of the price plan
	TrustScore   int          `json:"trustScore"` // 0 to 1000
	Environment  string       `json:"environment"`
	Capabilities Capabilities `json:"capabilities"`
	Balance      Buckets      `json:"balance"`
}

// Capabilities is what the merchant may use.
type Capabilities struct {
	Checkout     bool     `json:"checkout"`
	DirectCharge bool     `json:"directCharge"`
	Refunds      bool     `json:"refunds"`
	Webhooks     bool     `json:"webhooks"`
	Crypto       []string `json:"crypto"`
	Methods      []string `json:"methods"`
}

// Me reads the merchant's profile.
func (c *Client) Me(ctx context.Context) (Profile, error) {
	var p Profile
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/me"}, &p)
	return p, err
}

// Buckets is where the merchant's money is, in USD.
type Buckets struct {
	Available Decimal `json:"available"`
	Pending   Decimal `json:"pending"` // captured, not settled yet
	Frozen    Decimal `json:"frozen"`  // held against open claims
	Reserve   Decimal `json:"reserve"` // rolling reserve
}

// Balance is the merchant's balance.
type Balance struct {
	MerchantID        string          `json:"merchantId"`
	Currency          string          `json:"currency"` // USD
	Balance           Buckets         `json:"balance"`
	LedgerWarnings    []LedgerWarning `json:"ledgerWarnings"`
	Tier              string          `json:"tier"`
	TrustScore        int             `json:"trustScore"`
	RollingReservePct Decimal         `json:"rollingReservePct"`
	WithdrawalFeeUSD  Decimal         `json:"withdrawalFeeUsd"` // the tax on it included
	WithdrawalFeeTax  *FeeTax         `json:"withdrawalFeeTax"` // the tax in WithdrawalFeeUSD; nil if there is none
	Payouts           PayoutTerms     `json:"payouts"`
	RefundFees        string          `json:"refundFees"` // of a refunded payment: kept, returned
	FeeSummary        FeeSummary      `json:"feeSummary"`
	Movements         []Movement      `json:"movements"`       // the latest 50; Movements lists all
	ReserveSchedule   []Release       `json:"reserveSchedule"` // the next three
}

// PayoutTerms says when what settlements owe is paid out.
type PayoutTerms struct {
	Schedule   string   `json:"schedule"`   // automatic: settlements pay themselves; on_request: the merchant withdraws
	MinimumUSD Decimal  `json:"minimumUsd"` // of automatic payouts, as the days are; a smaller one waits for the next settlement
	Weekdays   []string `json:"weekdays"`   // such as mon, in UTC; empty with Monthdays: every day
	Monthdays  []int    `json:"monthdays"`  // in a month without the day, on its last one
}

// LedgerWarning is a warning about the books, for a person.
type LedgerWarning struct {
	Code      string    `json:"code"`
	Message   string    `json:"message"`
	AmountUSD Decimal   `json:"amountUsd"`
	Since     time.Time `json:"since"` // zero if not known
}

// FeeSummary is the sum of the payments' costs, in USD.
type FeeSummary struct {
	GrossVolume    Decimal `json:"grossVolume"`
	PlatformFees   Decimal `json:"platformFees"`
	ProcessingFees Decimal `json:"processingFees"`
	FlatFees       Decimal `json:"flatFees"`
	ChargebackFees Decimal `json:"chargebackFees"`
	FeeTaxes       Decimal `json:"feeTaxes"` // on the fees
	TotalFees      Decimal `json:"totalFees"`
	NetBalance     Decimal `json:"netBalance"` // what payments, refunds and disputes left; without adjustments and withdrawals
}

// Movement is one movement of the balance. The ids are of its cause, "" if there is none.
type Movement struct {
	ID            string    `json:"id"`           // mov_…
	Type          string    `json:"type"`         // such as charge, fee, refund, settlement or withdrawal
	Amount        Decimal   `json:"amount"`       // USD; negative: out of the bucket
	Bucket        string    `json:"bucket"`       // pending, available, frozen or reserve
	BalanceAfter  Decimal   `json:"balanceAfter"` // of the bucket, USD
	TransactionID string    `json:"transactionId"`
	ClaimID       string    `json:"claimId"`
	SettlementID  string    `json:"settlementId"`
	WithdrawalID  string    `json:"withdrawalId"`
	AdjustmentID  string    `json:"adjustmentId"` // of an adjustment by the operator
	Reason        string    `json:"reason"`       // why the operator adjusted the balance
	Description   string    `json:"description"`  // of an adjustment: the operator's note
	CreatedAt     time.Time `json:"createdAt"`
}

// Adjustment is money that the operator booked to the available balance by hand.
type Adjustment struct {
	ID        string    `json:"id"`     // adj_…
	Amount    Decimal   `json:"amount"` // USD; negative: from the merchant
	Currency  string    `json:"currency"`
	Bucket    string    `json:"bucket"`   // available
	Reason    string    `json:"reason"`   // such as goodwill or fee_correction
	Note      string    `json:"note"`     // in the operator's words
	Reverses  string    `json:"reverses"` // the adjustment that it takes back
	CreatedAt time.Time `json:"createdAt"`
}

// MovementPage is one page of movements.
type MovementPage struct {
	Data       []Movement `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Movements lists the movements of the balance, newest first.
func (c *Client) Movements(ctx context.Context, p Page) (MovementPage, error) {
	query := map[string]string{}
	addPage(query, p)
	var page MovementPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/me/balance/movements", query: values(query)}, &page)
	return page, err
}

// Shop is a shop of the merchant.
type Shop struct {
	ID        string    `json:"id"` // shp_…
	Name      string    `json:"name"`
	Slug      string    `json:"slug"` // in the addresses of managed inboxes
	CreatedAt time.Time `json:"createdAt"`
}

// ShopPage is one page of shops.
type ShopPage struct {
	Data       []Shop     `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Shops lists the shops that the credentials can access, oldest first.
func (c *Client) Shops(ctx context.Context, p Page) (ShopPage, error) {
	query := map[string]string{}
	addPage(query, p)
	var page ShopPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/shops", query: values(query)}, &page)
	return page, err
}

// Key describes a key of the merchant. It never holds the key itself.
type Key struct {
	ID          string    `json:"id"`   // key_…
	Key         string    `json:"key"`  // masked
	Kind        string    `json:"kind"` // secret, publishable or restricted
	Environment string    `json:"environment"`
	ShopID      string    `json:"shopId"` // "": for the whole merchant
	Rights      []string  `json:"rights"` // what it may do
	Status      string    `json:"status"` // active or ended
	CreatedAt   time.Time `json:"createdAt"`
	LastUsedAt  time.Time `json:"lastUsedAt"` // to the hour; zero: never
	EndsAt      time.Time `json:"endsAt"`     // when it expires; zero: never
	Successor   string    `json:"successor"`  // the key that replaced it, else ""
}

// KeyPage is one page of keys.
type KeyPage struct {
	Data       []Key      `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Keys lists keys of the environment, oldest first; status "" selects all.
func (c *Client) Keys(ctx context.Context, status string, p Page) (KeyPage, error) {
	query := map[string]string{"status": status}
	addPage(query, p)
	var page KeyPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/keys", query: values(query)}, &page)
	return page, err
}

// LoggedRequest is an API request of the shop, as the node of the service that answered it remembers it.
type LoggedRequest struct {
	ID         string    `json:"id"` // req_…
	At         time.Time `json:"at"`
	DurationMs int64     `json:"durationMs"`
	Method     string    `json:"method"`
	Route      string    `json:"route"`    // such as /payments/{id}
	ObjectID   string    `json:"objectId"` // the id in the path, "" for none
	Status     int       `json:"status"`   // of HTTP
	Key        string    `json:"key"`      // masked
	Code       Code      `json:"code"`     // of the error, "" for none
	Message    string    `json:"message"`
	Param      string    `json:"param"`  // the field that was wrong
	Fields     []string  `json:"fields"` // all of them
}

// RequestFilter selects requests; empty fields select all.
type RequestFilter struct {
	Outcome  string // ok, failed, or fault for 5xx
	Code     Code   // of the error
	From, To time.Time
	Page
}

// RequestPage is one page of requests.
type RequestPage struct {
	Data       []LoggedRequest `json:"data"`
	Pagination Pagination      `json:"pagination"`
	Since      time.Time       `json:"since"` // when the node began to remember
}

// Requests lists the last requests of the shop, newest first: what one node of the service remembers, at most 250.
func (c *Client) Requests(ctx context.Context, f RequestFilter) (RequestPage, error) {
	query := map[string]string{"outcome": f.Outcome, "code": string(f.Code), "from": moment(f.From), "to": moment(f.To)}
	addPage(query, f.Page)
	var page RequestPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/requests", query: values(query)}, &page)
	return page, err
}

// Release is a part of the reserve that becomes available.
type Release struct {
	ReleaseAt time.Time `json:"releaseAt"`
	Amount    Decimal   `json:"amount"`
	Currency  string    `json:"currency"`
	Percent   Decimal   `json:"percent"`
	Status    string    `json:"status"`
}

// Balance reads the merchant's balance.
func (c *Client) Balance(ctx context.Context) (Balance, error) {
	var b Balance
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/me/balance"}, &b)
	return b, err
}

// MethodFilter selects payment methods; zero fields select all.
type MethodFilter struct {
	Country string // ISO 3166 alpha-2 or alpha-3
	Channel string // ONLINE, CASH or CREDIT_CARD
	Method  string // slug
}

// Catalog is the shop's payment methods.
type Catalog struct {
	Shop           Named    `json:"shop"`
	Environment    string   `json:"environment"`    // sandbox or production
	Count          int      `json:"count"`          // selected by the filter
	TotalAvailable int      `json:"totalAvailable"` // without the filter
	RoutableCount  int      `json:"routableCount"`
	Methods        []Method `json:"methods"`
}

// Method is a payment method. Offer those that are Routable.
type Method struct {
	PaymentMethodID  string    `json:"paymentMethodId"` // for NewPayment
	Method           string    `json:"method"`          // slug
	MethodLabel      string    `json:"methodLabel"`
	Name             string    `json:"name"`
	Country          string    `json:"country"`     // ISO 3166 alpha-2
	CountryISO3      string    `json:"countryIso3"` // ISO 3166 alpha-3
	Channel          string    `json:"channel"`
	ImageURL         string    `json:"imageUrl"`
	Currencies       []string  `json:"currencies"`
	CurrencyLimits   []Limit   `json:"currencyLimits"`
	MinTxUSD         Decimal   `json:"minTxUsd"` // "" if not known
	MaxTxUSD         Decimal   `json:"maxTxUsd"`
	Fee              MethodFee `json:"fee"`
	Enabled          bool      `json:"enabled"`
	Online           bool      `json:"online"`
	Routable         bool      `json:"routable"` // whether it can be charged now
	UnroutableReason string    `json:"unroutableReason"`
	Refundable       *bool     `json:"refundable"` // whether its payments can be refunded; nil while it is not Routable

	Installments *MethodInstallments `json:"installments"` // that shoppers may choose; nil: none
}

// MethodInstallments is what shoppers may choose over a method.
type MethodInstallments struct {
	Max          int   `json:"max"`          // the most installments
	InterestFree []int `json:"interestFree"` // the numbers for which the merchant can bear the interest

	Steps []InstallmentStep `json:"steps"` // from which amount on, ascending; a request for more than its amount's step is refused
}

// InstallmentStep is what shoppers may choose from an amount on.
type InstallmentStep struct {
	From         Decimal `json:"from"`     // the least amount, in Currency; "" for any
	Currency     string  `json:"currency"` // "" for any
	Max          int     `json:"max"`
	InterestFree []int   `json:"interestFree"`
}

// MethodFee is the price of a method by the merchant's price plan; for a publishable key its list price.
type MethodFee struct {
	Percent  Decimal `json:"percent"`
	Flat     Decimal `json:"flat"`
	Currency string  `json:"currency"`

	Platform *MethodFeePart `json:"platform"`   // what of it is the platform's; nil for a publishable key
	Provider *MethodFeePart `json:"provider"`   // what of it is for the provider; nil for a publishable key
	TaxName  string         `json:"taxName"`    // of the tax that is added, such as IVA; "" for none
	TaxRate  Decimal        `json:"taxPercent"` // of the fees
}

// MethodFeePart is a part of the price of a method.
type MethodFeePart struct {
	Percent Decimal `json:"percent"`
	Flat    Decimal `json:"flat"`
	Minimum Decimal `json:"minimum"` // the part is at least this
}

// PaymentMethods lists the shop's payment methods.
func (c *Client) PaymentMethods(ctx context.Context, f MethodFilter) (Catalog, error) {
	var list Catalog
	_, err := c.do(ctx, request{
		method: http.MethodGet, path: "/payment-methods",
		query: values(map[string]string{"country": f.Country, "channel": f.Channel, "method": f.Method}),
	}, &list)
	return list, err
}
