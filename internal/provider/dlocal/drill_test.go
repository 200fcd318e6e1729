package dlocal

import (
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/drill"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestMain(m *testing.M) {
	charges, _, _ := samples()
	drill.Main(m, drill.Charges{
		Adapter: Adapter(), Credentials: credentials, New: func() providertest.Fake { return newFake() },
		Rails: []string{"card.BRA", "pix.BRA"}, Sample: func(rail string) provider.Request { return charges[rail] },
	}, &drill.Payouts{
		Adapter: PayoutAdapter(), Credentials: payoutCredentials, New: func() payouttest.Fake { return &payoutFake{} }, Sample: samplePayouts()["pix.BRL"],
		Without: map[drill.Step]string{drill.Returns: "no status and no page tells of a return", drill.Pays: "a payout waits to be paid"},
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
	told := f.Must(reference).chargeback()
	if told["status"] = "DISPUTE_LOST"; won {
		told["status"] = "REVERSAL"
	}
	return []provider.Notification{notification(told, now())}
}
