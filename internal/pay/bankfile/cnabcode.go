package bankfile

import "strings"

// class is the meaning of an occurrence code for a payment.
type class int

const (
	unknown     class = iota
	paidCode          // done
	accepted          // accepted, not done yet: paying again would pay twice
	refusedCode       // not done
	cameBack          // done, and returned
	remark            // the payment stays valid
)

// occurrence is a code of position 231 to 240.
type occurrence struct {
	class  class
	reason string
	means  string
}

// occurrences are FEBRABAN's (G059, version 10.9). Codes of other products are left out:
// their meaning here is not documented.
var occurrences = map[string]occurrence{
	"00": {paidCode, "", "paid"},
	"03": {paidCode, "", "the branch allowed the debit; paid"},
	"BD": {accepted, "", "accepted, not paid yet"},
	"BE": {accepted, "", "changed"},
	"BR": {accepted, "", "active again"},
	"BS": {accepted, "", "suspended"},
	"BF": {refusedCode, "", "deleted: it will not be paid"},
	"H4": {cameBack, "", "not paid, and returned to the payer"},
	"ZA": {remark, "", "paid to the account that replaced this one"},
	"ZB": {remark, "", "the name differs from the tax office's"},

	"01": {refusedCode, "", "the payer's account has no funds"},
	"02": {refusedCode, "", "cancelled"},
	"HF": {refusedCode, "", "the payer's balance is too low"},
	"BG": {refusedCode, "", "the account is blocked by law"},

	"AG": {refusedCode, "", "the payer's account or its check digit is wrong"},
	"AH": {refusedCode, "", "the sequence number in the batch is wrong"},
	"AI": {refusedCode, "", "the segment's letter is wrong"},
	"AJ": {refusedCode, "", "the kind of movement is wrong"},
	"AK": {refusedCode, "", "the clearing house is wrong"},
	"AL": {refusedCode, InvalidAccount, "the payee's bank is wrong"},
	"AM": {refusedCode, InvalidAccount, "the payee's branch is wrong"},
	"AN": {refusedCode, InvalidAccount, "the payee's account or its check digit is wrong"},
	"AO": {refusedCode, "", "the payee's name is missing"},
	"AP": {refusedCode, "", "the date is wrong"},
	"AQ": {refusedCode, "", "the currency is wrong"},
	"AR": {refusedCode, "", "the amount is wrong"},
	"AS": {refusedCode, "", "the notice to the payee is wrong"},
	"AT": {refusedCode, "", "the payee's document is wrong"},
	"AU": {refusedCode, "", "the payee's address is wrong"},
	"AV": {refusedCode, "", "the payee's address is wrong"},
	"AW": {refusedCode, "", "the payee's address is wrong"},
	"AX": {refusedCode, "", "the payee's address is wrong"},
	"AY": {refusedCode, "", "the payee's address is wrong"},
	"BB": {refusedCode, "", "our reference is wrong"},
	"BC": {refusedCode, "", "the bank's number is wrong"},

	"PA": {refusedCode, "", "the Pix was not done"},
	"PB": {refusedCode, "", "the payee's bank stopped the Pix"},
	"PC": {refusedCode, AccountClosed, "the payee's account is closed"},
	"PD": {refusedCode, InvalidAccount, "the payee's account is of another kind"},
	"PE": {refusedCode, "", "the payee's account does not allow this transaction"},
	"PF": {refusedCode, InvalidAccount, "the document is not the account holder's"},
	"PG": {refusedCode, "", "the payee's document is wrong"},
	"PH": {refusedCode, "", "the payee's bank refused the Pix"},
	"PI": {refusedCode, "", "the ISPB of the payee's bank is wrong"},
	"PJ": {refusedCode, InvalidAccount, "the Pix key is not registered"},
	"PL": {refusedCode, "", "the form of initiation is wrong"},
	"PM": {refusedCode, InvalidAccount, "the Pix key is not valid"},
	"PN": {refusedCode, InvalidAccount, "the Pix key is missing"},

	"AA": {refusedCode, "", "the file was sent before, or its control is wrong"},
	"AB": {refusedCode, "", "the kind of operation is wrong"},
	"AC": {refusedCode, "", "the kind of service is wrong"},
	"AD": {refusedCode, "", "the form of payment is wrong"},
	"AE": {refusedCode, "", "the payer's document is wrong"},
	"AF": {refusedCode, "", "the agreement is wrong"},
	"HA": {refusedCode, "", "the batch was not accepted"},
	"HB": {refusedCode, "", "the payer's document does not fit the contract"},
	"HC": {refusedCode, "", "the agreement does not fit the contract"},
	"HD": {refusedCode, "", "the payer's account does not fit the contract"},
	"HE": {refusedCode, "", "the service does not fit the contract"},
	"HG": {refusedCode, "", "the batch number is wrong"},
	"HH": {refusedCode, "", "the batch number is wrong"},
	"HI": {refusedCode, "", "the file is not valid"},
	"HJ": {refusedCode, "", "a record's type is wrong"},
	"HK": {refusedCode, "", "the direction of the file is wrong"},
	"HL": {refusedCode, "", "the layout version is wrong"},
	"H1": {refusedCode, "", "the file has no trailer"},
	"TA": {refusedCode, "", "the totals of the batch differ"},
}

