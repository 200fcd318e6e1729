package shape

import (
	"maps"
	"slices"
	"strconv"

	"github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/comparison"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/view"
)

// AuditEntry is an entry of the audit log.
type AuditEntry struct {
	ID          string                `json:"id" example:"aud_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	At          view.Time             `json:"at"`
	MerchantID  string                `json:"merchantId,omitempty"`
	ShopID      string                `json:"shopId,omitempty"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	Actor       AuditActor            `json:"actor"`
	Action      audit.Act             `json:"action" example:"merchant.created"`
	Object      string                `json:"object" doc:"The id or name of what it was done to"`
	Details     map[string]string     `json:"details,omitempty"`
}

// AuditActor is who did something, and from where.
type AuditActor struct {
	Kind    audit.ActorKind `json:"kind" example:"operator"`
	ID      string          `json:"id,omitempty"`
	IP      string          `json:"ip,omitempty"`
	Request string          `json:"requestId,omitempty"`
}

// NewAuditEntry shows an entry.
func NewAuditEntry(e audit.Entry) AuditEntry {
	return AuditEntry{
		ID: e.ID, At: view.Time{Time: e.At}, MerchantID: e.Merchant, ShopID: e.Shop, Environment: e.Environment(),
		Actor: AuditActor{e.By.Kind, e.By.ID, e.By.IP, e.By.Request}, Action: e.Act, Object: e.Object, Details: e.Details,
	}
}

// BooksCheck is the check of the books on the node that answers, and the results of the newest checks of all nodes.
type BooksCheck struct {
	Node    string        `json:"node" doc:"The node that answers"`
	Running *RunningCheck `json:"running,omitempty" doc:"Absent: none runs on this node"`
	Last    *EndedCheck   `json:"last,omitempty" doc:"The one that ended last on this node since it started"`
	Past    []PastCheck   `json:"past" doc:"Of all nodes, newest first, by the audit log"`
}

// RunningCheck is how far a check is.
type RunningCheck struct {
	By       string    `json:"by"`
	Began    view.Time `json:"began"`
	Stopping bool      `json:"stopping"`
	Seals    bool      `json:"seals" doc:"Only the seals are checked"`
	Part     string    `json:"part"`
	Done     int64     `json:"done" doc:"Rows of the part"`
	Total    int64     `json:"total" doc:"About how many the part has"`
	Broken   int       `json:"broken" doc:"Found so far"`
}

// EndedCheck is how a check ended.
type EndedCheck struct {
	By      string            `json:"by"`
	Began   view.Time         `json:"began"`
	Ended   view.Time         `json:"ended"`
	Stopped bool              `json:"stopped"`
	Failed  string            `json:"failed,omitempty" doc:"Why it could not be done"`
	Broken  []BrokenInvariant `json:"broken" doc:"The first 200; empty: every invariant holds"`
	Count   int               `json:"brokenCount"`
}

// BrokenInvariant is a row that breaks an invariant.
type BrokenInvariant struct {
	Invariant string `json:"invariant"`
	ID        string `json:"id" doc:"Of the row, or the merchant"`
	Note      string `json:"note"`
}

// PastCheck is a check that has ended.
type PastCheck struct {
	At     view.Time `json:"at"`
	By     string    `json:"by"`
	What   string    `json:"what" enum:"everything,seals"`
	Result string    `json:"result" enum:"ended,stopped,failed"`
	Broken int       `json:"broken"`
}

// mostBroken is how many broken rows are shown.
const mostBroken = 200

// NewBooksCheck shows the check on a node.
func NewBooksCheck(node string, s books.CheckState, past []audit.Entry) BooksCheck {
	shown := BooksCheck{Node: node, Past: make([]PastCheck, 0, len(past))}
	if s.Running {
		now := s.Progress.Now
		shown.Running = &RunningCheck{s.By.ID, view.Time{Time: s.Began}, s.Stopping, s.Progress.Seals, now.Part, now.Done, now.Total, len(now.Broken)}
	}
	if l := s.Last; l != nil {
		shown.Last = &EndedCheck{By: l.By.ID, Began: view.Time{Time: l.Began}, Ended: view.Time{Time: l.At}, Stopped: l.Stopped, Failed: message.Sentence(l.Err), Count: len(l.Result.Broken), Broken: []BrokenInvariant{}}
		for _, b := range l.Result.Broken[:min(len(l.Result.Broken), mostBroken)] {
			shown.Last.Broken = append(shown.Last.Broken, BrokenInvariant{b.Invariant, b.ID, b.Note})
		}
	}
	for _, e := range past {
		broken, _ := strconv.Atoi(e.Details["broken"]) // the service wrote a number
		shown.Past = append(shown.Past, PastCheck{view.Time{Time: e.At}, e.By.ID, e.Details["what"], e.Details["result"], broken})
	}
	return shown
}

