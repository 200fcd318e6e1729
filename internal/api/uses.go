package api

import (
	"github.com/cascadapay/cascada/internal/api/auth"
	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/api/claims"
	"github.com/cascadapay/cascada/internal/api/merchants"
	"github.com/cascadapay/cascada/internal/api/methods"
	"github.com/cascadapay/cascada/internal/api/notices"
	"github.com/cascadapay/cascada/internal/api/payments"
	"github.com/cascadapay/cascada/internal/api/payouts"
	"github.com/cascadapay/cascada/internal/api/sandbox"
	"github.com/cascadapay/cascada/internal/api/settlements"
	"github.com/cascadapay/cascada/internal/api/verification"
	"github.com/cascadapay/cascada/internal/api/webhooks"
)

// Uses are the use cases that the rooms' endpoints call.
type Uses struct {
	Call         call.Uses
	Auth         auth.Uses
	Merchants    merchants.Uses
	Methods      methods.Uses
	Payments     payments.Uses
	Webhooks     webhooks.Uses
	Payouts      payouts.Uses
	Verification verification.Uses
	Sandbox      sandbox.Uses
	Claims       claims.Uses
	Settlements  settlements.Uses
	Notices      notices.Uses
}
