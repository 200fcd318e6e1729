package bankfile

import "strings"

// Bradesco's rules for CNAB 240 are those of its Multipag manuals, and of its validator (the
// rules of 20 August 2026, as ERP-Bem-Comum/cnab-validator d0cfad8 has them). One wrong
// record may refuse the whole file, so what can be proved wrong does not get into one.

// checkBradesco checks what Bradesco needs of the operator's account, beside what other banks
// need.
func checkBradesco(p Payer) error {
	name := upper(p.BankName, 30)
	switch {
	case len(p.Agreement) != 6 || !digits(p.Agreement) || p.Agreement == "000000":
		return problem("agreement", "must be 6 digits for Bradesco")
	case name != "" && !strings.HasPrefix(name, "BRADESCO") && !strings.HasPrefix(name, "BANCO BRADESCO"):
		return problem("bank_name", "must begin with Bradesco or Banco Bradesco")
	case len(p.Account) > 7:
		return problem("account", "must be at most 7 digits for Bradesco")
	}
	return bradescoDigits(p.Branch, p.BranchDigit, "branch_digit", p.Account, p.AccountDigit, "account_digit")
}

// bradescoAccount checks a payee's account at Bradesco.
func bradescoAccount(a account240) error {
	return bradescoDigits(a.branch, a.branchDigit, "branch", a.number, a.digit, "destination")
}

// bradescoDigits checks the check digits of a branch, which is optional, and of an account. The
// fields are those that the problem names.
func bradescoDigits(branch, branchDigit, branchField, account, accountDigit, accountField string) error {
	if branchDigit != "" && !bradescoDigit(branch, branchDigit, 5, 4, 3, 2) {
		return problem(branchField, "has a wrong check digit")
	}
	if !bradescoDigit(account, accountDigit, 2, 7, 6, 5, 4, 3, 2) {
		return problem(accountField, "has a wrong check digit")
	}
	return nil
}

// bradescoDigit reports whether a check digit is right: modulo 11 over the last digits. A remainder of 1
// is written as 0 or P.
func bradescoDigit(number, digit string, weights ...int) bool {
	number = strings.Repeat("0", max(0, len(weights)-len(number))) + number
	number = number[len(number)-len(weights):]
	sum := 0
	for i, weight := range weights {
		sum += int(number[i]-'0') * weight
	}
	switch rest := sum % 11; rest {
	case 0:
		return digit == "0"
	case 1:
		return digit == "0" || strings.EqualFold(digit, "p")
	default:
		return digit == string(rune('0'+11-rest))
	}
}

// bradescoHeader writes what Bradesco wants in the file's header.
func bradescoHeader(r *record, p Payer, pix bool) {
	if p.BankName == "" {
		r.text(103, 132, "BANCO BRADESCO")
	}
	if pix {
		r.text(172, 174, "PIX")
	}
}

// bradescoCodes are the occurrences that Bradesco's table has and FEBRABAN's has not, or that belong
// to records that we do not write. A list of debits (5…) needs a segment 5; a payment order
// (5I, 5J) is paid at a counter. Neither can be about a line of ours that was paid.
var bradescoCodes = map[string]occurrence{
	"5A": {accepted, "", "waits in a list of debits"},
	"5B": {refusedCode, "", "lists of debits are not authorised"},
	"5C": {refusedCode, "", "the list of debits has more than one form of payment"},
	"5D": {refusedCode, "", "the list of debits has more than one date"},
	"5E": {refusedCode, "", "the number of the list of debits was used before"},
	"5F": {refusedCode, "", "the list of debits expired before it was authorised"},
	"5M": {refusedCode, "", "the number of the list of debits is wrong"},
	"5I": {accepted, "", "a payment order was issued: find out whether it was paid"},
	"5J": {accepted, "", "a payment order expired: find out whether the money came back"},
	"5T": {accepted, "", "the contract is in test: nothing was paid"},
	"AZ": {refusedCode, "", "the bank in the barcode is wrong"},
	"BA": {refusedCode, "", "the branch in the barcode is missing"},
	"PK": {refusedCode, "", "the QR code is wrong or has expired"},
}
