package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// NewRefund is the data of a refund. The zero value refunds all that is left.
type NewRefund struct {
	Amount   Decimal `json:"amount,omitempty"`   // in the payment's local currency; "" for all that is left
	Currency string  `json:"currency,omitempty"` // of Amount: the currency in which the shopper paid, and no other
	Reason   string  `json:"reason,omitempty"`

	// IdempotencyKey makes it safe to send the same refund again: a repeat gets
	// the first reply, with Replayed set.
	IdempotencyKey string `json:"-"`
}

// Refund is an opened refund. Its claim has the result: the event claim.resolved, or Claim
// with its ID.
type Refund struct {
	ID            string    `json:"refundId"` // CLM-…, the claim has the same id
	TransactionID string    `json:"transactionId"`
	Amount        Decimal   `json:"amount"` // local currency
	AmountUSD     Decimal   `json:"amountUsd"`
	Currency      string    `json:"currency"`
	Status        string    `json:"status"` // pending; in an event approved, if the provider or the operator made it already
	Reason        string    `json:"reason"`
	Origin        Origin    `json:"origin"`
	CreatedAt     time.Time `json:"createdAt"`

	Replayed bool `json:"-"` // the reply is from an earlier request with the same key
}

// Refund refunds a payment, in full or in part.
func (c *Client) Refund(ctx context.Context, payment string, n NewRefund) (Refund, error) {
	var r Refund
	header, err := c.do(ctx, request{
		method: http.MethodPost, path: "/payments/" + url.PathEscape(payment) + "/refund", body: n,
		header: map[string]string{"Idempotency-Key": n.IdempotencyKey},
	}, &r)
	r.Replayed = header.Get(replayedHeader) == "true"
	return r, err
}

// ClaimType says who asks for the money back.
type ClaimType string

// The types of claims.
const (
	UserDispute     ClaimType = "user_dispute" // a refund
	ChargebackClaim ClaimType = "chargeback"   // the card's issuer
	Inquiry         ClaimType = "inquiry"      // money that came after its payment had ended
)

// ClaimStatus is the status of a claim.
type ClaimStatus string

// The statuses. The last four are terminal; expired counts as approved.
const (
	ClaimPending       ClaimStatus = "pending"
	ClaimNeedsEvidence ClaimStatus = "needs_evidence"
	ClaimUnderReview   ClaimStatus = "under_review"
	ClaimApproved      ClaimStatus = "approved" // the shopper gets the money
	ClaimRejected      ClaimStatus = "rejected" // the money stays with the merchant
	ClaimExpired       ClaimStatus = "expired"
	ClaimWithdrawn     ClaimStatus = "withdrawn"
)

// Claim is a demand to give a payment's money back.
type Claim struct {
	ID                string      `json:"id"` // CLM-…
	Type              ClaimType   `json:"type"`
	Status            ClaimStatus `json:"status"`
	Outcome           ClaimStatus `json:"outcome"` // approved, rejected or withdrawn; "" until resolved
	TransactionID     string      `json:"transactionId"`
	MerchantOrderID   string      `json:"merchantOrderId"`
	PreviousClaimID   string      `json:"previousClaimId"` // the earlier claim of the same dispute, or the refund that failed after it was confirmed; else ""
	Origin            Origin      `json:"origin"`          // of a refund; else ""
	Amount            Decimal     `json:"amount"`          // local currency
	Currency          string      `json:"currency"`
	AmountUSD         Decimal     `json:"amountUsd"`
	FrozenUSD         Decimal     `json:"frozenUsd"` // currently held from the balance
	FeeUSD            Decimal     `json:"feeUsd"`    // the tax on it included
	FeeTax            *FeeTax     `json:"feeTax"`    // the tax in FeeUSD; nil if there is none
	Reason            string      `json:"reason"`
	NetworkReasonCode string      `json:"networkReasonCode"`
	EvidenceDueBy     time.Time   `json:"evidenceDueBy"` // zero if none is required
	Evidence          []Evidence  `json:"evidence"`
	Timeline          []ClaimStep `json:"timeline"`
	CreatedAt         time.Time   `json:"createdAt"`
	UpdatedAt         time.Time   `json:"updatedAt"`
	ResolvedAt        time.Time   `json:"resolvedAt"` // zero until then

	Transaction *PaymentSummary `json:"transaction"` // the payment, in events only; else nil
}

// Origin says who gave the money of a refund back.
type Origin string

// The origins.
const (
	OriginMerchant Origin = "merchant" // the merchant asked for it
	OriginProvider Origin = "provider" // the provider made it without being asked
	OriginOperator Origin = "operator" // the operator made it by hand
)

