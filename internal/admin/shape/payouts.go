package shape

import (
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/view"
)

// PayoutLimits are the limits for withdrawals of a merchant in an environment, or of all merchants together. Amounts are USD.
type PayoutLimits struct {
	Environment   merchants.Environment `json:"environment" enum:"sandbox,production"`
	MerchantID    *string               `json:"merchantId" doc:"null: of all merchants together"`
	Stopped       *string               `json:"stopped" nullable:"true" doc:"Why nothing is sent; null: withdrawals are sent"`
	ApprovalAbove string                `json:"approvalAbove" doc:"A larger withdrawal waits for an operator; 0: none waits" example:"5000"`
	Hourly        string                `json:"hourly" doc:"The most that is sent in an hour (UTC); 0: no limit" example:"0"`
	Daily         string                `json:"daily" doc:"The most that is sent in a day (UTC); 0: no limit" example:"20000"`
	Schedule      string                `json:"schedule" enum:"plan,automatic,on_request" doc:"Of a merchant. plan: as its price plan says; automatic: the net of each settlement is paid out to the default wallet of the first shop; on_request: the merchant withdraws"`
	Minimum       string                `json:"minimum" doc:"Of automatic payouts: a smaller amount waits for the next settlement; 0: as the plan says" example:"100"`
	Days          string                `json:"days" doc:"Of automatic payouts: days of the week in UTC; empty: as the plan says" example:"mon,thu"`
	Version       int64                 `json:"version" doc:"0: none were ever set"`
}

// NewPayoutLimits shows limits.
func NewPayoutLimits(c pay.PayoutControl) PayoutLimits {
	usd := func(cents int64) string { return money.New(cents, money.USD).Decimal() }
	shown := PayoutLimits{
		Environment: merchants.EnvironmentOf(c.Live), ApprovalAbove: usd(c.ApprovalAbove), Hourly: usd(c.Hourly), Daily: usd(c.Daily),
		Schedule: c.Schedule.Word(), Minimum: usd(c.Minimum), Days: c.Days, Version: c.Version,
	}
	if c.Merchant != "" {
		shown.MerchantID = &c.Merchant
	}
	if c.Stopped != "" {
		shown.Stopped = &c.Stopped
	}
	return shown
}

// OpenWithdrawal is a withdrawal as a list for operators shows it.
type OpenWithdrawal struct {
	ID          string                `json:"id" example:"wdr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	MerchantID  string                `json:"merchantId"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	Status      pay.WithdrawalStatus  `json:"status" enum:"pending,processing,completed,failed,canceled"`
	AmountUSD   view.Money            `json:"amountUsd" doc:"What left the balance, the fee included"`
	NetUSD      view.Money            `json:"netUsd" doc:"What is paid out"`
	Account     string                `json:"account" doc:"Where it was sent; empty: nowhere yet"`
	BatchID     string                `json:"batchId" doc:"The batch whose file it leaves in; empty: none"`
	Reference   string                `json:"reference" doc:"Our name of it at the account"`
	Waiting     string                `json:"waiting" doc:"Why it is due and not sent; empty: nothing holds it back" example:"approval_required"`
	ApprovedBy  string                `json:"approvedBy" doc:"Who let it pass the limits; empty: nobody"`
	Queries     int                   `json:"queries" doc:"Since it was sent"`
	CreatedAt   view.Time             `json:"createdAt"`
	SentAt      *view.Time            `json:"sentAt" nullable:"true"`
}

// NewOpenWithdrawal shows a withdrawal.
func NewOpenWithdrawal(w pay.Withdrawal) OpenWithdrawal {
	return OpenWithdrawal{
		ID: w.ID, MerchantID: w.Merchant, Environment: w.Environment(), Status: w.Status, AmountUSD: view.USD(w.Amount), NetUSD: view.USD(w.Net()), Account: w.Payout.Provider,
		BatchID: w.Payout.Batch, Reference: w.Reference(), Waiting: w.Waiting, ApprovedBy: w.ApprovedBy, Queries: w.Payout.Checks,
		CreatedAt: view.Time{Time: w.CreatedAt}, SentAt: moment(w.Payout.SentAt),
	}
}

// WithdrawalToPay is a withdrawal with its destination, to pay it by hand.
type WithdrawalToPay struct {
	OpenWithdrawal
	Hold          string     `json:"doNotPay" doc:"Why it must not be paid by hand now; empty: it may be" example:"payouts_stopped"`
	Network       string     `json:"network" example:"spei"`
	Currency      string     `json:"currency" doc:"ISO 4217, or a token" example:"MXN"`
	Destination   string     `json:"destination" doc:"The bank account or the address. The audit log has that you saw it"`
	LocalAmount   view.Money `json:"localAmount" doc:"What arrives, in the currency; 0 for a token, which is paid at the value of netUsd"`
	ProviderRef   string     `json:"providerReference"`
	BankReference string     `json:"bankReference"`
}

// NewWithdrawalToPay shows a withdrawal with its destination.
func NewWithdrawalToPay(w payouts.ToPay) WithdrawalToPay {
	return WithdrawalToPay{
		OpenWithdrawal: NewOpenWithdrawal(w.Withdrawal), Hold: string(w.Hold), Network: w.Wallet.Network, Currency: w.Wallet.Currency, Destination: w.Destination,
		LocalAmount: view.Money{Amount: w.Local}, ProviderRef: w.Payout.ProviderRef, BankReference: w.Payout.BankRef,
	}
}

