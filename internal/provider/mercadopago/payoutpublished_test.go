package mercadopago

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// Published holds the fake to what Mercado Pago publishes about payouts by Pix.
func (*intentFake) Published() published.Table {
	return published.Table{
		Documents: []published.Document{
			{Name: "reference/api-json/payouts_pix_mlb.json of mercadopago/devsite-docs", Version: "2d56b774", Date: "2026-11-28"},
			{Name: "guides/money-out/integration-configuration and integration-test of mercadopago/devsite-docs", Version: "12cccdd7", Date: "2026-11-28"},
			{Name: "docs/payouts: transaction status and errors; notifications", Version: "mercadopago.com.br/developers", Date: "2026-11-28"},
			{Name: "spec3.yaml of mercadopago/openapi, for the status 201 and the errors of every call", Version: "f224df3", Date: "2026-06-24"},
		},
		Calls: []published.Call{
			{
				Name: "make a payout", Method: http.MethodPost, Path: "/v1/transaction-intents/process", Body: intentBody, Answers: intentAnswers(200, 201, 202),
				Header: bearer(published.Fields{
					"X-Idempotency-Key": published.String().Must(), "X-Signature": published.String(), "X-Enforce-Signature": words("true false"), "X-Test-Token": words("true"),
				}),
			},
			{Name: "read a payout", Method: http.MethodGet, Path: "/v1/transaction-intents/{id}", Header: bearer(nil), Answers: intentAnswers(200)},
		},
		Notices: []published.Notice{{Name: "a payout", Body: published.Object(published.Fields{
			"action": words("transaction_intent.created transaction_intent.updated").Must(), "api_version": published.String(), "date_created": moment, "id": published.String().Must(),
			"data": published.Object(published.Fields{"id": published.String().Must()}).Must(), "last_updated": moment, "status": published.String(), "type": words("transaction_intent").Must(),
		})}},
		Refusal: func() (int, string) {
			return http.StatusBadRequest, `{"code":"Invalid Body","message":"request with invalid format"}`
		},
		Strange: []string{"sleeping", "strange", "zzz", "canceled", "created", ""},
	}
}

// intentAnswers are the answers with a payout, and the errors. A test environment answers 500 if that is requested.
func intentAnswers(made ...int) map[int]published.Value {
	refused := published.Object(published.Fields{"code": published.String().Must(), "message": published.String()})
	all := map[int]published.Value{}
	for _, status := range []int{400, 404, 424, 500, 502} {
		all[status] = refused
	}
	for _, status := range []int{401, 403, 429} { // of every call
		all[status] = problemBody
	}
	for _, status := range made {
		all[status] = intentValue
	}
	return all
}

// reais is an amount of a request.
var reais = published.Number().In("major units, two decimals").Must()

var intentBody = published.Object(published.Fields{
	"external_reference":   published.String().Match(`[0-9A-Za-z_-]{1,64}`),
	"point_of_interaction": published.Object(published.Fields{"type": words("PSP_TRANSFER").Must()}).Must(),
	"seller_configuration": published.Object(published.Fields{"notification_info": published.Object(published.Fields{"notification_url": published.String().Len(1, 500)})}),
	"transaction": published.Object(published.Fields{
		"from": published.Object(published.Fields{"accounts": published.List(published.Object(published.Fields{"amount": reais})).Len(1, 1).Must()}).Must(),
		"to": published.Object(published.Fields{"accounts": published.List(published.Object(published.Fields{
			"type": words("current mercadopago").Must(), "amount": reais,
			"chave": published.Object(published.Fields{"type": words("CPF CNPJ EMAIL PHONE PIX_CODE").Must(), "value": published.String().Must()}).Must(),
			"owner": published.Object(published.Fields{
				"identification": published.Object(published.Fields{"type": words("CPF CNPJ").Must(), "number": published.String().Must()}).Must(),
			}).Must(),
		})).Len(1, 1).Must()}).Must(),
		"total_amount": reais,
	}).Must(),
})

// intentValue is a payout. The three documents have different words; in one of them the detail is about the sender.
var intentValue = published.Object(published.Fields{
	"id": published.String().Must(), "created_date": moment, "last_updated_date": moment, "external_reference": published.String(),
	"status":               words("new pending in_process approved processed success partially_processed refunded reverted partially_reverted rejected failed error").Must(),
	"point_of_interaction": published.Either(published.String(), published.Object(published.Fields{"type": published.String()})),
	"seller_configuration": some,
	"transaction": published.Object(published.Fields{
		"from":        published.Object(published.Fields{"accounts": published.List(published.Object(published.Fields{"amount": published.Number().OrText(), "status_detail": intentDetail}))}),
		"to":          published.Object(published.Fields{"accounts": published.List(paidTo)}),
		"paid_amount": published.Number(), "refunded_amount": published.Number(), "total_amount": published.Number(), "payer": published.Object(published.Fields{"id": published.Number()}),
	}),
})

var intentDetail = published.Enum("", "approved", "partially_refunded", "failed", "pending_authorized", "pending_bank", "accredited", "refunded", "by_bank", "by_provider", "by_caps",
	"by_high_risk", "high_risk", "by_compliance", "review_manual", "insufficient_funds", "other_reason", "invalid_destination_account")

var paidTo = published.Object(published.Fields{
	"amount": published.Number().OrText(), "status_detail": intentDetail, "bank_id": published.String(), "type": published.String(), "number": published.String(),
	"owner": published.Object(published.Fields{"identification": published.Object(published.Fields{"type": published.String(), "number": published.String().OrNumber()})}),
})