// PaymentSummary is the payment in a claim's event.
type PaymentSummary struct {
	ID              string  `json:"id"`
	Status          Status  `json:"status"`
	Amount          Decimal `json:"amount"`
	Currency        string  `json:"currency"` // USD
	AmountLocal     Decimal `json:"amountLocal"`
	CurrencyLocal   string  `json:"currencyLocal"`
	PaymentMethodID string  `json:"paymentMethodId"`
	Country         string  `json:"country"` // ISO 3166 alpha-3
	MerchantOrderID string  `json:"merchantOrderId"`
}

// ClaimStep is one line of a claim's history.
type ClaimStep struct {
	Status ClaimStatus `json:"status"`
	At     time.Time   `json:"at"`
	Actor  string      `json:"actor"` // merchant, issuer, provider, operator or system
	Note   string      `json:"note"`
}

// Evidence is the merchant's answer to a claim. File is nil if it is only text.
type Evidence struct {
	ID          string        `json:"id"` // ev_…
	Kind        string        `json:"kind"`
	Text        string        `json:"text"`
	File        *EvidenceFile `json:"file"`
	SubmittedAt time.Time     `json:"submittedAt"`
}

// EvidenceFile describes a file; DownloadEvidence reads it.
type EvidenceFile struct {
	Name        string `json:"name"`
	ContentType string `json:"contentType"`
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256"` // hex
}

// Claim reads a claim.
func (c *Client) Claim(ctx context.Context, id string) (Claim, error) {
	var claim Claim
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/claims/" + url.PathEscape(id)}, &claim)
	return claim, err
}

// ClaimFilter selects claims; zero fields select all.
type ClaimFilter struct {
	Status        ClaimStatus
	Type          ClaimType
	TransactionID string

	Limit         int    // rows of a page, 1 to 100; 0 means 50
	Offset        int    // rows to skip
	StartingAfter string // instead of Offset: the NextCursor of the page before
}

// ClaimPage is one page of claims.
type ClaimPage struct {
	Data       []Claim    `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Claims lists claims, newest first.
func (c *Client) Claims(ctx context.Context, f ClaimFilter) (ClaimPage, error) {
	v := map[string]string{"status": string(f.Status), "type": string(f.Type), "transactionId": f.TransactionID}
	addPage(v, Page{f.Limit, f.Offset, f.StartingAfter})
	var page ClaimPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/claims", query: values(v)}, &page)
	return page, err
}

// AllClaims iterates over all claims that the filter selects, newest first, one page at a
// time. It ends after the first error.
func (c *Client) AllClaims(ctx context.Context, f ClaimFilter) iter.Seq2[Claim, error] {
	return each(Page{f.Limit, f.Offset, f.StartingAfter}, func(p Page) ([]Claim, Pagination, error) {
		f.Offset, f.StartingAfter = p.Offset, p.StartingAfter
		page, err := c.Claims(ctx, f)
		return page.Data, page.Pagination, err
	})
}

// AcceptClaim accepts a claim: the shopper gets the money.
func (c *Client) AcceptClaim(ctx context.Context, id string) (Claim, error) {
	var claim Claim
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/claims/" + url.PathEscape(id) + "/accept"}, &claim)
	return claim, err
}

// NewEvidence is a text, a file or both.
type NewEvidence struct {
	Kind string           `json:"kind"` // such as receipt or delivery_proof
	Text string           `json:"text,omitempty"`
	File *NewEvidenceFile `json:"file,omitempty"`
}

// NewEvidenceFile is a file of at most 10 MiB: application/pdf, image/png,
// image/jpeg or text/plain.
type NewEvidenceFile struct {
	Name        string `json:"name"`
	ContentType string `json:"contentType"`
	Content     []byte `json:"content"`
}

// SubmitEvidence sends evidence against a claim, and returns the claim.
func (c *Client) SubmitEvidence(ctx context.Context, id string, n NewEvidence) (Claim, error) {
	var claim Claim
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/claims/" + url.PathEscape(id) + "/evidence", body: n}, &claim)
	return claim, err
}

// DownloadEvidence reads the file of a piece of evidence.
func (c *Client) DownloadEvidence(ctx context.Context, claim, evidence string) ([]byte, error) {
	var content []byte
	_, err := c.do(ctx, request{
		method: http.MethodGet, path: "/claims/" + url.PathEscape(claim) + "/evidence/" + url.PathEscape(evidence) + "/file",
	}, &content)
	return content, err
}
