package payouts

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
)

// withdrawalRow is a withdrawal with the name of its wallet.
type withdrawalRow struct {
	pay.Withdrawal
	To pay.Wallet
}

// Out is what leaves the balance, the fee included.
func (w withdrawalRow) Out() money.Amount { return usd(w.Amount) }

// Costs is the fee.
func (w withdrawalRow) Costs() money.Amount { return usd(w.Fee) }

// TaxPart is the tax in the fee.
func (w withdrawalRow) TaxPart() money.Amount { return usd(w.Tax) }

// Arrives is what arrives: in the wallet's currency, or for a token its worth in USD.
func (w withdrawalRow) Arrives() money.Amount {
	if w.Local == (money.Amount{}) {
		return usd(w.Net())
	}
	return w.Local
}

// Back reports whether the money is back in the balance: nothing arrived, or it did not stay there.
func (w withdrawalRow) Back() bool {
	return w.Status == pay.WithdrawalRefused || w.Status == pay.WithdrawalCanceled
}

// Token reports whether a token arrives; pages show its worth in USD.
func (w withdrawalRow) Token() bool { return w.Local == (money.Amount{}) }

// Converted reports whether another currency than USD arrives.
func (w withdrawalRow) Converted() bool { return !w.Token() && w.Local.Currency != money.USD }

// Returned is what came back after it had arrived; zero if nothing did.
func (w withdrawalRow) Returned() money.Amount { return usd(w.Withdrawal.Returned) }

// ReturnedLocal is the same in the currency that arrived; without a currency for a token, or where USD arrived.
func (w withdrawalRow) ReturnedLocal() money.Amount {
	if !w.Converted() {
		return money.Amount{}
	}
	return money.New(w.Withdrawal.ReturnedLocal, w.Local.Currency)
}

// About is the key of the text that says what its status means.
func (w withdrawalRow) About() string {
	switch {
	case w.Status == pay.WithdrawalDone && w.Withdrawal.Returned > 0:
		return "withdrawal_part_about"
	case w.Status == pay.WithdrawalRefused && !w.CompletedAt.IsZero():
		return "withdrawal_returned_about"
	}
	return "withdrawal_" + string(w.Status) + "_about"
}

// Uncovered is the part of a withdrawal that arrived and pays out no settlement yet.
func (w withdrawalRow) Uncovered() money.Amount {
	if w.Status != pay.WithdrawalDone {
		return usd(0)
	}
	return usd(w.Amount - w.Withdrawal.Returned - pay.CoveredSum(w.Covers))
}

type withdrawalsView struct {
	Rows    []withdrawalRow
	Pager   frame.Pager
	Wallets []frame.Option
}

// wordOf is what people call a wallet.
func wordOf(w pay.Wallet) string {
	if w.Label != "" {
		return w.Label + " · " + w.Masked
	}
	return w.Masked
}

// Word is what people call the wallet.
func (w withdrawalRow) Word() string { return wordOf(w.To) }

// Word is what people call the wallet.
func (w walletRow) Word() string { return wordOf(w.Wallet) }

// known reads the shop's wallets by their ids, and the removed ones too. A shop has few.
func (p *pages) known(r *http.Request, v *frame.Visit) ([]pay.Wallet, map[string]pay.Wallet, error) {
	list, _, err := p.Uses.Wallets.List(r.Context(), v.Scope, "", lists.Page{Limit: frame.FileRows})
	byID := make(map[string]pay.Wallet, len(list))
	for _, w := range list {
		byID[w.ID] = w
	}
	return list, byID, err
}

func withdrawalFilter(r *http.Request) (f lists.WithdrawalFilter, err error) {
	f.Page, f.Status, f.Wallet = frame.PageOf(r), pay.WithdrawalStatus(r.FormValue("status")), r.FormValue("wallet")
	f.Span, err = frame.Days(r)
	return f, err
}

func (p *pages) withdrawals(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := withdrawalFilter(r)
	if err != nil {
		return err
	}
	list, total, err := p.Uses.Payouts.Withdrawals(r.Context(), v.Scope, f)
	if err != nil {
		return err
	}
	wallets, byID, err := p.known(r, v)
	if err != nil {
		return err
	}
	list, pager := frame.Paged(r, list, total, func(w pay.Withdrawal) string { return w.ID })
	view := withdrawalsView{Pager: pager}
	for _, one := range list {
		view.Rows = append(view.Rows, withdrawalRow{one, byID[one.Wallet]})
	}
	for _, one := range wallets {
		view.Wallets = append(view.Wallets, frame.Option{Value: one.ID, Label: wordOf(one)})
	}
	return p.Show(w, r, v, "withdrawals", view)
}

