package woovi

import (
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/drill"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestMain(m *testing.M) {
	drill.Main(m, drill.Charges{
		Adapter: Adapter(), Credentials: credentials(), New: func() providertest.Fake { return newFake() },
		Rails: []string{"pix.BRA"}, Sample: func(string) provider.Request { return sample() },
		Without: map[drill.Step]string{drill.Late: "a canceled charge is deleted, and its code cannot be paid"},
	}, &drill.Payouts{
		Adapter: PayoutAdapter(), Credentials: credentials(), New: func() payouttest.Fake { return &payoutFake{} }, Sample: samplePayout(),
	})
}

// PanelRefund implements drill.Paneler.
func (f *fake) PanelRefund(reference string, local money.Amount) []provider.Notification {
	return []provider.Notification{f.RefundNotification(reference, f.Panel(reference, local))}
}

// End implements drill.Issuer.
func (f *fake) End(reference string, won bool) []provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	event, status := "OPENPIX:DISPUTE_ACCEPTED", "ACCEPTED"
	if won {
		event, status = "OPENPIX:DISPUTE_REJECTED", "REJECTED"
	}
	c.dispute = c.opened("CHARGEBACK", status)
	return []provider.Notification{disputeEvent(event, c.bank())}
}
