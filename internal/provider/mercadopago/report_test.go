package mercadopago

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/reconcile"
)

// The account balance report has more than payments: what left the account is a SETTLEMENT below zero, without a reference.
func TestEachTransactionTypeOfTheReportIsRead(t *testing.T) {
	text := "EXTERNAL_REFERENCE;SOURCE_ID;PAYMENT_METHOD;TRANSACTION_TYPE;TRANSACTION_AMOUNT;TRANSACTION_CURRENCY;TRANSACTION_DATE;FEE_AMOUNT\n"
	var want []string
	for i, c := range []struct{ reference, kind, amount, want string }{
		{"01M7ZTEST-1", "SETTLEMENT", "300.00", "charge 300.00 ARS"}, {"01M7ZTEST-1", "REFUND", "-50.00", "refund 50.00 ARS"},
		{"01M7ZTEST-1", "CHARGEBACK", "-300.00", "chargeback 300.00 ARS"}, {"01M7ZTEST-1", "DISPUTE", "-300.00", "chargeback 300.00 ARS"},
		{"", "SETTLEMENT", "-8250.40", "other SETTLEMENT, outgoing"}, {"01M7ZTEST-1", "SETTLEMENT", "-300.00", "line 7: a charge of -300.00 ARS"},
		{"", "WITHDRAWAL", "-70.00", "other WITHDRAWAL"}, {"", "CASHBACK", "1.50", "other CASHBACK"},
		{"01M7ZTEST-1", "SETTLEMENT_SHIPPING", "10.00", "other SETTLEMENT_SHIPPING"}, {"01M7ZTEST-1", "REFUND_SHIPPING", "-10.00", "other REFUND_SHIPPING"},
		{"01M7ZTEST-1", "CHARGEBACK_SHIPPING", "-10.00", "other CHARGEBACK_SHIPPING"}, {"01M7ZTEST-1", "DISPUTE_SHIPPING", "-10.00", "other DISPUTE_SHIPPING"},
	} {
		text += fmt.Sprintf("%s;%d;visa;%s;%s;ARS;2026-11-21T12:00:00.000-03:00;-1.00\n", c.reference, 5_000_000_001+i, c.kind, c.amount)
		want = append(want, c.want)
	}
	r, err := reconcile.NewReader("november.csv", strings.NewReader(text), report())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		l, err := r.Next()
		bad, unreadable := errors.AsType[*reconcile.Unreadable](err)
		switch {
		case unreadable:
			got = append(got, bad.Error())
			continue
		case errors.Is(err, io.EOF):
			if !slices.Equal(got, want) {
				t.Errorf("read as\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			return
		case err != nil:
			t.Fatal(err)
		case l.Kind == reconcile.Other:
			got = append(got, "other "+l.Word)
		default:
			got = append(got, fmt.Sprint(l.Kind, " ", l.Amount))
		}
	}
}