func (p *pages) withdrawalsFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := withdrawalFilter(r)
	if err != nil {
		return err
	}
	_, byID, err := p.known(r, v)
	if err != nil {
		return err
	}
	f.Page = lists.Page{Limit: frame.FileRows}
	say := p.texts(v)
	file, err := p.NewCSV(w, r, v, "withdrawals", say("withdrawal"), say("created"), say("state"), say("amount")+" (USD)", say("fee")+" (USD)", say("arrives"), say("currency_code"), say("wallet"), say("destination"), say("completed_at"), say("came_back")+" (USD)", say("failed_at"), say("why"), say("fee_tax")+" (USD)", say("tax_name"), say("tax_percent"))
	if err != nil {
		return err
	}
	for {
		list, _, err := p.Uses.Payouts.Withdrawals(r.Context(), v.Scope, f)
		if err != nil {
			return err
		}
		for _, one := range list {
			row := withdrawalRow{one, byID[one.Wallet]}
			err := file.Row(one.ID, one.CreatedAt, say("withdrawal_"+string(one.Status)), row.Out(), row.Costs(), row.Arrives(), string(row.Arrives().Currency), one.Wallet, row.To.Masked, one.CompletedAt, row.Returned(), one.FailedAt, one.FailureCode, row.TaxPart(), one.Taxed.Name, one.Taxed.Percent())
			if err != nil {
				return err
			}
		}
		if len(list) < frame.FileRows {
			return file.End()
		}
		f.After = list[len(list)-1].ID
	}
}

// withdrawForm is what somebody typed to withdraw, and what that would cost.
type withdrawForm struct {
	Wallets   []frame.Option
	Wallet    string
	Amount    string
	Key       string // makes a double click withdraw once
	Available money.Amount
	Fee       money.Amount
	Least     money.Amount // the smallest withdrawal, the fee included
	Quote     *withdrawalRow
	Wrong     map[string]string
	Error     string
	None      bool // there is no wallet that can be paid to
	Waiting   *pay.Wallet
}

// typed reads the form of a withdrawal, with the wallets that can be chosen.
func (p *pages) typed(r *http.Request, v *frame.Visit) (f withdrawForm, byID map[string]pay.Wallet, err error) {
	terms, err := p.Uses.Plans.Terms(r.Context(), v.Scope, v.Merchant)
	if err != nil {
		return f, nil, err
	}
	f = withdrawForm{Wallet: r.FormValue("wallet"), Amount: strings.TrimSpace(r.FormValue("amount")), Key: r.FormValue("key"), Fee: usd(terms.WithdrawalCost()), Least: usd(terms.LeastWithdrawal())}
	list, byID, err := p.known(r, v)
	if err != nil {
		return f, nil, err
	}
	have, err := p.Uses.Settlements.Balances(r.Context(), v.Scope)
	if err != nil {
		return f, nil, err
	}
	f.Available = usd(have[ledger.Available])
	now := p.Uses.TimeOf(v.Scope)
	for _, w := range list {
		switch {
		case w.Usable(now):
			f.Wallets = append(f.Wallets, frame.Option{Value: w.ID, Label: wordOf(w) + " · " + w.Currency})
			if f.Wallet == "" && w.Default {
				f.Wallet = w.ID
			}
		case w.Status == pay.WalletPending && (f.Waiting == nil || w.ActiveAt.Before(f.Waiting.ActiveAt)):
			f.Waiting = &w
		}
	}
	f.None = len(f.Wallets) == 0
	if bad := strings.ContainsFunc(f.Key, notPlain) || len(f.Key) > base.MaxKeptID; bad || f.Key == "" {
		f.Key = p.Uses.NewID("", p.Uses.Now())
	}
	return f, byID, nil
}

// newWithdrawal shows the form, and with an amount in it what would arrive.
func (p *pages) newWithdrawal(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, byID, err := p.typed(r, v)
	if err != nil {
		return err
	}
	if _, asked := r.URL.Query()["amount"]; !asked || f.None {
		return p.Show(w, r, v, "withdraw", f)
	}
	n, ok := p.request(v, &f)
	if ok {
		quote, err := p.Uses.Payouts.Quote(r.Context(), v.Principal, v.Scope, n)
		if err == nil {
			f.Quote = &withdrawalRow{quote, byID[quote.Wallet]}
			return p.Show(w, r, v, "withdraw", f)
		}
		if f.Wrong, f.Error, err = p.wrong(v, err); err != nil {
			return err
		}
	}
	return p.ShowStatus(w, r, v, http.StatusBadRequest, "withdraw", f)
}

// request makes a withdrawal of a form; ok is false if the amount is wrong.
func (p *pages) request(v *frame.Visit, f *withdrawForm) (n payouts.NewWithdrawal, ok bool) {
	amount, typed := frame.Typed(v.Language(), f.Amount, money.USD)
	if !typed {
		f.Wrong = map[string]string{"amount": p.Text(v, "wrong_amount")}
		return n, false
	}
	sum := sha256.Sum256([]byte(f.Wallet + "|" + strconv.FormatInt(amount.Minor, 10)))
	return payouts.NewWithdrawal{
		Wallet: f.Wallet, Amount: amount, RequestID: v.RequestID,
		Idempotency: base.Idempotency{Route: "dashboard POST /withdrawals", Key: f.Key, Hash: hex.EncodeToString(sum[:])},
	}, true
}

