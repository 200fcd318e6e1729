package ebanx

import (
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/drill"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestMain(m *testing.M) {
	charges, _ := samples()
	drill.Main(m, drill.Charges{
		Adapter: Adapter(), Credentials: credentials, New: func() providertest.Fake { return newFake() },
		Rails: []string{"card.BRA", "pix.BRA"}, Sample: func(rail string) provider.Request { return charges[rail] },
		Without: map[drill.Step]string{drill.Losses: "a dispute that is lost is not reported"},
	}, &drill.Payouts{
		Adapter: PayoutAdapter(), Credentials: credentials, New: func() payouttest.Fake { return &payoutFake{} }, Sample: samplePayout(),
		Without: map[drill.Step]string{drill.Returns: "no status and no notification of a return is documented"},
	})
}

// PanelRefund implements drill.Paneler.
func (f *fake) PanelRefund(reference string, local money.Amount) []provider.Notification {
	return []provider.Notification{f.RefundNotification(reference, f.Panel(reference, local))}
}

// End implements drill.Issuer: only a credit is reported.
func (f *fake) End(reference string, won bool) []provider.Notification {
	f.Lock()
	defer f.Unlock()
	if !won {
		return nil
	}
	return []provider.Notification{notification("operation=payment_status_change&notification_type=chargeback_credit&hash_codes=" + f.Must(reference).hash)}
}