// own are codes that mean something else, or exist only, at one bank.
var own = map[string]map[string]occurrence{
	bradesco: bradescoCodes,
	itau:     itauCodes,
	sicoob:   {"PD": {accepted, "", "waits for a signature"}},
	santander: {
		"B1": {accepted, "", "waits to be authorised"},
		"ZK": {accepted, "", "its authorisation has begun on the bank's site"},
		"ZA": {cameBack, "", "the transfer was returned"},
		"ZB": {refusedCode, "", "a transfer to the same holder is not allowed"},
		"Z1": {refusedCode, AccountClosed, "the account is closed"},
		"Z3": {refusedCode, AccountClosed, "the account is closed"},
		"Z9": {refusedCode, AccountClosed, "the account is closed"},
		"Z6": {refusedCode, InvalidAccount, "the payee's data are wrong"},
		"Z7": {refusedCode, InvalidAccount, "the payee's data are wrong"},
		"Z8": {refusedCode, InvalidAccount, "the payee's data are wrong"},
	},
}

// meaning is the combined meaning of a record's occurrences.
type meaning struct {
	outcome             Outcome
	reason, code, means string
}

// occurred reads positions 231 to 240: up to five codes. Codes that contradict each other,
// or are not documented, leave the payment pending.
func occurred(bank, field string) meaning {
	var codes, means []string
	reason, found := OtherReason, map[class]bool{}
	for i := 0; i < len(field); i += 2 {
		code := strings.TrimSpace(printable(field[i:min(i+2, len(field))]))
		if code == "" {
			continue
		}
		o, known := own[bank][code]
		if !known && bank != itau { // whose codes share no more than some names with FEBRABAN's
			o, known = occurrences[code]
		}
		if !known {
			o.means = "the meaning of this code is not documented"
		}
		found[o.class] = true
		if reason == OtherReason && o.reason != "" {
			reason = o.reason
		}
		codes, means = append(codes, code), append(means, code+": "+o.means)
	}
	s := meaning{Pending, "", strings.Join(codes, " "), strings.Join(means, "; ")}
	delete(found, remark)
	switch {
	case len(codes) == 0:
		s.means = "the bank reports nothing about this line"
	case found[unknown]:
	case len(found) > 1:
		s.means += "; the codes contradict each other"
	case found[paidCode]:
		s.outcome = Paid
	case found[refusedCode]:
		s.outcome, s.reason = Rejected, reason
	case found[cameBack]:
		s.outcome, s.reason = Returned, OtherReason
	}
	return s
}

// printable replaces each byte that is not printable ASCII by a question mark.
func printable(field string) string {
	b := []byte(field)
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '?'
		}
	}
	return string(b)
}
