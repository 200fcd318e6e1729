// Package bankfiles is for payouts that leave in files. Withdrawals are gathered into
// batches; the operator uploads a file in the bank's layout with the bank's own program,
// and we read the bank's answer (package bankfile; the batches are in internal/app). It
// calls no provider.
package bankfiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/bankfile"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// Adapter is the adapter for bank accounts that pay out by file.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name:        "bank-file",
		Fields:      fields(),
		Rails:       []string{"account.*", "cbu.*", "iban.*", "pix.*", "spei.*", "ted.*"},
		OpenPayouts: open,
		Needs: map[string][]pay.HolderField{
			"account.*": {pay.HolderName}, "cbu.*": {pay.HolderName, pay.HolderDocument}, "iban.*": {pay.HolderName},
			"pix.*": {pay.HolderName, pay.HolderDocument}, "spei.*": {pay.HolderName},
			"ted.*": {pay.HolderName, pay.HolderDocument, pay.BankCode, pay.BranchCode},
		},
	}
}

// fields are the settings of all layouts. A layout checks its own required settings when an
// account is opened.
func fields() []provider.Field {
	var names []string
	for _, l := range bankfile.Layouts() {
		names = append(names, l.Name)
	}
	list := []provider.Field{
		{Name: "layout", Public: true, Doc: "How files for the bank are written: " + strings.Join(names, ", ")},
		{Name: "zone", Public: true, Optional: true, Doc: "The bank's time zone, such as America/Sao_Paulo; UTC by default"},
		{Name: "columns", Public: true, Optional: true, Doc: "Only for csv: the columns to write, WORD=COLUMN,…, from " + strings.Join(bankfile.WrittenWords(), ", ")},
		{Name: "answer_columns", Public: true, Optional: true, Doc: "If the bank answers in a table: its columns, WORD=COLUMN,…, from " + strings.Join(bankfile.AnswerWords(), ", ")},
		{Name: "acsc", Public: true, Optional: true, Doc: "paid, if your bank's guide says that ACSC (debited) is its last word in a pain.002; by default only ACCC and the booking in a camt.054 are"},
	}
	of, common := map[string][]string{}, len(list)
	for _, l := range bankfile.Layouts() {
		for _, f := range l.Fields {
			if of[f.Name] == nil {
				list = append(list, provider.Field{Name: f.Name, Public: true, Optional: true, Doc: f.Doc})
			}
			of[f.Name] = append(of[f.Name], l.Name)
		}
	}
	for i := range list[common:] {
		f := &list[common+i]
		f.Doc = "Of " + strings.Join(of[f.Name], ", ") + ": " + f.Doc
	}
	return list
}

// client writes and reads an account's files. It is a payouts.Filer.
type client struct {
	layout bankfile.Layout
	payer  bankfile.Payer
	zone   *time.Location
	table  bankfile.CSV
	reader bankfile.Reader
}

func open(a provider.Account) (payouts.Provider, error) {
	c := &client{zone: time.UTC}
	wrong := func(field string, err error) (payouts.Provider, error) {
		return nil, &provider.FieldError{Field: field, Reason: err.Error()}
	}
	var err error
	if zone := a.Credentials["zone"]; zone != "" {
		if c.zone, err = time.LoadLocation(zone); err != nil {
			return wrong("zone", fmt.Errorf("%q is not a time zone", zone))
		}
	}
	c.table.Zone = c.zone
	switch word := a.Credentials["acsc"]; word {
	case "":
	case "paid":
		c.reader.ACSC = bankfile.Paid
	default:
		return wrong("acsc", fmt.Errorf("%q is not paid: leave it out if ACSC ends nothing", word))
	}
	for name, into := range map[string]*[]bankfile.Column{"columns": &c.table.Written, "answer_columns": &c.table.Answers} {
		words := bankfile.WrittenWords()
		if name == "answer_columns" {
			words = bankfile.AnswerWords()
		}
		if text := a.Credentials[name]; text != "" {
			if *into, err = bankfile.ParseColumns(text, words); err != nil {
				return wrong(name, err)
			}
		}
	}
	name, known := a.Credentials["layout"], false
	if c.layout, known = bankfile.Find(name); !known {
		return wrong("layout", fmt.Errorf("there is no layout %q", name))
	}
	if name == "csv" {
		c.layout = c.table.Layout()
	}
	for _, f := range fields() {
		if value := a.Credentials[f.Name]; value != "" && !slices.Contains([]string{"layout", "zone", "columns", "answer_columns", "acsc"}, f.Name) {
			if err := c.payer.Set(f.Name, value); err != nil {
				return wrong(f.Name, err)
			}
		}
	}
	if err := c.layout.CheckPayer(c.payer); err != nil {
		field := "layout"
		if problem, ok := errors.AsType[*bankfile.Problem](err); ok {
			field = problem.Field
		}
		return wrong(field, err)
	}
	return c, nil
}

