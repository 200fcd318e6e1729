package ebanx

import (
	"maps"
	"net/http"

	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

var (
	documentedCode   = published.String().Len(1, 40) // merchant_payment_code
	documentedAmount = published.String().Match(`\d+\.\d\d`).In("major units, two decimals")

	documentedRefund = published.Object(published.Fields{
		"id": published.String().OrNumber().Must(), "merchant_refund_code": published.String().OrNull().Must(),
		"status": published.Enum("RE", "PE", "CO", "CA").Must(), "request_date": published.String().OrNull(), "pending_date": published.String().OrNull(),
		"confirm_date": published.String().OrNull(), "cancel_date": published.String().OrNull(), "amount_ext": documentedAmount.OrNumber().Must(),
		"description": published.String().OrNull(),
	})

	documentedPayment = published.Object(published.Fields{
		"hash": published.String().Must(), "pin": published.String(), "merchant_payment_code": documentedCode.Must(), "order_number": published.String().OrNull(),
		"status": published.Enum("OP", "PE", "CO", "CA").Status("CO").Must(), "status_date": published.String().OrNull(), "open_date": published.String(),
		"confirm_date": published.String().OrNull(), "transfer_date": published.String().OrNull(), "amount_br": documentedAmount, "amount_ext": documentedAmount.OrNumber().Must(),
		"amount_iof": documentedAmount, "currency_rate": published.String(), "currency_ext": published.String().Len(3, 3).Must(), "due_date": published.String(),
		"instalments": published.String(), "payment_type_code": published.String().Must(), "pre_approved": published.Boolean(),
		"capture_available": published.Boolean().OrNull(), "note": published.String(), "redirect_url": published.String(),
		"customer": published.Object(published.Fields{
			"document": published.String().OrNull(), "email": published.String(), "name": published.String(), "birth_date": published.String().OrNull(),
		}),
		"transaction_status": published.Object(published.Fields{
			"acquirer": published.String(), "code": published.Enum("OK", "NOK", "RETRY").Must(), "description": published.String(),
			"description_code": published.String(), "authcode": published.String(),
		}),
		"refunds":  published.List(documentedRefund),
		"pix":      published.Object(published.Fields{"qr_code_url": published.String(), "qr_code_value": published.String().Must()}),
		"oxxo_url": published.String(), "oxxo_barcode": published.String(), "spei_url": published.String(), "clabe_account": published.String(),
		"clabe_reference": published.String(), "boleto_url": published.String(), "boleto_barcode": published.String(), "boleto_barcode_raw": published.String(),
		"user_value_1": published.String(), "user_value_2": published.String(), "user_value_3": published.String(), "user_value_4": published.String(),
		"user_value_5": published.String(),
	})

	documentedItems = published.List(published.Object(published.Fields{
		"sku": published.String().Len(1, 20), "name": published.String().Len(1, 100), "description": published.String().Len(1, 200),
		"unit_price": published.Number().In("major units"), "quantity": published.Number(), "type": published.String().Len(1, 50),
	}))

	// Of the shopper, in /ws/direct and /ws/request.
	documentedShopper = published.Fields{
		"name": published.String().Len(1, 100).Must(), "email": published.String().Len(5, 100).Must(), "country": published.String().Len(2, 2).Must(),
		"payment_type_code": published.String().Must(), "merchant_payment_code": documentedCode.Must(), "order_number": published.String().Len(1, 40),
		"currency_code": published.String().Len(3, 3).Must(), "notification_url": published.String(), "redirect_url": published.String(),
		"document": published.String().Len(1, 32), "document_type": published.String(), "person_type": published.Enum("personal", "business"),
		"birth_date": published.String(), "phone_number": published.String(), "zipcode": published.String(), "address": published.String(),
		"street_number": published.String(), "street_complement": published.String(), "city": published.String(), "state": published.String(),
		"due_date": published.String(), "note": published.String().Len(1, 200), "instalments": published.String(), "user_value_1": published.String(),
		"user_value_2": published.String(), "user_value_3": published.String(), "user_value_4": published.String(), "user_value_5": published.String(),
	}
)

// and returns fields with more.
func and(fields, more published.Fields) published.Fields {
	all := maps.Clone(fields)
	maps.Copy(all, more)
	return all
}

// answers are the answers to a call: EBANX refuses with HTTP status 200 too.
func answers(good published.Fields) map[int]published.Value {
	refused := published.Object(published.Fields{
		"status": published.Enum("ERROR").Must(), "status_code": published.String().Must(), "status_message": published.String().Must(),
	})
	good["status"] = published.Enum("SUCCESS").Must()
	return map[int]published.Value{http.StatusOK: published.Either(published.Object(good), refused)}
}

var documentedKey = published.Fields{"integration_key": published.String().Len(1, 100).Must()}

// documented is typed from EBANX's documents and the recordings in its SDK's tests alone.
var documented = published.Table{
	Documents: []published.Document{
		{Name: "ebanx/benjamin, adapters and recordings in tests", Version: "f2f0cd8", Date: "2025-07-17"},
		{Name: "developers.ebanx.com, create a payment: Chile, Peru", Version: "ws", Date: "2026-11-28"},
		{Name: "developers.ebanx.com, references: direct, request, query, cancel and refund operations", Version: "ws", Date: "2026-11-28"},
		{Name: "EBANX-api-reference, EBANX's OpenAPI document: request, query, cards by country", Version: "40f35de", Date: "2020-04-09"},
		{Name: "documentation.ixopay.com, TokenEx, EBANX: the lengths of the direct operation's fields", Version: "ws", Date: "2026-06-15"},
		{Name: "docs.ebanx.com: retrieve, cancel and refund a payment, payment notifications, Pix, SPEI", Version: "ws", Date: "2026-11-28"},
	},
	Refusal: func() (int, string) {
		return http.StatusOK, `{"status":"ERROR","status_code":"BP-DR-1","status_message":"Parameter not allowed"}`
	},
	Strange: []string{"ZZ"},
	Calls: []published.Call{
		{
			Name: "direct", Method: http.MethodPost, Path: "/ws/direct", Answers: answers(published.Fields{"payment": documentedPayment.Must()}),
			Body: published.Object(and(documentedKey, published.Fields{
				"operation": published.Enum("request").Must(), "mode": published.Enum("full", "preview").Must(), "metadata": published.Object(nil).Open(),
				"payment": published.Object(and(documentedShopper, published.Fields{
					"amount_total": published.Number().Must().In("major units"), "customer_ip": published.String(), "device_id": published.String(),
					"items": documentedItems, "create_token": published.Boolean(), "creditcard": published.Object(nil).Open(),
					"eft_code": published.String(), "responsible": published.Object(published.Fields{
						"name": published.String().Len(1, 100).Must(), "document": published.String().Must(), "birth_date": published.String(),
					}),
				})).Must(),
			})),
		},
		{
			Name: "request", Method: http.MethodPost, Path: "/ws/request", Form: true,
			Answers: answers(published.Fields{"payment": documentedPayment.Must(), "redirect_url": published.String().Must()}),
			Body: published.Object(and(and(documentedKey, documentedShopper), published.Fields{
				"amount": published.Number().Must().In("major units"), "manual_review": published.Boolean(), "bypass_boleto_screen": published.Boolean(),
				"sub_acc_name": published.String(), "sub_acc_image_url": published.String(), "metadata": published.Object(nil).Open(),
				"items": published.Object(nil).Open(), "instalments": published.String().Len(1, 5).Match(`\d{1,2}(-\d{1,2})?`),
			})),
		},
		{
			Name: "query", Method: http.MethodPost, Path: "/ws/query", Answers: answers(published.Fields{"payment": documentedPayment.Must()}),
			Body: published.Object(and(documentedKey, published.Fields{"hash": published.String(), "merchant_payment_code": documentedCode})),
		},
		{
			Name: "cancel", Method: http.MethodPost, Path: "/ws/cancel",
			Answers: answers(published.Fields{"payment": documentedPayment.Must(), "operation": published.Enum("cancel")}),
			Body:    published.Object(and(documentedKey, published.Fields{"hash": published.String().Must()})),
		},
		{
			Name: "refund", Method: http.MethodPost, Path: "/ws/refund",
			Answers: answers(published.Fields{"payment": documentedPayment.Must(), "refund": documentedRefund.Must(), "operation": published.Enum("refund")}),
			Body: published.Object(and(documentedKey, published.Fields{
				"operation": published.Enum("request", "cancel").Must(), "hash": published.String(), "merchant_payment_code": documentedCode,
				"refund_id": published.String(), "amount": published.Number().In("major units"), "description": published.String(),
				"merchant_refund_code": published.String().Len(1, 20),
			})),
		},
	},
	Notices: []published.Notice{{
		Name: "payment status change", Form: true,
		Header: published.Fields{
			"X-SignatureType": published.Enum("rsa,sha1").Must(), "X-SignatureFingerprint": published.String().Must(), "X-SignatureContent": published.String().Must(),
		},
		Body: published.Object(published.Fields{
			"operation": published.Enum("payment_status_change").Must(), "hash_codes": published.String().Must(),
			"notification_type": published.Enum("update", "refund", "chargeback", "chargeback_credit").Must(),
		}),
	}},
}

// Published implements published.Publisher.
func (*fake) Published() published.Table { return documented }
