package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// NewWallet is the data of a wallet.
type NewWallet struct {
	Label       string `json:"label,omitempty"`
	Type        string `json:"type"`              // bank_account or crypto
	Currency    string `json:"currency"`          // ISO 4217, or a token such as USDT
	Network     string `json:"network,omitempty"` // only required if the currency has several
	Destination string `json:"destination"`       // account, key or address; never shown again
	IsDefault   bool   `json:"isDefault,omitempty"`

	// The account's holder: some payouts require it. Never shown again.
	HolderName     string `json:"holderName,omitempty"`
	HolderDocument string `json:"holderDocument,omitempty"` // tax id: letters, digits and &
	HolderEmail    string `json:"holderEmail,omitempty"`
	BankCode       string `json:"bankCode,omitempty"` // in its country
	BranchCode     string `json:"branchCode,omitempty"`
	AccountType    string `json:"accountType,omitempty"` // checking or savings
	BankCountry    string `json:"bankCountry,omitempty"` // ISO 3166 alpha-3

	// CoolDown applies production's cool-down in the sandbox.
	CoolDown bool `json:"-"`
}

// Wallet is where withdrawals are paid to.
type Wallet struct {
	ID                string `json:"id"` // wal_…
	Label             string `json:"label"`
	Type              string `json:"type"`
	Currency          string `json:"currency"`
	Network           string `json:"network"`
	DestinationMasked string `json:"destinationMasked"`
	Status            string `json:"status"`    // pending_verification, active or disabled
	IsDefault         bool   `json:"isDefault"` // used by withdrawals that name no wallet
	Payable           bool   `json:"payable"`   // whether a withdrawal to it can be made now
	// UnpayableReason is why not: cool_down, disabled, no_payout_account, kyc_required,
	// beneficiary_incomplete, no_rate; "" if Payable.
	UnpayableReason string    `json:"unpayableReason"`
	Beneficiary     []string  `json:"beneficiary"` // which fields of the holder are known
	CreatedAt       time.Time `json:"createdAt"`
}

// CreateWallet adds a wallet. A production wallet can receive withdrawals after its
// cool-down.
func (c *Client) CreateWallet(ctx context.Context, n NewWallet) (Wallet, error) {
	simulate := ""
	if n.CoolDown {
		simulate = "cool_down"
	}
	var w Wallet
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/wallets", body: n, header: map[string]string{"Sandbox-Simulate": simulate},
	}, &w)
	return w, err
}

// Wallet reads a wallet, also a disabled one.
func (c *Client) Wallet(ctx context.Context, id string) (Wallet, error) {
	var w Wallet
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/wallets/" + url.PathEscape(id)}, &w)
	return w, err
}

