package base

import (
	"errors"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
)

// kinds are the prefixes of ids that a merchant may have: what they name, and where to read it.
var kinds = []struct {
	prefix, what, read string
	code               problem.Code // the error code if it does not exist
}{
	{pay.PaymentPrefix, "a payment", "GET /payments/", problem.TransactionNotFound},
	{pay.ClaimPrefix, "a claim", "GET /claims/", problem.ClaimNotFound},
	{pay.SettlementPrefix, "a settlement", "GET /settlements/", problem.SettlementNotFound},
	{pay.WithdrawalPrefix, "a withdrawal", "GET /withdrawals/", problem.WithdrawalNotFound},
	{pay.WalletPrefix, "a wallet", "GET /wallets/", problem.WalletNotFound},
	{webhooks.SubscriptionPrefix, "a webhook", "GET /webhooks/", problem.WebhookNotFound},
	{merchants.VerificationPrefix, "a verification", "GET /kyc/", problem.NotFound},
	{pay.SessionPrefix, "a checkout session", "GET /checkout/sessions/", problem.CheckoutSessionNotFound},
	{webhooks.EventPrefix, "an event", "", ""},
	{webhooks.DeliveryPrefix, "a delivery to a webhook", "", problem.WebhookDeliveryNotFound},
	{"dlv_", "a delivery to a webhook", "", problem.WebhookDeliveryNotFound},
	{merchants.ShopPrefix, "a shop", "", problem.ShopNotFound},
	{merchants.MerchantPrefix, "a merchant", "", problem.MerchantNotFound},
	{"key_", "a key", "", ""},
	{"req_", "the id of a request", "", ""},
}

// Missing is the error for an id that names nothing that the caller may see. It points out an id of
// another kind and common mistakes. It never says whether the id belongs to somebody else.
func Missing(code problem.Code, what string, scope merchants.Scope, id string) *problem.Error {
	message := "there is no such " + what
	for _, k := range kinds {
		if !strings.HasPrefix(id, k.prefix) || len(id) > MaxKeptID || strings.ContainsFunc(id, notOfID) {
			continue
		}
		if k.code == code && (code != problem.NotFound || strings.HasSuffix(k.what, what)) {
			break
		}
		message += ": " + id + " is " + k.what
		switch {
		case code == problem.TransactionNotFound && k.code == problem.ClaimNotFound:
			message += ", whose transactionId names the payment; read it with " + k.read + id
		case k.read != "":
			message += "; read it with " + k.read + id
		default:
			message += ": send the id of a " + what
		}
		return problem.New(code, message)
	}
	where, key, other := "the sandbox", "a test key", "production"
	if scope.Live {
		where, key, other = "production", "a live key", "the sandbox"
	}
	return problem.New(code, message+" in "+where+": check the id, and the key: "+key+" sees nothing of "+other+", nor of other shops")
}

// Named reads what an id names. missing is the error if it names nothing: an id that cannot be stored
// does not either.
func Named[T any](id string, missing error, read func() (T, error)) (T, error) {
	if !Storable(id) {
		var none T
		return none, missing
	}
	found, err := read()
	if errors.Is(err, store.ErrNotFound) {
		err = missing
	}
	return found, err
}

// MaxKeptID is longer than any id of ours.
const MaxKeptID = 64

func notOfID(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_')
}
