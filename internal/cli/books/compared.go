package books

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/comparison"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
)

// listed is how many comparisons reconcile --list prints.
const listed = 100

// findingJSON is the shape of a difference in reconcile --json.
type findingJSON struct {
	Finding     reconcile.Discrepancy `json:"finding"`
	File        string                `json:"file,omitempty"`
	Line        int                   `json:"line,omitempty"`
	Merchant    string                `json:"merchantId,omitempty"`
	Payment     string                `json:"transactionId,omitempty"`
	Claim       string                `json:"claimId,omitempty"`
	Withdrawal  string                `json:"withdrawalId,omitempty"`
	Reference   string                `json:"reference,omitempty"`
	ProviderRef string                `json:"providerReference,omitempty"`
	Here        *amountJSON           `json:"here"`  // in our books; null: nothing
	There       *amountJSON           `json:"there"` // at the provider
	USD         string                `json:"amountUsd"`
	Note        string                `json:"note,omitempty"`
}

type amountJSON struct {
	Amount   string         `json:"amount"` // exact, in major units
	Currency money.Currency `json:"currency"`
}

func newAmountJSON(a money.Amount) *amountJSON {
	if a.Currency == "" {
		return nil
	}
	return &amountJSON{a.Decimal(), a.Currency}
}

func newFindingJSON(f reconcile.Finding) findingJSON {
	return findingJSON{f.Discrepancy, f.File, f.Line, f.Merchant, f.Payment, f.Claim, f.Withdrawal, f.Reference, f.ProviderRef, newAmountJSON(f.Here), newAmountJSON(f.There),
		money.New(f.USD, money.USD).Decimal(), f.Note}
}

// reconciliationJSON is the shape of a comparison: the last line of reconcile --json, and each line
// of --list --json.
type reconciliationJSON struct {
	ID          string                `json:"reconciliation,omitempty"` // absent: nothing was kept
	Account     string                `json:"account"`
	Environment merchants.Environment `json:"environment"`
	From        string                `json:"from"`
	To          string                `json:"to"`
	At          string                `json:"at"`
	By          string                `json:"by"`
	Reports     []string              `json:"reports"`
	Lines       int                   `json:"lines"`
	PaysOut     bool                  `json:"paysOut,omitempty"` // charges are payouts, and refunds are returns
	Charges     int                   `json:"charges"`
	Charged     []amountJSON          `json:"charged"`
	Refunds     int                   `json:"refunds"`
	Refunded    []amountJSON          `json:"refunded"`
	Differences int                   `json:"differences"`
	Findings    map[string]int        `json:"findings"`
	*comparedJSON
}

// comparedJSON has the totals that are not stored.
type comparedJSON struct {
	Chargebacks  int            `json:"chargebacks"`
	Others       map[string]int `json:"others"`
	Foreign      int            `json:"foreign"`
	Fees         []amountJSON   `json:"fees"`
	FeesUnread   int            `json:"feesUnread"`
	FeesTold     []amountJSON   `json:"feesTold"`
	FeesExpected []amountJSON   `json:"feesExpected"`
}

func newSums(s reconcile.Sums) []amountJSON {
	list := []amountJSON{}
	for _, c := range slices.Sorted(maps.Keys(s)) {
		list = append(list, *newAmountJSON(money.New(s[c], c)))
	}
	return list
}

func newReconciliationJSON(r comparison.Result) reconciliationJSON {
	return reconciliationJSON{
		ID: r.ID, Account: r.Account, Environment: merchants.EnvironmentOf(r.Live), From: r.From.Format(time.RFC3339Nano), To: r.To.Format(time.RFC3339Nano),
		At: r.At.Format(cli.TimeForm), By: r.By, Reports: r.Reports, Lines: r.Lines, PaysOut: r.PaysOut, Charges: r.Charges, Charged: newSums(r.Charged),
		Refunds: r.Refunds, Refunded: newSums(r.Refunded), Differences: r.Count, Findings: r.Findings,
	}
}

