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

// kinds are the prefixes of ids that a merchant may have, with the reason for each in an error: names, if its text says where the
// object is read, otherwise other, whose text says what to send in its place.
var kinds = []struct {
	prefix string
	names  problem.Of1
	other  problem.Of2
	code   problem.Code // the error code if it does not exist
}{
	{pay.PaymentPrefix, isPayment, problem.Of2{}, problem.TransactionNotFound},
	{pay.ClaimPrefix, isClaim, problem.Of2{}, problem.ClaimNotFound},
	{pay.SettlementPrefix, isSettlement, problem.Of2{}, problem.SettlementNotFound},
	{pay.WithdrawalPrefix, isWithdrawal, problem.Of2{}, problem.WithdrawalNotFound},
	{pay.WalletPrefix, isWallet, problem.Of2{}, problem.WalletNotFound},
	{webhooks.SubscriptionPrefix, isWebhook, problem.Of2{}, problem.WebhookNotFound},
	{merchants.VerificationPrefix, isVerification, problem.Of2{}, problem.NotFound},
	{pay.SessionPrefix, isSession, problem.Of2{}, problem.CheckoutSessionNotFound},
	{webhooks.EventPrefix, problem.Of1{}, isEvent, ""},
	{webhooks.DeliveryPrefix, problem.Of1{}, isDelivery, problem.WebhookDeliveryNotFound},
	{"dlv_", problem.Of1{}, isDelivery, problem.WebhookDeliveryNotFound},
	{merchants.ShopPrefix, problem.Of1{}, isShop, problem.ShopNotFound},
	{merchants.MerchantPrefix, problem.Of1{}, isMerchant, problem.MerchantNotFound},
	{"key_", problem.Of1{}, isKey, ""},
	{"req_", problem.Of1{}, isRequest, ""},
}

// missing has the kind of object that was not found, by the code of the error.
var missing = map[problem.Code]struct {
	none problem.Of1
	word string
}{
	problem.TransactionNotFound: {noTransaction, "transaction"},
	problem.ClaimNotFound:       {noClaim, "claim"},
	problem.SettlementNotFound:  {noSettlement, "settlement"},
	problem.WithdrawalNotFound:  {noWithdrawal, "withdrawal"},
	problem.WalletNotFound:      {noWallet, "wallet"},
	problem.WebhookNotFound:     {noWebhook, "webhook"},
	problem.NotFound:            {noVerification, "verification"},
}

// Missing is the error for an id that names nothing that the caller may see. It points out an id of
// another kind and common mistakes. It never says whether the id belongs to somebody else.
func Missing(code problem.Code, scope merchants.Scope, id string) *problem.Error {
	sought := missing[code]
	for _, k := range kinds {
		if !strings.HasPrefix(id, k.prefix) || len(id) > MaxKeptID || strings.ContainsFunc(id, notOfID) {
			continue
		}
		if k.code == code {
			break
		}
		hint := k.other.With(id, sought.word)
		switch {
		case code == problem.TransactionNotFound && k.code == problem.ClaimNotFound:
			hint = isClaimOfPayment.With(id)
		case k.names != problem.Of1{}:
			hint = k.names.With(id)
		}
		return problem.New(code, sought.none.With(hint))
	}
	if scope.Live {
		return problem.New(code, sought.none.With(lookInProduction))
	}
	return problem.New(code, sought.none.With(lookInSandbox))
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
