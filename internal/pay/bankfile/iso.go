package bankfile

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// messages are the ISO 20022 messages that we read: the element below Document, and the
// versions.
var messages = []struct {
	format      Format
	root        string
	first, last int
}{
	{FormatPain002, "CstmrPmtStsRpt", 3, 10},
	{FormatCamt054, "BkToCstmrDbtCdtNtfctn", 2, 8},
}

// namespaces finds the message and its version, also in national variants.
var namespaces = regexp.MustCompile(`(pain\.002|camt\.054)\.001\.([0-9]{2})(?:[^0-9]|$)`)

// detectISO detects which message a file is.
func detectISO(file []byte) (Format, error) {
	root, err := parseXML(file)
	if err != nil {
		return "", err
	}
	format, _, err := message(root)
	return format, err
}

// message checks the root, and returns the message in it.
func message(root *node) (Format, *node, error) {
	if root.name != "Document" || len(root.children) != 1 {
		return "", nil, syntaxError(root.line, "the root must be a Document with one message")
	}
	body := root.children[0]
	for _, m := range messages {
		if body.name != m.root {
			continue
		}
		found := namespaces.FindStringSubmatch(root.space)
		if found == nil || Format(found[1]) != m.format || body.space != root.space {
			return "", nil, syntaxError(root.line, "the namespace is not for %s", m.format)
		}
		version, err := strconv.Atoi(found[2])
		if err != nil || version < m.first || version > m.last {
			return "", nil, syntaxError(root.line, "%s is read in versions %02d to %02d, not %s", m.format, m.first, m.last, found[2])
		}
		return m.format, body, nil
	}
	return "", nil, syntaxError(body.line, "the message %q is neither pain.002 nor camt.054", shortText(body.name, 40))
}

func (rd Reader) readISO(format Format, file []byte) ([]Answer, error) {
	root, err := parseXML(file)
	if err != nil {
		return nil, err
	}
	is, body, err := message(root)
	switch {
	case err != nil:
		return nil, err
	case is != format:
		return nil, syntaxError(0, "is %s, not %s", is, format)
	}
	read := rd.readPain002
	if format == FormatCamt054 {
		read = readCamt054
	}
	answers, err := read(body)
	if err != nil {
		return nil, err
	}
	return consistent(answers), nil
}

// isoTime reads a date or a time; without a zone it is UTC.
func (n *node) isoTime() (time.Time, error) {
	if n == nil {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02", "2006-01-02Z07:00"} {
		if at, err := time.Parse(layout, n.text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, syntaxError(n.line, "%s is not a date", n.name)
}

// count reads a number of transactions; is reports false for a nil element.
func (n *node) count() (number int, is bool, err error) {
	if n == nil {
		return 0, false, nil
	}
	number, err = strconv.Atoi(n.text)
	if err != nil || number < 0 || len(n.text) > 15 {
		return 0, false, syntaxError(n.line, "%s is not a count", n.name)
	}
	return number, true, nil
}

// reference is our reference in a payment's identifiers, or "".
func reference(candidates ...string) string {
	i := slices.IndexFunc(candidates, func(c string) bool { return c != "" && !strings.EqualFold(c, notProvided) })
	if i < 0 {
		return ""
	}
	return shortText(candidates[i], 35)
}

// isoReason is our code for a reason, and what it means.
type isoReason struct{ code, means string }

// isoReasons are from the external code sets of ISO 20022, for status and return.
var isoReasons = map[string]isoReason{
	"AC01": {InvalidAccount, "the account number is wrong"},
	"AC03": {InvalidAccount, "the payee's account number is wrong"},
	"AC04": {AccountClosed, "the account is closed"},
	"AC06": {"", "the account is blocked"},
	"AC07": {AccountClosed, "the payee's account is closed"},
	"AG01": {"", "the account does not allow this transaction"},
	"AM02": {LimitExceeded, "the amount is above what is allowed"},
	"AM04": {"", "the payer's account has no funds"},
	"AM05": {"", "the bank has seen this payment before"},
	"AM09": {"", "the amount is not what was agreed"},
	"AM10": {"", "the sum of the file differs"},
	"AM14": {LimitExceeded, "the amount is above the limit agreed with the bank"},
	"BE01": {"", "the name does not fit the account"},
	"BE04": {"", "the payee's address is missing or wrong"},
	"BE22": {"", "the payee's name is missing"},
	"CH03": {"", "the date is too far ahead"},
	"CH04": {"", "the date is too far back"},
	"CH20": {"", "the amount has too many decimals"},
	"CNOR": {"", "the payee's bank is not in this scheme"},
	"CUST": {"", "cancelled by the payer"},
	"DT01": {"", "the date is wrong"},
	"DT06": {"", "the bank changed the date"},
	"DU01": {"", "the file's identifier was used before"},
	"DU02": {"", "the block's identifier was used before"},
	"DU03": {"", "the transaction was sent before"},
	"DU04": {"", "the reference was used before"},
	"DU05": {"", "the instruction's identifier was used before"},
	"DUPL": {"", "the payment was sent before"},
	"FF01": {"", "the file's form is wrong"},
	"FOCR": {"", "returned at the payer's request"},
	"FR01": {ComplianceRejected, "refused as fraud"},
	"MD07": {"", "the account's holder has died"},
	"MS02": {"", "refused by the payee without a reason"},
	"MS03": {"", "refused by the bank without a reason"},
	"NARR": {"", "the bank gives the reason as text"},
	"RC01": {"", "the bank's identifier is wrong"},
	"RC04": {"", "the identifier of the payee's bank is wrong"},
	"RC07": {"", "the BIC of the payee's bank is wrong"},
	"RR01": {ComplianceRejected, "the payer's account or identifier is missing, which the law requires"},
	"RR02": {ComplianceRejected, "the payer's name or address is missing, which the law requires"},
	"RR03": {ComplianceRejected, "the payee's name or address is missing, which the law requires"},
	"RR04": {ComplianceRejected, "refused for a legal reason"},
	"TM01": {"", "it came after the bank's cut-off time"},
}

// explain maps a reason to our code, and gives its meaning.
func explain(code string) (reason, means string) {
	r, known := isoReasons[code]
	switch {
	case code == "":
		return OtherReason, "the bank gives no reason"
	case !known:
		return OtherReason, code + ": the meaning of this code is not known"
	case r.code == "":
		return OtherReason, code + ": " + r.means
	}
	return r.code, code + ": " + r.means
}

// why reads the reasons of a status or a return: the first code, and all free text.
func why(infos []*node) (code, text string) {
	var texts []string
	for _, info := range infos {
		if code == "" {
			code = shortText(info.value("Rsn/Cd", "Rsn/Prtry"), 35)
		}
		for _, t := range info.all("AddtlInf") {
			if len(texts) < 5 {
				texts = append(texts, t.text)
			}
		}
	}
	return code, shortText(strings.Join(texts, " "), longest)
}
