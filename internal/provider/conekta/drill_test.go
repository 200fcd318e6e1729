package conekta

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/drill"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestMain(m *testing.M) {
	drill.Main(m, drill.Charges{
		Adapter: Adapter(), Credentials: credentials(), New: func() providertest.Fake { return newFake() },
		Rails: []string{card, "spei.MEX"}, Sample: func(string) provider.Request {
			r := sample()
			r.Local.Minor *= 10                // what a lost dispute costs stays small beside it
			r.Buyer.Document = "GODE561231GR8" // the rail of transfers asks for it
			return r
		},
		Test: "its orders and events are those of test keys",
	}, nil)
}

// At implements drill.Clock.
func (f *fake) At(now time.Time) {
	f.Lock()
	defer f.Unlock()
	f.now = now
}

// PanelRefund implements drill.Paneler.
func (f *fake) PanelRefund(reference string, local money.Amount) []provider.Notification {
	f.giveBack(reference, 0, local)
	return []provider.Notification{f.Notification(reference)}
}

// End implements drill.Issuer.
func (f *fake) End(reference string, won bool) []provider.Notification {
	word := "lost"
	if won {
		word = "won"
	}
	return []provider.Notification{f.contest(reference, word, word)}
}