func (p *pages) withdraw(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, _, err := p.typed(r, v)
	if err != nil {
		return err
	}
	kept := url.Values{"wallet": {f.Wallet}, "amount": {f.Amount}, "key": {f.Key}}
	if !p.Fresh(w, r, v, v.Home()+"/withdrawals/new?"+kept.Encode()) {
		return nil
	}
	n, ok := p.request(v, &f)
	if ok {
		made, again, err := p.Uses.Payouts.Withdraw(r.Context(), v.Principal, v.Scope, n)
		if err == nil {
			told := "withdrawn"
			if again {
				told = "withdrawn_before"
			}
			return p.Done(w, r, v, "withdrawals/"+made.ID, told)
		}
		if f.Wrong, f.Error, err = p.wrong(v, err); err != nil {
			return err
		}
	}
	return p.ShowStatus(w, r, v, http.StatusBadRequest, "withdraw", f)
}

// step is a line of a withdrawal's life.
type step struct {
	At    time.Time
	Title string // key of a text
	Tone  string
	Text  string // key of a text
	Note  string
	Money money.Amount
	Into  bool
}

type withdrawalView struct {
	withdrawalRow
	Covers  []coveredRow
	Steps   []step
	Pending bool // it can be canceled
	Waits   string
}

func (p *pages) found(r *http.Request, v *frame.Visit) (withdrawalView, error) {
	one, err := p.Uses.Payouts.Withdrawal(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return withdrawalView{}, err
	}
	to, err := p.Uses.Wallets.Get(r.Context(), v.Scope, one.Wallet)
	return withdrawalView{withdrawalRow: withdrawalRow{one, to}, Pending: one.Status == pay.WithdrawalPending, Waits: one.PendingReason()}, err
}

func (p *pages) withdrawal(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := p.found(r, v)
	if err != nil {
		return err
	}
	moved, err := p.Uses.Payouts.Movements(r.Context(), view.Withdrawal)
	if err != nil {
		return err
	}
	if view.Covers, err = p.coveredBy(r, view.Withdrawal); err != nil {
		return err
	}
	view.Steps = life(view.Withdrawal, moved)
	return p.Show(w, r, v, "withdrawal", view)
}

// coveredRow is a settlement that a withdrawal pays out.
type coveredRow struct {
	pay.Settlement
	Part money.Amount
}

// Sum is what the merchant earned.
func (c coveredRow) Sum() money.Amount { return usd(c.Net) }

// coveredBy are the settlements that a withdrawal pays out, each with its part.
func (p *pages) coveredBy(r *http.Request, w pay.Withdrawal) (rows []coveredRow, err error) {
	list, err := p.Uses.Settlements.PaidBy(r.Context(), w)
	for _, s := range list {
		for _, c := range w.Covers {
			if c.Settlement == s.ID {
				rows = append(rows, coveredRow{s, usd(c.Amount)})
			}
		}
	}
	return rows, err
}

// life is what happened to a withdrawal, newest first.
func life(w pay.Withdrawal, moved []pay.Movement) []step {
	list := []step{{At: w.CreatedAt, Title: "step_created", Tone: "neutral", Text: "step_created_about"}}
	if !w.Payout.SentAt.IsZero() {
		list = append(list, step{At: w.Payout.SentAt, Title: "step_sent", Tone: "neutral", Text: "step_sent_about"})
	}
	arrived := !w.CompletedAt.IsZero()
	for _, m := range moved {
		title := "moved_" + string(m.Type)
		if arrived && m.Type == pay.MovedReversal {
			title = "step_returned"
		}
		list = append(list, step{At: m.At, Title: title, Tone: "neutral", Money: usd(max(m.Amount, -m.Amount)), Into: m.Amount > 0})
	}
	if arrived {
		list = append(list, step{At: w.CompletedAt, Title: "step_completed", Tone: "good", Text: "step_completed_about"})
	}
	switch w.Status {
	case pay.WithdrawalRefused:
		list = append(list, step{At: w.FailedAt, Title: "step_failed", Tone: "bad", Text: "step_failed_about", Note: w.FailureMessage})
	case pay.WithdrawalCanceled:
		list = append(list, step{At: w.UpdatedAt, Title: "step_canceled", Tone: "neutral", Text: "step_canceled_about"})
	}
	slices.SortStableFunc(list, func(a, b step) int { return a.At.Compare(b.At) })
	slices.Reverse(list)
	return list
}

// askCancel is the page that asks before a withdrawal is canceled, for a browser without a script.
func (p *pages) askCancel(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := p.found(r, v)
	if err != nil {
		return err
	}
	return p.Show(w, r, v, "cancel", view)
}

func (p *pages) cancel(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	one, err := p.Uses.Payouts.CancelWithdrawal(r.Context(), v.Principal, v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.Done(w, r, v, "withdrawals/"+one.ID, "withdrawal_was_canceled")
}