// SealHead is the newest block of a chain of seals.
type SealHead struct {
	MerchantID  string                `json:"merchantId" doc:"Empty: of rows without a merchant"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	Block       int64                 `json:"block"`
	Hash        string                `json:"hash"`
	At          view.Time             `json:"at"`
	Line        string                `json:"line" doc:"What a comparison reads, and cascada check --heads: keep it elsewhere"`
}

// NewSealHead shows the newest block of a chain.
func NewSealHead(h books.SealHead) SealHead {
	return SealHead{h.Merchant, merchants.EnvironmentOf(h.Live), h.N, h.Hash, view.Time{Time: h.At}, h.String()}
}

// ComparedSeals says whether chains of seals continue from heads that were kept.
type ComparedSeals struct {
	Heads  int               `json:"heads"`
	Broken []BrokenInvariant `json:"broken" doc:"The first 200; empty: none was cut"`
}

// AmountOf is an exact amount.
type AmountOf struct {
	Amount   string         `json:"amount" doc:"In major units" example:"49.90"`
	Currency money.Currency `json:"currency"`
}

func newAmountOf(a money.Amount) *AmountOf {
	if a.Currency == "" {
		return nil
	}
	return &AmountOf{a.Decimal(), a.Currency}
}

func newAmounts(s map[money.Currency]int64) []AmountOf {
	list := []AmountOf{}
	for _, c := range slices.Sorted(maps.Keys(s)) {
		list = append(list, *newAmountOf(money.New(s[c], c)))
	}
	return list
}

// ReportComparison is the kept result of a comparison of a provider's report with the books.
type ReportComparison struct {
	ID          string                `json:"id" doc:"Empty: nothing was kept" example:"rec_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Account     string                `json:"account"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	From        view.Time             `json:"from"`
	To          view.Time             `json:"to"`
	At          view.Time             `json:"at"`
	By          string                `json:"by"`
	Reports     []string              `json:"reports"`
	Lines       int                   `json:"lines"`
	PaysOut     bool                  `json:"paysOut" doc:"Charges are payouts, and refunds are returns"`
	Charges     int                   `json:"charges" doc:"That agree"`
	Charged     []AmountOf            `json:"charged"`
	Refunds     int                   `json:"refunds" doc:"That agree"`
	Refunded    []AmountOf            `json:"refunded"`
	Differences int                   `json:"differences"`
	Kinds       map[string]int        `json:"kinds" doc:"How many of each kind"`
}

// NewReportComparison shows the result of a comparison.
func NewReportComparison(r comparison.Result) ReportComparison {
	kinds := r.Findings
	if kinds == nil {
		kinds = map[string]int{}
	}
	return ReportComparison{
		ID: r.ID, Account: r.Account, Environment: merchants.EnvironmentOf(r.Live), From: view.Time{Time: r.From}, To: view.Time{Time: r.To}, At: view.Time{Time: r.At}, By: r.By,
		Reports: append([]string{}, r.Reports...), Lines: r.Lines, PaysOut: r.PaysOut, Charges: r.Charges, Charged: newAmounts(r.Charged), Refunds: r.Refunds, Refunded: newAmounts(r.Refunded),
		Differences: r.Count, Kinds: kinds,
	}
}

// ComparedReport is the result of a comparison with its differences.
type ComparedReport struct {
	ReportComparison
	Chargebacks  int                `json:"chargebacks"`
	Foreign      int                `json:"foreign" doc:"Lines of other systems that use the account too"`
	Fees         []AmountOf         `json:"fees"`
	FeesTold     []AmountOf         `json:"feesTold" doc:"Of charges with a known price: as reported"`
	FeesExpected []AmountOf         `json:"feesExpected" doc:"Of the same charges: by the account's terms"`
	Findings     []ReportDifference `json:"findings" doc:"The first 500"`
}

// ReportDifference is one difference between a report and the books.
type ReportDifference struct {
	Kind          reconcile.Discrepancy `json:"kind"`
	Meaning       string                `json:"meaning"`
	File          string                `json:"file,omitempty"`
	Line          int                   `json:"line,omitempty"`
	MerchantID    string                `json:"merchantId,omitempty"`
	TransactionID string                `json:"transactionId,omitempty"`
	ClaimID       string                `json:"claimId,omitempty"`
	WithdrawalID  string                `json:"withdrawalId,omitempty"`
	Reference     string                `json:"reference,omitempty" doc:"Ours"`
	ProviderRef   string                `json:"providerReference,omitempty"`
	Here          *AmountOf             `json:"here,omitempty" doc:"In our books; absent: nothing"`
	There         *AmountOf             `json:"there,omitempty" doc:"At the provider; absent: nothing"`
	AmountUSD     view.Money            `json:"amountUsd" doc:"The difference; 0: not known"`
	Note          string                `json:"note,omitempty"`
}

// NewReportDifference shows a difference.
func NewReportDifference(f reconcile.Finding) ReportDifference {
	return ReportDifference{
		f.Discrepancy, f.Discrepancy.Meaning(), f.File, f.Line, f.Merchant, f.Payment, f.Claim, f.Withdrawal, f.Reference, f.ProviderRef, newAmountOf(f.Here), newAmountOf(f.There), view.USD(f.USD), f.Note,
	}
}

// NewComparedReport shows the result of a comparison with its differences.
func NewComparedReport(done reconciliation.Compared, findings []ReportDifference) ComparedReport {
	t := done.Totals
	return ComparedReport{
		ReportComparison: NewReportComparison(done.Result), Chargebacks: t.Chargebacks, Foreign: t.Foreign, Fees: newAmounts(t.Fees), FeesTold: newAmounts(t.Told),
		FeesExpected: newAmounts(t.Expected), Findings: append([]ReportDifference{}, findings...),
	}
}
