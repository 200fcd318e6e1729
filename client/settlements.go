package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// SettlementStatus is the status of a settlement.
type SettlementStatus string

// The statuses, in their order.
const (
	SettlementOpen   SettlementStatus = "open"   // payments are added to it
	SettlementClosed SettlementStatus = "closed" // fixed, and its money is available
	SettlementPaid   SettlementStatus = "paid"   // its payout is confirmed
)

// Settlement is a batch of what the merchant earned. Its amounts are USD, and
// NetAmount is exactly the sum of its lines: GrossVolume - Fees.Total - Refunds -
// Chargebacks - ChargebackFees - ReserveHeld + ReserveReleased + Adjustments.
type Settlement struct {
	ID               string            `json:"id"` // STL-…
	Status           SettlementStatus  `json:"status"`
	PeriodStart      time.Time         `json:"periodStart"`
	PeriodEnd        time.Time         `json:"periodEnd"`        // zero while open; payments captured up to here
	Currency         string            `json:"currency"`         // USD
	TransactionCount int64             `json:"transactionCount"` // its lines, refunds and releases included
	GrossVolume      Decimal           `json:"grossVolume"`      // what shoppers paid
	Fees             Fees              `json:"fees"`             // less the fees that refunds returned
	Taxes            []FeeTax          `json:"taxes"`            // what Fees.Tax is made of
	Refunds          Decimal           `json:"refunds"`          // what shoppers got back
	Chargebacks      Decimal           `json:"chargebacks"`
	ChargebackFees   Decimal           `json:"chargebackFees"`
	ReserveHeld      Decimal           `json:"reserveHeld"`
	ReserveReleased  Decimal           `json:"reserveReleased"` // released reserve, and reserve returned by refunds
	Adjustments      Decimal           `json:"adjustments"`
	NetAmount        Decimal           `json:"netAmount"`
	PDFURL           string            `json:"pdfUrl"`        // "" until the receipt is ready; the link needs the same credentials, as SettlementReport does
	CSVURL           string            `json:"csvUrl"`        // "" while open; likewise
	PayoutID         string            `json:"payoutId"`      // the automatic withdrawal that pays it out, if that was agreed
	PayoutReason     string            `json:"payoutReason"`  // why a part is not paid out automatically yet
	WithdrawalIDs    []string          `json:"withdrawalIds"` // those that cover its net, oldest first
	Payout           *SettlementPayout `json:"payout"`        // how far it is paid out; nil while open
	CreatedAt        time.Time         `json:"createdAt"`
	ClosedAt         time.Time         `json:"closedAt"` // zero while open
	PaidAt           time.Time         `json:"paidAt"`   // zero until then
}

// SettlementPayout says how far a settlement is paid out.
type SettlementPayout struct {
	Status string            `json:"status"` // owed, in_progress, paid or nothing_to_pay
	Amount Decimal           `json:"amount"` // USD that withdrawals cover, arrived or not
	Owed   Decimal           `json:"owed"`   // USD that nothing covers yet; negative: a debt
	Covers []SettlementCover `json:"covers"`
}

// SettlementCover is a part of a settlement's net.
type SettlementCover struct {
	WithdrawalID string  `json:"withdrawalId"` // the withdrawal that pays it out, "" for a set-off
	SettlementID string  `json:"settlementId"` // the settlement that it is set off against
	Amount       Decimal `json:"amount"`       // USD
	Paid         bool    `json:"paid"`
}

// SettlementFilter selects settlements; zero fields select all.
type SettlementFilter struct {
	Status   SettlementStatus
	From, To time.Time // created at From or later, and before To

	Limit         int    // rows of a page, 1 to 100; 0 means 50
	Offset        int    // rows to skip
	StartingAfter string // instead of Offset: the NextCursor of the page before
}

// SettlementPage is one page of settlements.
type SettlementPage struct {
	Data       []Settlement `json:"data"`
	Pagination Pagination   `json:"pagination"`
}

// Settlements lists the merchant's settlements, newest first.
func (c *Client) Settlements(ctx context.Context, f SettlementFilter) (SettlementPage, error) {
	v := map[string]string{"status": string(f.Status), "from": moment(f.From), "to": moment(f.To)}
	addPage(v, Page{f.Limit, f.Offset, f.StartingAfter})
	var page SettlementPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/settlements", query: values(v)}, &page)
	return page, err
}

// AllSettlements iterates over all settlements that the filter selects, newest first, one
// page at a time. It ends after the first error.
func (c *Client) AllSettlements(ctx context.Context, f SettlementFilter) iter.Seq2[Settlement, error] {
	return each(Page{f.Limit, f.Offset, f.StartingAfter}, func(p Page) ([]Settlement, Pagination, error) {
		f.Offset, f.StartingAfter = p.Offset, p.StartingAfter
		page, err := c.Settlements(ctx, f)
		return page.Data, page.Pagination, err
	})
}