// Send accepts a payout that fits into a file of the account: it then waits for a batch.
func (c *client) Send(_ context.Context, r payouts.Request) pay.PayoutOutcome {
	if r.Local == (money.Amount{}) {
		return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "unsupported", Message: "a bank's file cannot pay tokens"}
	}
	if err := c.Fits(r); err != nil {
		return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "unsupported", Message: "it does not fit into the bank's file: " + err.Error()}
	}
	return pay.PayoutOutcome{Kind: pay.PayoutHeld}
}

// Fits implements payouts.Choosy.
func (c *client) Fits(r payouts.Request) error {
	return c.layout.Check(c.payer, c.line(payouts.FileLine{Request: r, LineReference: "P1", Number: 1}))
}

// Query reports that the bank's answer has not been read yet.
func (*client) Query(context.Context, payouts.Request) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutHeld}
}

// Layout implements payouts.Filer.
func (c *client) Layout() string { return c.layout.Name }

// Write implements payouts.Filer.
func (c *client) Write(id string, number int, at time.Time, lines []payouts.FileLine) ([]byte, error) {
	b := bankfile.Batch{ID: id, Sequence: number, At: at.In(c.zone), From: c.payer}
	var list []bankfile.Line
	for _, l := range lines {
		b.Currency = l.Local.Currency
		list = append(list, c.line(l))
	}
	return c.layout.Write(b, list)
}

func (c *client) line(l payouts.FileLine) bankfile.Line {
	return bankfile.Line{
		Reference: l.LineReference, Number: l.Number, Amount: l.Local, Network: l.Network, Destination: l.Destination,
		Name: l.Name, Document: l.Document, BankCode: l.Bank, Branch: l.Branch,
		AccountType: map[pay.BankAccountType]string{pay.CheckingAccount: "current", pay.SavingsAccount: "savings"}[l.AccountType], Country: alpha2(l.Country),
	}
}

// Answers implements payouts.Filer.
func (c *client) Answers(file []byte) (list []payouts.FileAnswer, err error) {
	var answers []bankfile.Answer
	format, err := bankfile.Detect(file)
	switch {
	case err == nil:
		answers, err = c.reader.Read(format, file)
	default:
		answers, err = c.table.Read(file)
	}
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		kind, known := map[bankfile.Outcome]pay.PayoutKind{
			bankfile.Paid: pay.PayoutPaid, bankfile.Rejected: pay.PayoutRejected, bankfile.Returned: pay.PayoutReturned,
		}[a.Outcome]
		if !known {
			kind = pay.PayoutAccepted
		}
		if kind == pay.PayoutReturned && (a.Reason == "" || a.Reason == bankfile.OtherReason) {
			a.Reason = "returned"
		}
		list = append(list, payouts.FileAnswer{
			LineReference: a.Reference, Whole: a.Whole, Unclear: a.Unclear, Notice: a.Notice, Batch: a.Batch, Line: a.Line, BankReference: a.BankReference,
			Outcome: pay.PayoutOutcome{Kind: kind, Code: a.Reason, Message: cmp.Or(a.Message, a.Code), Local: a.Amount},
		})
	}
	return list, nil
}
