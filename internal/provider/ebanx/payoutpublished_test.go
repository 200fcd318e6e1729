package ebanx

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

var documentedPayout = published.Object(published.Fields{
	"uid": published.String().Must(), "external_reference": documentedReference.Must(), "status": published.Enum("OP", "PE", "PA", "CA").Status("PA").Must(),
	"request_date": published.String(), "status_date": published.String().OrNull(), "paid_date": published.String().OrNull(),
	"cancel_date": published.String().OrNull(), "request_amount": documentedAmount.Must(), "request_currency": published.String().Len(3, 3).Must(),
	"request_exchange_rate": published.String(), "debit_amount": documentedAmount, "debit_fee": documentedAmount, "debit_amount_total": documentedAmount,
	"debit_currency": published.String().Len(3, 3), "local_tax_amount": documentedAmount, "local_amount_total": documentedAmount,
	"local_currency": published.String().Len(3, 3), "error": documentedReason,
	"payee": published.Object(published.Fields{
		"name": published.String(), "email": published.String().OrNull(), "phone": published.String().OrNull(), "document": published.String(),
		"document_type": published.String(), "birthdate": published.String().OrNull(), "bank_info": published.Object(nil).Open().OrNull(),
	}).Open(),
})

// documentedReference is ours: the external reference.
var documentedReference = published.String().Len(6, 40)

// documentedReason is the reason of a cancellation; its place is cut off in every copy.
var documentedReason = published.Object(published.Fields{
	"code": published.String().Must(), "message": published.String().Must(), "gateway_details": published.String().OrNull(),
})

// payoutAnswers are the answers to a call of payouts: EBANX refuses with HTTP status 200 too, and the type tells.
func payoutAnswers(good published.Fields) map[int]published.Value {
	refused := published.Object(published.Fields{
		"type":    published.Enum("invalid_request_error", "authentication_error", "api_error", "request_error").Must(),
		"message": published.String().Must(), "code": published.String(), "status_code": published.String(),
	})
	good["type"] = published.Enum("success").Must()
	return map[int]published.Value{http.StatusOK: published.Either(published.Object(good), refused)}
}

// documentedPayouts is typed from EBANX's documents alone, but for two things: that a commit takes JSON and answers with a message is a
// third party's (juspay/hyperswitch).
var documentedPayouts = published.Table{
	Documents: []published.Document{
		{Name: "docs.ebanx.com and developer.ebanx.com, payout: createPixPayoutBR, createPayoutMX, createPayee, consultPayout, consultBalance, notification, error codes", Version: "ws/payout", Date: "2026-11-28"},
		{Name: "developers.ebanx.com, references: transfer-commit, transfer-search, cancel", Version: "ws/payout", Date: "2026-11-28"},
	},
	Refusal: func() (int, string) {
		return http.StatusOK, `{"type":"invalid_request_error","message":"Not documented","status_code":"HP-ZZ-99","code":"HP-ZZ-99"}`
	},
	Strange: []string{"RE"},
	Calls: []published.Call{
		{
			Name: "create a payout", Method: http.MethodPost, Path: "/ws/payout/create", Answers: payoutAnswers(published.Fields{"payout": documentedPayout.Must()}),
			Body: published.Object(and(documentedKey, published.Fields{
				"external_reference": documentedReference.Must(), "country": published.String().Len(2, 2).Must(),
				"amount": published.Number().Must().In("major units"), "currency_code": published.String().Len(3, 3).Must(),
				"target": published.Enum("pix", "pix_key", "bank_account"), "target_account": published.String(),
				"payee": published.Object(published.Fields{
					"name": published.String().Must(), "email": published.String().Must(), "document": published.String().Must(),
					"document_type": published.Enum("CPF", "CNPJ", "RFC", "CURP").Must(), "phone": published.String(), "birthdate": published.String(),
					"bank_info": published.Object(published.Fields{
						"bank_details": published.String(), "bank_name": published.String(), "bank_branch": published.String(), "bank_account": published.String(),
						"account_type": published.String(),
					}),
				}).Must(),
			})),
		},
		{
			Name: "commit a payout", Method: http.MethodPost, Path: "/ws/payout/commit", Answers: payoutAnswers(published.Fields{"message": published.String()}),
			Body: published.Object(and(documentedKey, published.Fields{"uid": published.String(), "external_reference": documentedReference})),
		},
		{
			Name: "retrieve a payout", Method: http.MethodPost, Path: "/ws/payout/retrieve", Form: true,
			Answers: payoutAnswers(published.Fields{"payout": documentedPayout.Must(), "error": documentedReason}),
			Body:    published.Object(and(documentedKey, published.Fields{"uid": published.String(), "external_reference": documentedReference})),
		},
		{
			Name: "consult the balance", Method: http.MethodPost, Path: "/ws/payout/balance", Form: true, Body: published.Object(documentedKey),
			Answers: payoutAnswers(published.Fields{"currency_code": published.String().Len(3, 3), "balance": published.Number().Must().In("major units")}),
		},
	},
	// The names of its fields are cut off.
	Notices: []published.Notice{{
		Name: "payout status change", Form: true, Body: published.Object(nil).Open(),
		Header: published.Fields{
			"X-SignatureType": published.Enum("rsa,sha1").Must(), "X-SignatureFingerprint": published.String().Must(), "X-SignatureContent": published.String().Must(),
		},
	}},
}

// Published implements published.Publisher.
func (*payoutFake) Published() published.Table { return documentedPayouts }
