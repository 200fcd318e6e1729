package bankfile

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// readCamt054 reads a notification of bookings. Credits that return nothing are incoming
// money, and no answer.
func readCamt054(body *node) (answers []Answer, err error) {
	paged := body.one("GrpHdr/MsgPgntn") != nil
	for _, n := range body.all("Ntfctn") {
		entries := n.all("Ntry")
		sums := debits{}
		for _, entry := range entries {
			e, err := readEntry(entry)
			if err != nil {
				return nil, err
			}
			if err := sums.add(e); err != nil {
				return nil, err
			}
			more, err := e.answers()
			if err != nil {
				return nil, err
			}
			answers = append(answers, more...)
		}
		if paged || n.one("NtfctnPgntn") != nil {
			continue // the totals are of all pages
		}
		if err := sums.check(n, len(entries)); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// entry is a booking.
type entry struct {
	*node
	amount   money.Amount
	debit    bool
	reversal bool
	status   string
	at       time.Time
	details  []*node
	told     int // how many transactions the bank says there are; zero if it says nothing
}

func readEntry(n *node) (e entry, err error) {
	e = entry{node: n, details: n.all("NtryDtls/TxDtls"), status: shortText(n.value("Sts/Cd", "Sts"), 35)}
	if err := n.unique("Amt", "CdtDbtInd", "RvslInd", "Sts"); err != nil {
		return e, err
	}
	if n.one("Amt") == nil {
		return e, syntaxError(n.line, "Amt is missing")
	}
	if e.amount, err = n.one("Amt").amount(); err != nil {
		return e, err
	}
	if e.debit, err = direction(n.one("CdtDbtInd"), n); err != nil {
		return e, err
	}
	switch n.value("RvslInd") {
	case "", "false", "0":
	case "true", "1":
		e.reversal = true
	default:
		return e, syntaxError(n.line, "RvslInd is neither true nor false")
	}
	for _, path := range []string{"BookgDt/DtTm", "BookgDt/Dt", "ValDt/DtTm", "ValDt/Dt"} {
		if at := n.one(path); at != nil && e.at.IsZero() {
			if e.at, err = at.isoTime(); err != nil {
				return e, err
			}
		}
	}
	if len(n.all("NtryDtls")) == 1 {
		e.told, _, err = n.one("NtryDtls/Btch/NbOfTxs").count()
	}
	return e, err
}

// doubt says why the transactions of an entry may not be all, or too many; "" if the sum of their amounts
// proves them, whatever their count is. It is for the operator: what is there is read.
func (e entry) doubt(sum int64, known bool) string {
	switch n := len(e.details); {
	case n == 0:
	case known && sum != e.amount.Minor:
		return fmt.Sprintf("the entry's amount is %s, and its transactions sum to %s", e.amount, money.New(sum, e.amount.Currency))
	case !known && e.told > 0 && e.told != n:
		return fmt.Sprintf("NbOfTxs is %d, and %d transactions follow", e.told, n)
	}
	return ""
}

func direction(n, parent *node) (debit bool, err error) {
	switch {
	case n == nil:
		return false, syntaxError(parent.line, "CdtDbtInd is missing")
	case n.text == "DBIT":
		return true, nil
	case n.text == "CRDT":
		return false, nil
	}
	return false, syntaxError(n.line, "CdtDbtInd is neither DBIT nor CRDT")
}

// answers are what an entry reports about payments.
func (e entry) answers() (answers []Answer, err error) {
	if batch := shortText(e.value("NtryDtls/Btch/MsgId"), 35); len(e.details) == 0 && batch != "" && e.debit {
		return []Answer{{
			Whole: true, Batch: batch, Outcome: Pending, Amount: e.amount, At: e.at, Code: e.status, Line: e.line,
			BankReference: shortText(e.value("AcctSvcrRef"), 35), Message: "the bank booked the batch as one sum and names no lines",
		}}, nil
	}
	sum, known := int64(0), true
	for _, d := range e.details {
		amount, err := e.paid(d)
		if err != nil {
			return nil, err
		}
		if known = known && amount.Currency == e.amount.Currency; known {
			if sum, err = add(sum, amount.Minor); err != nil {
				return nil, syntaxError(d.line, "%v", err)
			}
		}
		a, is, err := e.answer(d)
		if err != nil {
			return nil, err
		}
		if a.Amount = amount; is {
			answers = append(answers, a)
		}
	}
	doubt := e.doubt(sum, known)
	if doubt != "" && (known || len(e.details) > e.told) { // charges or a mistake; or somebody added a transaction
		for i := range answers {
			answers[i].Outcome, answers[i].Reason, answers[i].Message = Pending, "", doubt
		}
	}
	if doubt != "" && (len(answers) > 0 || len(e.details) < e.told) { // what is missing may be ours
		answers = append(answers, notice(e.line, "%s: compare it with the bank's statement", doubt))
	}
	return answers, nil
}

// paid is the amount of a transaction, or zero if it has none.
func (e entry) paid(d *node) (money.Amount, error) {
	n := d.one("Amt")
	if n == nil {
		n = d.one("AmtDtls/TxAmt/Amt")
	}
	if n == nil && len(e.details) == 1 {
		n = e.one("Amt")
	}
	return n.amount()
}

// answer is what a transaction reports, if it is about a payment of ours.
func (e entry) answer(d *node) (a Answer, is bool, err error) {
	if err := d.unique("Refs", "Amt", "CdtDbtInd", "RtrInf"); err != nil {
		return a, false, err
	}
	debit := e.debit
	if n := d.one("CdtDbtInd"); n != nil {
		if debit, err = direction(n, d); err != nil {
			return a, false, err
		}
	}
	returns := d.all("RtrInf")
	code, text := why(returns)
	a = Answer{
		Reference: reference(d.value("Refs/EndToEndId"), d.value("Refs/InstrId")), Batch: shortText(d.value("Refs/MsgId"), 35),
		Outcome: Pending, At: e.at, Code: e.status, Text: text, Line: d.line,
		BankReference: shortText(firstOf(d.value("Refs/AcctSvcrRef"), e.value("AcctSvcrRef"), d.value("Refs/TxId")), 35),
	}
	family := firstOf(d.value("BkTxCd/Domn/Fmly/SubFmlyCd"), e.value("BkTxCd/Domn/Fmly/SubFmlyCd"))
	back := !debit && (len(returns) > 0 || e.reversal)
	switch {
	case !debit && !back && family != "RRTN":
		return a, false, nil
	case a.Reference == "":
		a.Message = "the entry names no reference of ours"
	case e.status != "BOOK":
		a.Message = "not booked yet"
	case debit != e.debit:
		a.Message = "the entry and its transaction go in different directions"
	case debit && (len(returns) > 0 || e.reversal):
		a.Message = "a debit that takes money back: look at the account"
	case debit:
		a.Outcome, a.Message = Paid, "booked"
	case back:
		a.Outcome = Returned
		a.Reason, a.Message = explain(code)
		if code != "" {
			a.Code = code
		}
	default:
		a.Message = "a credit that looks like a return but is not marked as one"
	}
	return a, true, nil
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// debits sums the debits of a notification, to compare with its totals.
type debits struct {
	count    int
	sum      int64
	currency money.Currency
	mixed    bool
}

func (d *debits) add(e entry) (err error) {
	if !e.debit {
		return nil
	}
	d.mixed = d.mixed || d.count > 0 && d.currency != e.amount.Currency
	d.count, d.currency = d.count+1, e.amount.Currency
	if d.mixed {
		return nil
	}
	if d.sum, err = add(d.sum, e.amount.Minor); err != nil {
		return syntaxError(e.line, "%v", err)
	}
	return nil
}

// check compares with the totals in the notification.
func (d *debits) check(n *node, entries int) error {
	for _, c := range []struct {
		name string
		have int
	}{{"TtlNtries", entries}, {"TtlDbtNtries", d.count}} {
		at := n.one("TxsSummry/" + c.name + "/NbOfNtries")
		if told, is, err := at.count(); err != nil {
			return err
		} else if is && told != c.have {
			return syntaxError(at.line, "NbOfNtries of %s is %d, and there are %d", c.name, told, c.have)
		}
	}
	at := n.one("TxsSummry/TtlDbtNtries/Sum")
	if at == nil || d.count == 0 || d.mixed {
		return nil
	}
	told, err := at.in(d.currency)
	if err == nil && told.Minor != d.sum {
		err = syntaxError(at.line, "Sum of TtlDbtNtries is %s, but the debits sum to %s", told, money.New(d.sum, d.currency))
	}
	return err
}