// Settlement reads a settlement. Errors: settlement_not_found.
func (c *Client) Settlement(ctx context.Context, id string) (Settlement, error) {
	var s Settlement
	_, err := c.do(ctx, request{method: http.MethodGet, path: settlementPath(id)}, &s)
	return s, err
}

// SettlementLine is one line of a settlement: a payment, or a later change to one. All
// amounts except AmountLocal are USD.
type SettlementLine struct {
	Number          int64     `json:"number"` // from 1 within the settlement
	Type            string    `json:"type"`   // charge, refund, chargeback, chargeback_fee, reserve_release or adjustment
	TransactionID   string    `json:"transactionId"`
	ClaimID         string    `json:"claimId"`
	MerchantOrderID string    `json:"merchantOrderId"`
	AmountLocal     Decimal   `json:"amountLocal"` // in CurrencyLocal
	CurrencyLocal   string    `json:"currencyLocal"`
	Amount          Decimal   `json:"amount"` // what the shopper paid; negative: got back
	Fees            Fees      `json:"fees"`   // negative if a refund returned them
	ChargebackFee   Decimal   `json:"chargebackFee"`
	Reserve         Decimal   `json:"reserve"` // held; negative: returned or released
	Adjustment      Decimal   `json:"adjustment"`
	NetAmount       Decimal   `json:"netAmount"` // Amount - Fees.Total - ChargebackFee - Reserve + Adjustment
	CreatedAt       time.Time `json:"createdAt"`
}

// SettlementLinePage is one page of a settlement's lines.
type SettlementLinePage struct {
	Data       []SettlementLine `json:"data"`
	Pagination Pagination       `json:"pagination"`
}

// SettlementTransactions lists a settlement's lines in their order. Errors: settlement_not_found.
func (c *Client) SettlementTransactions(ctx context.Context, id string, p Page) (SettlementLinePage, error) {
	query := map[string]string{}
	addPage(query, p)
	var page SettlementLinePage
	_, err := c.do(ctx, request{method: http.MethodGet, path: settlementPath(id) + "/transactions", query: values(query)}, &page)
	return page, err
}

// AllSettlementTransactions iterates over all lines of a settlement in their order, a page
// of 100 at a time. It ends after the first error. For a large settlement SettlementReport
// is one request.
func (c *Client) AllSettlementTransactions(ctx context.Context, id string) iter.Seq2[SettlementLine, error] {
	return each(Page{Limit: maxPage}, func(p Page) ([]SettlementLine, Pagination, error) {
		page, err := c.SettlementTransactions(ctx, id, p)
		return page.Data, page.Pagination, err
	})
}

// ReportFormat is the file format of SettlementReport.
type ReportFormat string

// The formats.
const (
	ReportPDF      ReportFormat = "pdf"       // the receipt, in the merchant's language
	ReportCSV      ReportFormat = "csv"       // every line, with headings in the merchant's language
	ReportCSVPoint ReportFormat = "csv/point" // the same for a spreadsheet that writes 1.5
	ReportCSVComma ReportFormat = "csv/comma" // the same for one that writes 1,5
	ReportJSON     ReportFormat = "json"      // {"settlement": Settlement, "transactions": [SettlementLine, …]}
)

// SettlementReport writes a settlement's report to a file or a buffer, without keeping it
// in memory: all lines may be many megabytes. After an error the output is incomplete or
// empty. If the report takes longer than 90 seconds, set your own Config.HTTP.
//
// Errors: settlement_not_found; conflict_state for the PDF of an open settlement.
func (c *Client) SettlementReport(ctx context.Context, id string, format ReportFormat, to io.Writer) error {
	of, decimal, _ := strings.Cut(string(format), "/")
	_, err := c.do(ctx, request{
		method: http.MethodGet, path: settlementPath(id) + "/report", query: values(map[string]string{"format": of, "decimal": decimal}),
	}, to)
	return err
}

// SimulateSettlement pays a closed sandbox settlement to the default wallet of the merchant's first shop, which takes
// the money from the balance; SimulatePaid is the only action.
//
// Errors: missing_field without a wallet, balance_insufficient, settlement_not_found, conflict_state while it is open, settlement_already_paid,
// production_key_refused.
func (c *Client) SimulateSettlement(ctx context.Context, id string, action Action) (Settlement, error) {
	var s Settlement
	_, err := c.do(ctx, request{method: http.MethodPost, path: settlementPath(id) + "/simulate", body: map[string]Action{"action": action}}, &s)
	return s, err
}

func settlementPath(id string) string { return "/settlements/" + url.PathEscape(id) }
