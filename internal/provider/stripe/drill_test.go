package stripe

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
		Rails: []string{"card.MEX", "pix.BRA", "spei.MEX"}, Sample: func(rail string) provider.Request { return samples()[rail] },
		Test: "its keys and events are those of test mode",
	}, &drill.Payouts{
		Adapter: PayoutAdapter(), Credentials: payoutCredentials(), New: func() payouttest.Fake { return &payoutFake{} },
		Sample: payoutTo("spei", "MXN", "646180157000000004", 45000),
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
	if c.dispute = "lost"; won {
		c.dispute = "won"
	}
	return []provider.Notification{notification("evt_closed_"+c.id(), "charge.dispute.closed", c.disputed(false))}
}
