package base

import (
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
)

// kinds of ids that a merchant has, by their prefixes: what they name and where that is read.
var kinds = []struct {
	prefix, what, read string
	code               pay.Code // of one that is not there
}{
	{pay.PaymentPrefix, "a payment", "GET /payments/", pay.CodeTransactionNotFound},
	{pay.ClaimPrefix, "a claim", "GET /claims/", pay.CodeClaimNotFound},
	{pay.SettlementPrefix, "a settlement", "GET /settlements/", pay.CodeSettlementNotFound},
	{pay.WithdrawalPrefix, "a withdrawal", "GET /withdrawals/", pay.CodeWithdrawalNotFound},
	{pay.WalletPrefix, "a wallet", "GET /wallets/", pay.CodeWalletNotFound},
	{"wh_", "a webhook", "GET /webhooks/", pay.CodeWebhookNotFound},
	{pay.VerificationPrefix, "a verification", "GET /kyc/", pay.CodeNotFound},
	{pay.SessionPrefix, "a checkout session", "GET /checkout/sessions/", pay.CodeCheckoutSessionNotFound},
	{pay.EventPrefix, "an event", "", ""},
	{pay.DeliveryPrefix, "a delivery to a webhook", "", pay.CodeWebhookDeliveryNotFound},
	{"dlv_", "a delivery to a webhook", "", pay.CodeWebhookDeliveryNotFound},
	{"shp_", "a shop", "", pay.CodeShopNotFound},
	{"mer_", "a merchant", "", pay.CodeMerchantNotFound},
	{"key_", "a key", "", ""},
	{"req_", "the id of a request", "", ""},
}

// Missing is the error of an id that names nothing of the caller's. It tells an id of another kind,
// and what else is commonly wrong; never whether it is somebody else's.
func Missing(code pay.Code, what string, scope pay.Scope, id string) *pay.Error {
	message := "there is no such " + what
	for _, k := range kinds {
		if !strings.HasPrefix(id, k.prefix) || len(id) > MaxKeptID || strings.ContainsFunc(id, notOfID) {
			continue
		}
		if k.code == code && (code != pay.CodeNotFound || strings.HasSuffix(k.what, what)) {
			break
		}
		message += ": " + id + " is " + k.what
		switch {
		case code == pay.CodeTransactionNotFound && k.code == pay.CodeClaimNotFound:
			message += ", whose transactionId names the payment; read it with " + k.read + id
		case k.read != "":
			message += "; read it with " + k.read + id
		default:
			message += ": send the id of a " + what
		}
		return pay.NewError(code, message)
	}
	where, key, other := "the sandbox", "a test key", "production"
	if scope.Live {
		where, key, other = "production", "a live key", "the sandbox"
	}
	return pay.NewError(code, message+" in "+where+": check the id, and the key: "+key+" sees nothing of "+other+", nor of other shops")
}

// MaxKeptID is longer than any id of ours.
const MaxKeptID = 64

func notOfID(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_')
}
