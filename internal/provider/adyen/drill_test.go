package adyen

import (
	"fmt"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/drill"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestMain(m *testing.M) {
	drill.Main(m, drill.Charges{
		Adapter: Adapter(), Credentials: credentials(), New: func() providertest.Fake { return newFake() },
		Rails: []string{"card.BRA", "pix.BRA"}, Sample: func(rail string) provider.Request { return samples()[rail] },
	}, nil)
}

// PanelRefund implements drill.Paneler: in the Customer Area the payment's reference is proposed, and left as it is.
func (f *fake) PanelRefund(reference string, local money.Amount) []provider.Notification {
	n := f.Panel(reference, local)
	f.Lock()
	f.Must(reference).Refunds[n].Reference = reference
	f.Unlock()
	return []provider.Notification{f.RefundNotification(reference, n)}
}

// End implements drill.Issuer, with the setting that adds the original reference.
func (f *fake) End(reference string, won bool) []provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	event, status := "DISPUTE_DEFENSE_PERIOD_ENDED", "Lost"
	if won {
		event, status = "CHARGEBACK_REVERSED", "Won"
	}
	return []provider.Notification{notification(object{
		"eventCode": event, "success": "true", "pspReference": "9" + c.psp(), "originalReference": c.psp(), "merchantReference": c.Reference,
		"amount": wire(c.Local), "paymentMethod": "visa", "reason": "Merchandise not received", "eventDate": fmt.Sprintf("2026-12-1%dT13:00:00+01:00", c.number%10),
		"additionalData": object{"chargebackReasonCode": "13.1", "disputeStatus": status},
	})}
}
