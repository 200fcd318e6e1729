package bankfile

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
)

// outcomes are the usual words of a status column, in English, Spanish and
// Portuguese.
var outcomes = map[Outcome]string{
	Paid:     "paid settled completed pagado pagada liquidado liquidada abonado abonada efetuado efetuada",
	Rejected: "rejected refused failed rechazado rechazada rejeitado rejeitada",
	Returned: "returned devuelto devuelta devolvido devolvida",
	Pending:  "pending processing accepted scheduled pendiente pendente agendado agendada",
}

// speiReasons are the reasons of returns in SPEI, by number.
var speiReasons = map[string]isoReason{
	"01": {InvalidAccount, "there is no such account"},
	"02": {"", "the account is blocked"},
	"03": {AccountClosed, "the account is cancelled"},
	"05": {InvalidAccount, "the account is in another currency"},
	"06": {InvalidAccount, "the account does not belong to that bank"},
	"14": {"", "information is missing"},
	"15": {"", "the kind of payment or account is wrong"},
	"16": {"", "the kind of payment or account is wrong"},
	"17": {"", "the kind of payment or account is wrong"},
	"19": {"", "a character is not allowed"},
	"20": {LimitExceeded, "the account would exceed its allowed balance"},
	"21": {LimitExceeded, "the account would exceed its monthly limit"},
	"22": {InvalidAccount, "the telephone number is not known"},
	"30": {"", "the tracking key was used before"},
	"31": {"", "the certificate is wrong"},
}

// Read reads answers in a table. Every row is an answer, and has as many cells as the
// header.
//
// Errors: columns that do not fit, and a *SyntaxError that says where and why the file
// cannot be read.
func (c CSV) Read(file []byte) (answers []Answer, err error) {
	if len(file) > MaxSize {
		return nil, syntaxError(0, "is larger than %d MiB", MaxSize>>20)
	}
	find, err := c.finder()
	if err != nil {
		return nil, err
	}
	words, err := c.statuses()
	if err != nil {
		return nil, err
	}
	const name = "the file"
	table, err := reconcile.OpenTable(name, bytes.NewReader(file), c.Separator, find, "name the columns")
	if err != nil {
		return nil, syntaxError(0, "%s", shortText(strings.TrimPrefix(err.Error(), name+" "), longest))
	}
	for {
		row, line, err := table.Next()
		var bad *reconcile.Unreadable
		switch {
		case errors.Is(err, io.EOF):
			return consistent(answers), nil
		case errors.As(err, &bad):
			return nil, syntaxError(bad.Number, "%s", bad.Why)
		case err != nil:
			return nil, syntaxError(0, "cannot be read: %s", shortText(err.Error(), longest))
		case len(row) != table.Width():
			return nil, syntaxError(line, "there are %d cells, but the header has %d", len(row), table.Width())
		}
		a, err := c.answer(table, row, words)
		if err != nil {
			return nil, syntaxError(line, "%s", err)
		}
		a.Line = line
		answers = append(answers, a)
	}
}

// finder finds the columns in a header.
func (c CSV) finder() (func([]string) (map[string]int, string), error) {
	columns := c.Answers
	if len(columns) == 0 {
		columns = answered
	}
	names := map[string]string{}
	for _, column := range columns {
		if !slices.Contains(AnswerWords(), column.Word) {
			return nil, problem("columns", "have no %q", column.Word)
		}
		names[column.Word] = column.Name
	}
	for _, word := range []string{"reference", "status"} {
		if strings.TrimSuffix(names[word], "?") == "" {
			return nil, problem("columns", "must name the one of the %s", word)
		}
		names[word] = strings.TrimSuffix(names[word], "?")
	}
	return func(row []string) (map[string]int, string) { return reconcile.FindColumns(row, names) }, nil
}

// statuses are the words of the status column.
func (c CSV) statuses() (map[string]Outcome, error) {
	words := map[string]Outcome{}
	for outcome, list := range outcomes {
		for _, word := range strings.Fields(list) {
			words[word] = outcome
		}
	}
	for word, outcome := range c.Outcomes {
		if _, is := outcomes[outcome]; !is {
			return nil, problem("outcomes", "have no %q", outcome)
		}
		words[reconcile.Normal(word)] = outcome
	}
	return words, nil
}

func (c CSV) answer(t *reconcile.Table, row []string, words map[string]Outcome) (a Answer, err error) {
	cell := func(word string) string { return t.Cell(row, word) }
	format := reconcile.Format{Comma: c.Comma, Minor: c.Minor, Dates: c.Dates, Zone: c.Zone}
	currency := c.Currency
	if code := cell("currency"); code != "" {
		if currency, err = money.ParseCurrency(strings.ToUpper(code)); err != nil {
			return a, errors.New("the currency is not valid")
		}
	}
	if text := cell("amount"); text != "" {
		if !currency.Valid() {
			return a, errors.New("the currency of the amount is missing")
		}
		if a.Amount, err = format.ReadAmount(text, currency); err != nil {
			return a, err
		}
		if a.Amount.IsNegative() { // some banks write debits as negative amounts
			a.Amount = a.Amount.Neg()
		}
	}
	if a.At, _, err = format.ReadDate(cell("date")); err != nil {
		return a, err
	}
	a.Reference, a.Destination, a.BankReference = cell("reference"), cell("destination"), shortText(cell("bank_reference"), 100)
	a.Text = cell("message")
	status, code := cell("status"), shortText(cell("code"), 35)
	outcome, known := words[reconcile.Normal(status)]
	if a.Outcome, a.Code = outcome, shortText(strings.TrimSpace(status+" "+code), 100); !known {
		a.Outcome, a.Message, a.Unclear = Pending, "the meaning of this status is not known", shortText(cmp.Or(status, "nothing"), 100)
		return a, nil
	}
	if outcome == Rejected || outcome == Returned {
		a.Reason, a.Message = c.explain(code, currency)
		if code != "" {
			a.Code = code
		}
	}
	return a, nil
}

// explain maps a code of the bank's to ours. SPEI numbers count only in Mexico.
func (c CSV) explain(code string, currency money.Currency) (reason, means string) {
	if reason := c.Reasons[code]; reason != "" {
		return reason, code
	}
	if slices.Contains([]string{InvalidAccount, AccountClosed, ComplianceRejected, LimitExceeded}, code) {
		return code, code
	}
	if r, known := speiReasons[code]; known && currency == "MXN" {
		if r.code == "" {
			r.code = OtherReason
		}
		return r.code, code + ": " + r.means
	}
	return explain(code)
}