// PayoutBatch is payouts of one account that leave in one file.
type PayoutBatch struct {
	ID          string                `json:"id" example:"bat_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Account     string                `json:"account"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	Number      int                   `json:"number" doc:"Of the account's batches, from 1"`
	Status      pay.BatchStatus       `json:"status" enum:"made,approved,exported,dissolved"`
	Network     string                `json:"network"`
	Layout      string                `json:"layout" example:"cnab240"`
	Lines       int                   `json:"lines"`
	Total       view.Money            `json:"total"`
	Currency    money.Currency        `json:"currency"`
	Checksum    string                `json:"checksum" doc:"SHA-256 of the file, in hex"`
	MadeBy      string                `json:"madeBy"`
	ApprovedBy  string                `json:"approvedBy" doc:"Empty: nobody yet"`
	CreatedAt   view.Time             `json:"createdAt"`
	ExportedAt  *view.Time            `json:"exportedAt" nullable:"true" doc:"Of the first export"`
}

// NewPayoutBatch shows a batch.
func NewPayoutBatch(b pay.Batch) PayoutBatch {
	return PayoutBatch{
		ID: b.ID, Account: b.Account, Environment: merchants.EnvironmentOf(b.Live), Number: b.Number, Status: b.Status, Network: b.Network, Layout: b.Layout, Lines: b.Lines,
		Total: view.Money{Amount: b.Total}, Currency: b.Total.Currency, Checksum: b.Checksum, MadeBy: b.MadeBy, ApprovedBy: b.ApprovedBy,
		CreatedAt: view.Time{Time: b.CreatedAt}, ExportedAt: moment(b.ExportedAt),
	}
}

// NewPayoutBatches shows a list of batches.
func NewPayoutBatches(list []pay.Batch) []PayoutBatch {
	shown := make([]PayoutBatch, 0, len(list))
	for _, b := range list {
		shown = append(shown, NewPayoutBatch(b))
	}
	return shown
}

// BatchWithPayouts is a batch with the withdrawals in it.
type BatchWithPayouts struct {
	PayoutBatch
	Payouts []BatchPayout `json:"payouts"`
}

// BatchPayout is a line of a batch's file.
type BatchPayout struct {
	Line          string               `json:"line" doc:"What the file calls it"`
	WithdrawalID  string               `json:"withdrawalId"`
	Amount        view.Money           `json:"amount"`
	Status        pay.WithdrawalStatus `json:"status" enum:"pending,processing,completed,failed,canceled"`
	BankReference string               `json:"bankReference"`
}

// NewBatchWithPayouts shows a batch with the withdrawals in it.
func NewBatchWithPayouts(b pay.Batch, of []pay.Withdrawal) BatchWithPayouts {
	shown := BatchWithPayouts{PayoutBatch: NewPayoutBatch(b), Payouts: make([]BatchPayout, 0, len(of))}
	for _, w := range of {
		shown.Payouts = append(shown.Payouts, BatchPayout{w.Payout.ProviderRef, w.ID, view.Money{Amount: w.Local}, w.Status, w.Payout.BankRef})
	}
	return shown
}

// ExportedBatch is a batch with its file.
type ExportedBatch struct {
	Batch   PayoutBatch `json:"batch"`
	Content []byte      `json:"content" doc:"The file, in base64. It has names and bank accounts"`
}

// BankAnswers says what a bank's answer did.
type BankAnswers struct {
	Checksum string   `json:"checksum" doc:"SHA-256 of the answer, in hex"`
	Paid     int      `json:"paid"`
	Rejected int      `json:"rejected"`
	Returned int      `json:"returned"`
	Pending  int      `json:"pending"`
	Known    int      `json:"known" doc:"Lines that were known before"`
	Strange  []string `json:"strange" doc:"What a person must look at: lines that are not ours, or do not fit"`
}

// NewBankAnswers shows what a bank's answer did.
func NewBankAnswers(d payouts.ImportedAnswers) BankAnswers {
	return BankAnswers{d.Checksum, d.Paid, d.Rejected, d.Returned, d.Pending, d.Known, append([]string{}, d.Strange...)}
}

// Float is the operator's own money at a payout account, in one currency.
type Float struct {
	Account     string                `json:"account"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	Currency    money.Currency        `json:"currency"`
	Free        view.Money            `json:"free"`
	Committed   view.Money            `json:"committed" doc:"Sent, and not known to be paid"`
	Paid        view.Money            `json:"paid"`
	Funded      view.Money            `json:"funded" doc:"What was put in, less what was taken out"`
	Balance     *view.Money           `json:"balance" nullable:"true" doc:"As the provider reports it; null: not known"`
	Off         *view.Money           `json:"off" nullable:"true" doc:"The difference of the balance to the ledger"`
	Unknown     string                `json:"unknown,omitempty" doc:"Why there is no balance to compare"`
}

// NewFloat shows a float.
func NewFloat(f payouts.FloatStatus) Float {
	in := func(minor int64) view.Money { return view.Money{Amount: money.New(minor, f.Currency)} }
	shown := Float{Account: f.Account, Environment: merchants.EnvironmentOf(f.Live), Currency: f.Currency, Free: in(f.Free), Committed: in(f.Committed), Paid: in(f.Paid), Funded: in(f.Funded), Unknown: f.Unknown}
	if f.Unknown == "" {
		balance, off := in(f.Balance.Minor), in(f.Off.Minor)
		shown.Balance, shown.Off = &balance, &off
	}
	return shown
}
