package mercadopago

import (
	"fmt"
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
		Rails: []string{"card.BRA", "pix.BRA"}, Sample: func(rail string) provider.Request { return samples()[rail] },
	}, &drill.Payouts{
		Adapter: PayoutAdapter(), Credentials: payoutCredentials("BR"), Sample: samplePayout(),
		New: func() payouttest.Fake { return &intentFake{speech: speeches["the guide"]} },
	})
}

// PanelRefund implements drill.Paneler.
func (f *fake) PanelRefund(reference string, local money.Amount) []provider.Notification {
	f.Lock()
	payments := f.Must(reference).payments
	payments[len(payments)-1].partly(local.Minor)
	f.Unlock()
	return []provider.Notification{f.Notification(reference)}
}

// End implements drill.Issuer.
func (f *fake) End(reference string, won bool) []provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	id := fmt.Sprint("77", c.payments[len(c.payments)-1].id)
	if f.decided == nil {
		f.decided = map[string]map[string]any{}
	}
	f.decided[id] = map[string]any{"coverage_applied": won, "documentation_status": "valid"}
	f.serial++
	return []provider.Notification{notification("chargebacks", id, f.serial, providertest.Noon.UnixMilli())}
}
