package dlocal

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// Shapes of more than one call.
var (
	documentedError = published.Object(published.Fields{
		"code": published.Integer().Must(), "message": published.String().Must(), "param": published.String(),
	})

	documentedHeaders = published.Fields{
		"X-Date": published.String().Must().Match(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "X-Login": published.String().Must(),
		"X-Trans-Key": published.String().Must(), "X-Version": published.Enum("2.1").Must(), "User-Agent": published.String().Must(),
		"Authorization": published.String().Must().Match(`V2-HMAC-SHA256, Signature: [0-9a-f]{64}`), "X-Idempotency-Key": published.String(),
	}

	// The refund object; our order_refund_id is not in it.
	documentedRefund = published.Object(published.Fields{
		"id": published.String().Must(), "payment_id": published.String().Must(), "custom_merchant_name": published.String(),
		"amount": published.Number().In("major units"), "amount_refunded": published.Number().In("major units"), "currency": published.String().Len(3, 3),
		"status": published.Enum("PENDING", "SUCCESS", "REJECTED", "CANCELLED").Must(), "status_code": published.String().OrNumber(),
		"status_detail": published.String(), "created_date": published.String(), "notification_url": published.String(),
		"description": published.String(), "bank": published.String(), "bank_account": published.String(),
		"bank_account_type": published.Enum("C", "S", "I"), "bank_branch": published.String(), "order_id": published.String(),
	})

	documentedAddress = published.Object(published.Fields{
		"state": published.String(), "city": published.String(), "zip_code": published.String(), "street": published.String(), "number": published.String(),
	})

	documentedPayer = published.Fields{
		"name": published.String().Len(1, 100).Must(), "email": published.String().Len(1, 100).Must(), "birth_date": published.String().Len(10, 10),
		"phone": published.String().Len(1, 20), "document": published.String().Len(1, 30), "document2": published.String(),
		"user_reference": published.String().Len(1, 125), "address": documentedAddress, "ip": published.String().Len(1, 39),
		"device_id": published.String().Len(1, 25),
	}

	// The item object of the risk data. A document without lengths; brand and the like have no use here.
	documentedItem = published.Object(published.Fields{
		"item_reference": published.String(), "product_name": published.String(), "quantity": published.Number(), "unit_price": published.Number().In("major units"),
		"brand": published.String(), "category": published.String(), "subcategory": published.String(), "upc": published.String(), "manufacturer": published.String(),
		"size": published.String(), "url": published.String(),
	})

	documentedPaymentStatus = published.Enum("PENDING", "PAID", "REJECTED", "CANCELLED", "EXPIRED", "AUTHORIZED", "VERIFIED").Status("PAID")

	documentedPaymentFields = published.Fields{
		"id": published.String().Must(), "amount": published.Number().Must().In("major units"), "currency": published.String().Len(3, 3).Must(),
		"country": published.String().Len(2, 2), "payment_method_id": published.String(),
		"payment_method_type": published.Enum("CARD", "BANK_TRANSFER", "DIRECT_DEBIT", "TICKET", "WALLET"),
		"payment_method_flow": published.Enum("DIRECT", "REDIRECT"), "payer": published.Object(documentedPayer),
		"card": published.Object(nil).Open(), "wallet": published.Object(nil).Open(), "direct_debit": published.Object(nil).Open(),
		"three_dsecure": published.Object(published.Fields{"redirect_url": published.String()}).Open(),
		"bank_transfer": published.Object(published.Fields{
			"bank_account_type": published.String(), "bank_name": published.String(), "bank_code": published.String(),
			"beneficiary_name": published.String(), "bank_account": published.String(), "bank_account2": published.String(),
			"bank_account_label": published.String(), "bank_account2_label": published.String(), "beneficiary_document_type": published.String(),
			"benficiary_document": published.String(), "reference": published.String(), "redirect_url": published.String(),
			"user_payment_amount": published.Number().In("major units"), "payment_instruction": published.String(),
		}),
		"ticket": published.Object(published.Fields{
			"type": published.Enum("NUMERIC", "BARCODE", "CUSTOM", "REFERENCE_CODE"), "number": published.String(), "barcode": published.String(),
			"format": published.String(), "id": published.String(), "expiration_date": published.String(), "company_name": published.String(),
			"company_id": published.String(), "provider_name": published.String(), "provider_logo": published.String(), "image_url": published.String(),
		}),
		"refunds": published.List(documentedRefund), "created_date": published.String(), "approved_date": published.String(),
		"status": documentedPaymentStatus.Must(), "status_code": published.String().OrNumber(), "status_detail": published.String(),
		"order_id": published.String(), "description": published.String(), "notification_url": published.String(), "callback_url": published.String(),
		"redirect_url": published.String(),
	}
	documentedPayment = published.Object(documentedPaymentFields)

	documentedChargeback = published.Fields{
		"id": published.String().Must(), "payment_id": published.String(), "order_id": published.String(), "created_date": published.String(),
		"chargeback_date": published.String(), "currency": published.String().Len(3, 3), "amount": published.Number().In("major units"),
		"status": published.Enum(
			"PENDING", "COMPLETED", "CANCELLED", "REVERSAL", "INQUIRY", "DISPUTE_RECEIVED", "IN_DISPUTE", "DISPUTE_LOST",
		).Must(),
		"status_code": published.String().OrNumber(), "status_detail": published.String(), "notification_url": published.String(),
		"reason_code": published.String().OrNumber(), "reason_description": published.String(), "chargeback_stage": published.String(),
		"processor_id": published.String(), "ARN": published.String(),
	}
)

// answers are the documented answers to a call of the API for payments.
func answers(good published.Value) map[int]published.Value {
	return map[int]published.Value{
		http.StatusOK: good, http.StatusBadRequest: documentedError, http.StatusForbidden: documentedError, http.StatusNotFound: documentedError,
		http.StatusTooManyRequests: documentedError, http.StatusInternalServerError: documentedError, http.StatusGatewayTimeout: documentedError,
	}
}

// documented is typed from dLocal's documents alone. The address that cancels a payment is a third party's; so is
// the name order_refund_id, of which dLocal's own pages show only its error, 5011.
var documented = published.Table{
	Documents: []published.Document{
		{Name: "docs.dlocal.com, reference: the payer, order, ticket, bank transfer and refund objects", Version: "API 2.1", Date: "2026-03-03"},
		{Name: "docs.dlocal.com, reference: payment, refund and chargeback status codes, HTTP errors", Version: "API 2.1", Date: "2026-09-17"},
		{Name: "docs.dlocal.com, docs: security, refunds, chargebacks, receive notifications, risk data", Version: "API 2.1", Date: "2026-07-27"},
		{Name: "docs.dlocal.com, docs: the countries' pages, with the ids of payment methods", Version: "API 2.1", Date: "2026-10-19"},
		{Name: "fmazzoli-dlocal/documentation: payments, orders, payment methods, refunds", Version: "62930f3", Date: "2019-02-05"},
		{Name: "fmazzoli-dlocal/documentation, v2.1: payment methods, fraud prevention (the item object)", Version: "5a60efb", Date: "2021-10-12"},
	},
	Refusal: func() (int, string) {
		return http.StatusBadRequest, `{"code":5001,"message":"Invalid parameter","param":"?"}`
	},
	Strange: []string{"TELEPORTED"},
	Calls: []published.Call{
		{
			Name: "search payment methods", Method: http.MethodGet, Path: "/payments-methods", Header: documentedHeaders,
			Query: published.Fields{"country": published.String().Len(2, 2).Must()},
			Answers: answers(published.List(published.Object(published.Fields{
				"id": published.String().Must(), "type": published.String().Must(), "name": published.String().Must(), "logo": published.String().Must(),
				"countries": published.List(published.String()), "allowed_flows": published.List(published.Enum("DIRECT", "REDIRECT")).Must(),
			}))),
		},
		{
			Name: "create a payment", Method: http.MethodPost, Path: "/payments", Header: documentedHeaders, Answers: answers(documentedPayment),
			Body: published.Object(published.Fields{
				"amount": published.Number().Must().In("major units"), "currency": published.String().Len(3, 3).Must(),
				"country": published.String().Len(2, 2).Must(), "payment_method_id": published.String(),
				"payment_method_flow": published.Enum("DIRECT", "REDIRECT").Must(), "payer": published.Object(documentedPayer).Must(),
				"card": published.Object(nil).Open(), "direct_debit": published.Object(nil).Open(), "additional_risk_data": published.Object(published.Fields{
					"basket": published.List(documentedItem), "device": published.Object(nil).Open(), "payer": published.Object(nil).Open(),
					"shipping": published.Object(nil).Open(), "beneficiary": published.Object(nil).Open(), "subscription": published.Object(nil).Open(),
					"submerchant": published.Object(nil).Open(), "purchase": published.Object(nil).Open(),
				}),
				"order_id": published.String().Must(), "description": published.String(), "notification_url": published.String(),
				"callback_url": published.String(),
			}),
		},
		{Name: "retrieve a payment", Method: http.MethodGet, Path: "/payments/{id}", Header: documentedHeaders, Answers: answers(documentedPayment)},
		{Name: "cancel a payment", Method: http.MethodPost, Path: "/payments/{id}/cancel", Header: documentedHeaders, Answers: answers(documentedPayment)},
		{
			Name: "retrieve an order", Method: http.MethodGet, Path: "/orders/{order_id}", Header: documentedHeaders,
			Answers: answers(published.Object(published.Fields{
				"order_id": published.String().Must(), "payment_id": published.String().Must(), "amount": published.Number().Must().In("major units"),
				"currency": published.String().Len(3, 3).Must(), "created_date": published.String(), "approved_date": published.String(),
				"status": documentedPaymentStatus.Must(), "status_code": published.String(), "status_detail": published.String(),
			})),
		},
		{
			Name: "make a refund", Method: http.MethodPost, Path: "/refunds", Header: documentedHeaders, Answers: answers(documentedRefund),
			Body: published.Object(published.Fields{
				"payment_id": published.String().Must(), "notification_url": published.String().Must(), "amount": published.Number().In("major units"),
				"currency": published.String().Len(3, 3), "description": published.String(), "order_refund_id": published.String(),
				"beneficiary_name": published.String(), "bank": published.String(), "bank_account": published.String(),
				"bank_account_type": published.Enum("C", "S", "I"), "bank_branch": published.String(),
			}),
		},
		{Name: "retrieve a refund", Method: http.MethodGet, Path: "/refunds/{id}", Header: documentedHeaders, Answers: answers(documentedRefund)},
		{
			Name: "retrieve a chargeback", Method: http.MethodGet, Path: "/chargebacks/{id}", Header: documentedHeaders,
			Answers: answers(published.Object(documentedChargeback)),
		},
	},
	Notices: []published.Notice{
		{Name: "payment", Header: documentedNoticeHeaders, Body: documentedPayment},
		{Name: "refund", Header: documentedNoticeHeaders, Body: documentedRefund},
		{Name: "chargeback", Header: documentedNoticeHeaders, Body: published.Object(documentedChargeback)},
	},
}

var documentedNoticeHeaders = published.Fields{
	"X-Date": published.String().Must(), "Authorization": published.String().Must().Match(`V2-HMAC-SHA256, Signature: [0-9a-f]{64}`),
}

// Published implements published.Publisher.
func (*fake) Published() published.Table { return documented }