// WalletPage is one page of wallets.
type WalletPage struct {
	Data       []Wallet   `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Wallets lists wallets, newest first; status "" selects all.
func (c *Client) Wallets(ctx context.Context, status string, p Page) (WalletPage, error) {
	query := map[string]string{"status": status}
	addPage(query, p)
	var page WalletPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/wallets", query: values(query)}, &page)
	return page, err
}

// DeleteWallet disables a wallet. Withdrawals to it that have not been sent fail.
func (c *Client) DeleteWallet(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: "/wallets/" + url.PathEscape(id)}, nil)
	return err
}

// NewWithdrawal is the data of a withdrawal.
type NewWithdrawal struct {
	WalletID string  `json:"walletId,omitempty"` // "" for the default wallet
	Amount   Decimal `json:"amount"`             // USD, the fee included; with Currency it may be what arrives
	Currency string  `json:"currency,omitempty"` // of Amount: "" for USD, or that of a wallet which is no token, and then exactly Amount arrives

	// IdempotencyKey makes it safe to send the same withdrawal again.
	IdempotencyKey string `json:"-"`
}

// Payout is what arrives at a wallet.
type Payout struct {
	Amount   Decimal   `json:"amount"` // major units of Currency
	Currency string    `json:"currency"`
	Rate     Decimal   `json:"rate"`   // units for one USD
	RateAt   time.Time `json:"rateAt"` // time of the rate
}

// WithdrawalQuote is the result that a withdrawal would have.
type WithdrawalQuote struct {
	WalletID  string  `json:"walletId"`
	Amount    Decimal `json:"amount"`
	Currency  string  `json:"currency"`  // USD
	FeeUSD    Decimal `json:"feeUsd"`    // the tax on it included
	FeeTax    *FeeTax `json:"feeTax"`    // the tax in FeeUSD; nil if there is none
	NetAmount Decimal `json:"netAmount"` // Amount less FeeUSD
	Payout    *Payout `json:"payout"`    // what would arrive; nil for a token
}

// QuoteWithdrawal returns the result that a withdrawal would have now, and fails if it
// would be refused. It changes nothing.
func (c *Client) QuoteWithdrawal(ctx context.Context, n NewWithdrawal) (WithdrawalQuote, error) {
	var q WithdrawalQuote
	query := map[string]string{"walletId": n.WalletID, "amount": string(n.Amount), "currency": n.Currency}
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/withdrawals/quote", query: values(query)}, &q)
	return q, err
}

// Withdrawal is money on its way from the available balance to a wallet.
type Withdrawal struct {
	ID             string              `json:"id"` // wdr_…
	WalletID       string              `json:"walletId"`
	Amount         Decimal             `json:"amount"`
	Currency       string              `json:"currency"`       // USD
	FeeUSD         Decimal             `json:"feeUsd"`         // the tax on it included
	FeeTax         *FeeTax             `json:"feeTax"`         // the tax in FeeUSD; nil if there is none
	NetAmount      Decimal             `json:"netAmount"`      // Amount less FeeUSD
	Payout         *Payout             `json:"payout"`         // what arrives; nil for a token
	ReturnedAmount Decimal             `json:"returnedAmount"` // USD that came back after it had arrived
	Covers         []CoveredSettlement `json:"covers"`         // the settlements that it pays out, oldest first
	Status         string              `json:"status"`         // pending, processing, completed, failed or canceled
	PendingReason  string              `json:"pendingReason"`  // why it is due but not sent
	FailureCode    string              `json:"failureCode"`
	FailureMessage string              `json:"failureMessage"`
	Reference      string              `json:"reference"`
	CreatedAt      time.Time           `json:"createdAt"`
	CompletedAt    time.Time           `json:"completedAt"` // zero unless it completed
	FailedAt       time.Time           `json:"failedAt"`    // zero unless it failed
	Replayed       bool                `json:"-"`           // the reply is from an earlier request with the same key
}

// CoveredSettlement is the part of a settlement that a withdrawal pays out.
type CoveredSettlement struct {
	SettlementID string  `json:"settlementId"`
	Amount       Decimal `json:"amount"` // USD
}

// CreateWithdrawal takes money out of the available balance.
func (c *Client) CreateWithdrawal(ctx context.Context, n NewWithdrawal) (Withdrawal, error) {
	var w Withdrawal
	header, err := c.do(ctx, request{
		method: http.MethodPost, path: "/withdrawals", body: n, header: map[string]string{"Idempotency-Key": n.IdempotencyKey},
	}, &w)
	w.Replayed = header.Get(replayedHeader) == "true"
	return w, err
}

// Withdrawal reads a withdrawal.
func (c *Client) Withdrawal(ctx context.Context, id string) (Withdrawal, error) {
	var w Withdrawal
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/withdrawals/" + url.PathEscape(id)}, &w)
	return w, err
}

// CancelWithdrawal returns a pending withdrawal to the balance.
func (c *Client) CancelWithdrawal(ctx context.Context, id string) (Withdrawal, error) {
	var w Withdrawal
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/withdrawals/" + url.PathEscape(id) + "/cancel"}, &w)
	return w, err
}

// WithdrawalFilter selects withdrawals; zero fields select all.
type WithdrawalFilter struct {
	Status   string
	WalletID string
	From, To time.Time // created at From or later, and before To

	Limit         int    // rows of a page, 1 to 100; 0 means 50
	Offset        int    // rows to skip
	StartingAfter string // instead of Offset: the NextCursor of the page before
}

// WithdrawalPage is one page of withdrawals.
type WithdrawalPage struct {
	Data       []Withdrawal `json:"data"`
	Pagination Pagination   `json:"pagination"`
}

// Withdrawals lists withdrawals, newest first.
func (c *Client) Withdrawals(ctx context.Context, f WithdrawalFilter) (WithdrawalPage, error) {
	query := map[string]string{"status": f.Status, "walletId": f.WalletID, "from": moment(f.From), "to": moment(f.To)}
	addPage(query, Page{f.Limit, f.Offset, f.StartingAfter})
	var page WithdrawalPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/withdrawals", query: values(query)}, &page)
	return page, err
}

// NewVerification is the data of a verification.
type NewVerification struct {
	Level       string `json:"level"`       // basic or enhanced
	SubjectType string `json:"subjectType"` // individual or company
	ReturnURL   string `json:"returnUrl,omitempty"`
}

// Verification is an attempt to verify the merchant.
type Verification struct {
	ID                string             `json:"verificationId"` // kyc_…
	Level             string             `json:"level"`
	Status            string             `json:"status"` // requires_input, processing, verified, rejected or expired
	URL               string             `json:"url"`    // where the merchant continues
	ExpiresAt         time.Time          `json:"expiresAt"`
	RequiredDocuments []string           `json:"requiredDocuments"`
	LastError         *VerificationError `json:"lastError"` // nil unless it was rejected
	CreatedAt         time.Time          `json:"createdAt"`
}

// VerificationError says why a verification was rejected.
type VerificationError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// StartVerification begins to verify the merchant, or returns the open verification.
func (c *Client) StartVerification(ctx context.Context, n NewVerification) (Verification, error) {
	var v Verification
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/kyc/init", body: n}, &v)
	return v, err
}

// Verification reads a verification.
func (c *Client) Verification(ctx context.Context, id string) (Verification, error) {
	var v Verification
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/kyc/" + url.PathEscape(id)}, &v)
	return v, err
}

// SimulateVerification moves a sandbox verification to processing, verified,
// rejected or expired.
func (c *Client) SimulateVerification(ctx context.Context, id, status string) (Verification, error) {
	var v Verification
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/sandbox/kyc/" + url.PathEscape(id), body: map[string]string{"status": status},
	}, &v)
	return v, err
}
