package sandbox

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// noBank is a bank's number that no bank has, so that nobody can pay a test's boleto.
const noBank = "999"

// boleto is what a shopper types, 47 digits in five fields, and what a till scans, 44 digits: both have the bank, the due
// date, the amount and the bank's own number of it, with check digits (FEBRABAN).
func boleto(r provider.Request, number uint64) pay.PaymentData {
	own := fmt.Sprintf("%025d", number)
	rest := dueFactor(r.Expires) + fmt.Sprintf("%010d", r.Local.Minor%1e10)
	check := modulo11(noBank + "9" + rest + own)
	first, second, third := noBank+"9"+own[:5], own[5:15], own[15:]
	return pay.PaymentData{
		Reference: first + modulo10(first) + second + modulo10(second) + third + modulo10(third) + check + rest,
		Barcode:   noBank + "9" + check + rest + own,
	}
}

// dueFactor is a due date as boletos have it: the days since 7 October 1997, in four digits. After 9999, which was 21
// February 2025, it began again at 1000. Brazil's clocks are three hours behind UTC all year.
func dueFactor(due time.Time) string {
	base := time.Date(1997, time.October, 7, 0, 0, 0, 0, time.UTC)
	days := int(due.Add(-3*time.Hour).Sub(base) / (24 * time.Hour))
	return fmt.Sprint((max(days, 1000)-1000)%9000 + 1000)
}

// modulo10 is the check digit of a field that people type.
func modulo10(digits string) string {
	sum, weight := 0, 2
	for i := len(digits) - 1; i >= 0; i-- {
		product := int(digits[i]-'0') * weight
		sum, weight = sum+product/10+product%10, 3-weight
	}
	return fmt.Sprint((10 - sum%10) % 10)
}

// modulo11 is the check digit of the whole barcode. It is never 0.
func modulo11(digits string) string {
	sum, weight := 0, 2
	for i := len(digits) - 1; i >= 0; i-- {
		sum += int(digits[i]-'0') * weight
		if weight++; weight > 9 {
			weight = 2
		}
	}
	if check := 11 - sum%11; check < 10 {
		return fmt.Sprint(check)
	}
	return "1"
}
