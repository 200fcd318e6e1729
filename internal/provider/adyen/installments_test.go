package adyen

import (
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// A link has paying at once, and the numbers that the terms allow without interest; an event says which was chosen.
func TestALinkHasWhatTheTermsAllow(t *testing.T) {
	for name, c := range map[string]struct {
		rail  string
		terms installment.Terms
		want  []any
	}{
		"none":           {"card.BRA", installment.Terms{}, nil},
		"three":          {"card.BRA", installment.Terms{Max: 12, InterestFree: 3}, []any{1.0, 2.0, 3.0}},
		"Mexico":         {"card.MEX", installment.Terms{Max: 7, InterestFree: 7}, []any{1.0, 3.0, 6.0}},
		"of 500 or more": {"card.BRA", installment.Terms{Max: 12, InterestFree: 12, Min: money.New(500_00, money.BRL)}, []any{1.0, 2.0}},
		"with interest":  {"card.BRA", installment.Terms{Max: 12}, nil},
		"elsewhere":      {"card.USA", installment.Terms{Max: 12, InterestFree: 12}, nil},
	} {
		b := connect(t)
		r := request(c.rail, "01M7ZMONTHS-1")
		r.Installments = c.terms
		if o := b.Charge(ctx(), r); o.Kind != pay.Awaiting || !slices.Equal(b.Charges[0].months, c.want) {
			t.Errorf("%s: the link has %v, want %v", name, b.Charges[0].months, c.want)
		}
	}
	for _, said := range []string{"", "1", "0", "-3", "99", "three"} {
		if plan := (item{More: map[string]any{"installments.value": said}}).plan(); plan != (installment.Plan{}) {
			t.Errorf("%q installments: %+v", said, plan)
		}
	}
}
