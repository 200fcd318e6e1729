package payulatam

import (
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/drill"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestMain(m *testing.M) {
	hash, _, err := signatures("", testSecret)
	if err != nil {
		panic(err)
	}
	const cash = "refunds and disputes are of cards, which are not served"
	drill.Main(m, drill.Charges{
		Adapter: Adapter(), Credentials: credentials("secretKey", testSecret), New: func() providertest.Fake { return newFake(hash) },
		Rails: []string{"cash.oxxo.MEX", "spei.MEX"}, Sample: func(rail string) provider.Request { return sample(rail, 199_99) },
		Without: map[drill.Step]string{drill.Refunds: cash, drill.Panel: cash, drill.Disputes: cash},
	}, nil)
}
