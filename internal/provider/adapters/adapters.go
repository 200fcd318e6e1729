// Package adapters lists the providers at which the operator may open accounts. It imports
// their packages but knows nothing of their contents.
package adapters

import (
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/adyen"
	"github.com/cascadapay/cascada/internal/provider/bankfiles"
	"github.com/cascadapay/cascada/internal/provider/conekta"
	"github.com/cascadapay/cascada/internal/provider/dlocal"
	"github.com/cascadapay/cascada/internal/provider/ebanx"
	"github.com/cascadapay/cascada/internal/provider/manual"
	"github.com/cascadapay/cascada/internal/provider/mercadopago"
	"github.com/cascadapay/cascada/internal/provider/payulatam"
	"github.com/cascadapay/cascada/internal/provider/stripe"
	"github.com/cascadapay/cascada/internal/provider/woovi"
)

// All lists the adapters by name.
func All() []provider.Adapter {
	return []provider.Adapter{
		adyen.Adapter(),
		bankfiles.Adapter(),
		conekta.Adapter(),
		dlocal.Adapter(),
		dlocal.PayoutAdapter(),
		ebanx.Adapter(),
		ebanx.PayoutAdapter(),
		manual.Adapter(),
		mercadopago.Adapter(),
		mercadopago.PayoutAdapter(),
		payulatam.Adapter(),
		stripe.Adapter(),
		stripe.PayoutAdapter(),
		woovi.Adapter(),
		woovi.PayoutAdapter(),
	}
}