func newComparedJSON(done reconciliation.Compared) reconciliationJSON {
	told, t := newReconciliationJSON(done.Result), done.Totals
	others := t.Others
	if others == nil {
		others = map[string]int{}
	}
	told.comparedJSON = &comparedJSON{
		Chargebacks: t.Chargebacks, Others: others, Foreign: t.Foreign, Fees: newSums(t.Fees), FeesUnread: t.Unpriced,
		FeesTold: newSums(t.Told), FeesExpected: newSums(t.Expected),
	}
	return told
}

// amounts writes sums for people.
func amounts(s reconcile.Sums) string {
	var words []string
	for _, c := range slices.Sorted(maps.Keys(s)) {
		words = append(words, money.New(s[c], c).String())
	}
	return strings.Join(words, " + ")
}

func counted(n int, what string, s reconcile.Sums) string {
	text := fmt.Sprintf("%d %s", n, what)
	if n > 0 {
		text += ", " + amounts(s)
	}
	return text
}

// printCompared prints the result of a comparison.
func printCompared(out io.Writer, done reconciliation.Compared) error {
	t := done.Totals
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, form string, values ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(form, values...))
	}
	line("account", "%s, %s", done.Account, merchants.EnvironmentOf(done.Live))
	line("period", "%s to %s UTC", done.From.Format(time.DateTime), done.To.Format(time.DateTime))
	line("lines", "%d", t.Lines)
	charges, refunds, story := "charges", "refunds", "TXN-… tells what happened to a payment"
	if done.PaysOut {
		charges, refunds, story = "payouts", "returns", "wdr_… tells what happened to a withdrawal"
	}
	line("agree", "%s; %s", counted(t.Charges, charges, t.Charged), counted(t.Refunds, refunds, t.Refunded))
	if t.Chargebacks > 0 {
		line("chargebacks", "%d", t.Chargebacks)
	}
	var others []string
	for _, word := range slices.Sorted(maps.Keys(t.Others)) {
		others = append(others, fmt.Sprintf("%s %d", word, t.Others[word]))
	}
	if len(others) > 0 {
		line("other lines", "%s", strings.Join(others, ", "))
	}
	if t.Foreign > 0 {
		line("not ours", "%d", t.Foreign)
	}
	if len(t.Fees) > 0 {
		line("fees", "%s", amounts(t.Fees))
	}
	for _, c := range slices.Sorted(maps.Keys(t.Told)) {
		told, expected := money.New(t.Told[c], c), money.New(t.Expected[c], c)
		line("", "where the price is known %s, by the account's terms %s, difference %s", told, expected, told.Sub(expected))
	}
	if t.Unpriced > 0 {
		line("", "left out: the fees of %d lines, which have fractions of the smallest unit", t.Unpriced)
	}
	for _, kind := range reconcile.Discrepancies() {
		if n := t.Found[kind]; n > 0 {
			line(string(kind), "%d %s", n, kind.Meaning())
		}
	}
	switch {
	case t.Clean():
		line("result", "the report and the books agree")
	default:
		line("result", "%d differences; cascada story %s", t.Differences(), story)
	}
	if done.ID != "" {
		line("kept as", "%s", done.ID)
	}
	return table.Flush()
}

// list prints the results of the last comparisons.
func (re *Reconcile) list(ctx context.Context, a *app.App) error {
	list, err := a.Reconciliation.Reconciliations(ctx, re.Provider, listed)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	if !re.JSON {
		fmt.Fprintln(table, "RECONCILIATION\tAT\tACCOUNT\tFROM\tTO\tLINES\tAGREE\tDIFFERENCES\tBY")
	}
	for _, r := range list {
		if re.JSON {
			if err := json.NewEncoder(cli.Stdout).Encode(newReconciliationJSON(r)); err != nil {
				return err
			}
			continue
		}
		var found []string
		for _, kind := range slices.Sorted(maps.Keys(r.Findings)) {
			found = append(found, fmt.Sprintf("%s %d", kind, r.Findings[kind]))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", r.ID, cli.Moment(r.At), r.Account, cli.Moment(r.From), cli.Moment(r.To), r.Lines,
			r.Charges+r.Refunds, strings.Join(append([]string{fmt.Sprint(r.Count)}, found...), " "), r.By)
	}
	return table.Flush()
}
