package dlocal

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

var (
	// The sandbox alone has BAD_REQUEST, and a description decides what it plays.
	documentedPayoutStatus = published.Enum(
		"PENDING", "DELIVERED", "PAID", "REJECTED", "CANCELLED", "ON_HOLD", "ON_HOLD_BY_COMPLIANCE", "BAD_REQUEST",
	).Status("PAID")

	documentedBeneficiary = published.Object(published.Fields{
		"first_name": published.String(), "last_name": published.String(), "business_name": published.String(), "email": published.String(),
		"document": published.Object(published.Fields{
			"type": published.Enum("CPF", "CNPJ", "RFC", "CURP", "CUIT", "CUIL", "RUT", "CI", ""), "id": published.String().Must(),
		}),
		"bank_account": published.Object(published.Fields{
			"code": published.String(), "branch": published.String(), "type": published.Enum("CHECKING", "SAVINGS", ""), "account": published.String().Must(),
		}).OrNull(),
		"instant_payment": published.Object(published.Fields{"id": published.String().Must()}).OrNull(),
	}).Open()

	documentedPayoutObject = published.Object(published.Fields{
		"id": published.String().Must(), "external_id": published.String().Len(1, 100).Must(), "status": documentedPayoutStatus.Must(),
		"status_code": published.String().Must(), "status_detail": published.String(), "created_date": published.String(), "last_updated": published.String(),
		"payment_method_id": published.String(), "flow_type": published.Enum("B2C", "B2B", "P2P"), "country": published.String().Len(2, 2),
		"currency": published.String().Len(3, 3).Must(), "currency_to_pay": published.String().Len(3, 3), "amount": published.Number().In("major units"),
		"purpose": published.String(), "statement_descriptor": published.String(), "description": published.String(), "on_hold": published.Boolean(),
		"notification_url": published.String(), "amount_details": published.Object(published.Fields{
			"amount_to_pay": published.Number().In("major units"), "exchange": published.Object(nil).Open(),
			"fees": published.Object(published.Fields{"amount": published.Number(), "currency": published.String().Len(3, 3)}).Open(),
		}).Open(),
		"beneficiary": documentedBeneficiary,
	})

	documentedBearer = published.Fields{"Authorization": published.String().Must().Match(`Bearer .+`)}
)

// payoutAnswers are the documented answers to a call of Payouts v3.
func payoutAnswers(good published.Value) map[int]published.Value {
	all := answers(good)
	all[http.StatusUnauthorized], all[http.StatusServiceUnavailable] = documentedError, documentedError
	return all
}

// documentedPayouts is typed from dLocal's documents alone. The addresses of the order and of the balance are a third
// party's: no excerpt shows them.
var documentedPayouts = published.Table{
	Documents: []published.Document{
		{Name: "docs.dlocal.com, reference: security, get payout, payout status, error codes, notification parameters", Version: "Payouts v3", Date: "2026-11-02"},
		{Name: "docs.dlocal.com, docs: Argentina, Brazil, Chile, Mexico and Uruguay", Version: "Payouts v3", Date: "2026-11-02"},
	},
	Refusal: func() (int, string) { return http.StatusBadRequest, `{"code":3000,"message":"Invalid params"}` },
	Strange: []string{"SLEEPING"},
	Calls: []published.Call{
		{
			Name: "get a token", Method: http.MethodPost, Path: "/oauth/token",
			Body: published.Object(published.Fields{
				"grant_type": published.Enum("client_credentials").Must(), "client_id": published.String().Must(), "client_secret": published.String().Must(),
			}),
			Answers: payoutAnswers(published.Object(published.Fields{
				"access_token": published.String().Must(), "token_type": published.String().Must(), "expires_in": published.Integer().In("seconds").Must(),
				"scope": published.String(),
			})),
		},
		{
			Name: "submit a payout", Method: http.MethodPost, Path: "/payouts/v3", Header: documentedBearer, Answers: payoutAnswers(documentedPayoutObject),
			Body: published.Object(published.Fields{
				"external_id": published.String().Len(1, 100).Must(), "payment_method_id": published.Enum("BANK_TRANSFER", "INSTANT_PAYMENT", "CARD", "CASH_PICK_UP").Must(),
				"flow_type": published.Enum("B2C", "B2B", "P2P").Must(), "country": published.String().Len(2, 2).Must(),
				"currency": published.String().Len(3, 3).Must(), "currency_to_pay": published.String().Len(3, 3),
				"amount": published.Number().Must().In("major units"), "purpose": published.String().Must(), "statement_descriptor": published.String(),
				"description": published.String(), "notification_url": published.String(), "beneficiary": documentedBeneficiary.Must(),
			}),
		},
		{
			Name: "get a payout", Method: http.MethodGet, Path: "/payouts/v3", Header: documentedBearer, Answers: payoutAnswers(documentedPayoutObject),
			Query: published.Fields{"external_id": published.String().Len(1, 100)},
		},
		{
			Name: "get the balance", Method: http.MethodGet, Path: "/payouts/v3/balance", Header: documentedBearer,
			Answers: payoutAnswers(published.Object(published.Fields{
				"currency": published.String().Len(3, 3).Must(), "available_balance": published.Number().Must().In("major units"),
				"previous_day_closing_balance": published.Number(), "current_balance_date": published.String(),
			})),
		},
	},
	Notices: []published.Notice{{Name: "payout", Body: documentedPayoutObject}},
}

// Published implements published.Publisher.
func (*payoutFake) Published() published.Table { return documentedPayouts }
