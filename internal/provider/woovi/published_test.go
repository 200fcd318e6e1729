package woovi

import (
	"maps"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// From src/swaggers/woovi.json of woovibr/woovi-developers, and its pages. No answer in it has required fields. Where its examples, or those
// of the pages, contradict it, both are allowed, and the source is named: its own examples are "example", docs/webhook/examples are "event".

type fields = published.Fields

var (
	str      = published.String()
	num      = published.Number()
	flag     = published.Boolean()
	anything = published.Anything()
	centavos = num.In("centavos")
	at       = str.In("ISO 8601")
	taxID    = published.Object(fields{"taxID": str, "type": str}) // docs/apis/api-common-fields.md
	pairs    = published.List(published.Object(fields{"key": str, "value": str}))
	address  = published.Object(fields{
		"zipcode": str, "street": str, "number": str, "neighborhood": str, "city": str, "state": str, "complement": str, "country": str,
	})
	documents = []published.Document{
		{Name: "woovibr/woovi-developers, src/swaggers/woovi.json and docs", Version: "bb0dddf", Date: "2026-08-20"},
		{Name: "woovibr/php-sdk", Version: "09783b1", Date: "2024-12-20"},
	}
)

func with(base, more fields) fields {
	all := maps.Clone(base)
	maps.Copy(all, more)
	return all
}

// person is Customer. Null: the answer in docs/charge/how-to-create-charge-using-api.mdx; event.
var person = published.Object(fields{"name": str, "email": str, "phone": str, "taxID": taxID, "correlationID": str, "address": address}).OrNull()

// chargeOf is Charge. expiresIn is a string, and a number in all examples. Events and docs/charge/how-to-create-charge-using-api.mdx also have
// discount, ensureSameTaxID, fee, giftbackAppliedValue, paidAt, payer and valueWithDiscount.
func chargeOf(status published.Value) fields {
	return fields{
		"value": centavos, "customer": person, "type": published.Enum("DYNAMIC", "OVERDUE", "BOLETO"), "comment": str, "brCode": str, "status": status, "correlationID": str,
		"paymentLinkID": str, "paymentLinkUrl": anything, "globalID": anything, "transactionID": anything, "identifier": str, "qrCodeImage": anything,
		"additionalInfo": pairs, "pixKey": str, "createdAt": at, "updatedAt": at, "expiresIn": num.OrText().In("seconds"), "expiresDate": at, "dueDate": at,
		"subscription": published.Object(nil).Open(),
		"paymentMethods": published.Object(fields{"pix": published.Object(fields{
			"method": str, "transactionID": str, "identifier": str, "additionalInfo": pairs, "fee": centavos, "value": centavos, "status": str, "txId": str, "brCode": str, "qrCodeImage": str,
		}).OrNull()}),
		"discount": centavos, "valueWithDiscount": centavos, "giftbackAppliedValue": centavos, "fee": centavos, "ensureSameTaxID": flag, "paidAt": at, "payer": person,
	}
}

var (
	chargeWords = published.Enum("ACTIVE", "COMPLETED", "EXPIRED")
	chargeShown = published.Object(chargeOf(chargeWords.Status("COMPLETED")))
	// A transaction's charge has the customer's id (example).
	chargeInside = published.Object(with(chargeOf(chargeWords), fields{"customer": published.Either(person, str)}))
)

// chargeSent is ChargePayload, and CustomerPayload with one of its sets of required fields. The lengths of the comment and of additional information are
// those of the Banco Central's charges, which Woovi makes of them; the plugin has the comment's too.
var chargeSent = published.Object(fields{
	"correlationID": str.Len(1, 0).Must(), "value": centavos.Must(), "type": published.Enum("DYNAMIC", "OVERDUE", "BOLETO"), "comment": str.Len(1, 140), "expiresIn": num.In("seconds, 300 at least"),
	"expiresDate": at, "dueDate": at, "ensureSameTaxID": flag, "fixedLocation": flag, "paymentLinkID": str, "daysForDueDate": num, "daysAfterDueDate": num,
	"customer":  published.Either(customerWith("taxID"), customerWith("email"), customerWith("phone")),
	"interests": published.Object(fields{"value": num, "type": published.Enum("FIXED", "PERCENTAGE")}),
	"fines":     published.Object(fields{"value": num, "type": published.Enum("FIXED", "PERCENTAGE")}),
	"discountSettings": published.Object(fields{
		"modality": published.Enum("FIXED_VALUE_UNTIL_SPECIFIED_DATE", "PERCENTAGE_UNTIL_SPECIFIED_DATE", "VALUE_PER_RUNNING_DAY_ADVANCE",
			"VALUE_PER_BUSINESS_DAY_ADVANCE", "PERCENTAGE_PER_RUNNING_DAY_ADVANCE", "PERCENTAGE_PER_BUSINESS_DAY_ADVANCE"),
		"discountFixedDate": published.List(published.Object(fields{"daysActive": published.Integer(), "value": num})).Len(1, 0), "value": num,
	}),
	"additionalInfo": published.List(published.Object(fields{"key": str.Len(1, 50), "value": str.Len(1, 200)})), "enableCashbackPercentage": flag, "enableCashbackExclusivePercentage": flag, "subaccount": str,
	"splits": published.List(published.Object(fields{
		"value": centavos.Must(), "pixKey": str.Must(), "splitType": published.Enum("SPLIT_INTERNAL_TRANSFER", "SPLIT_SUB_ACCOUNT", "SPLIT_PARTNER"),
	})),
})

func customerWith(required string) published.Value {
	f := fields{"name": str.Must(), "taxID": str, "email": str, "phone": str, "correlationID": str, "address": address}
	f[required] = str.Must()
	return published.Object(f)
}

// refundShown is ChargeRefund.
var refundShown = published.Object(fields{
	"value": centavos, "status": published.Enum("IN_PROCESSING", "CONFIRMED", "REJECTED"), "correlationID": str, "endToEndId": str, "time": at, "comment": str,
})

// party is Party. The Pix key and the holder's taxID: example.
var party = published.Object(fields{
	"account": published.Object(fields{"branch": str, "account": str, "accountType": str}), "psp": published.Object(fields{"id": str, "name": str, "code": str}),
	"holder": published.Object(fields{"name": str, "nameFriendly": str, "taxID": taxID}), "taxID": taxID,
	"pixKey": published.Object(fields{"pixKey": str, "type": str}),
})

// transactionWords: woovi.json has the enums of type and status swapped; its examples and the list's query have them as here.
var (
	transactionTypes    = []string{"PAYMENT", "WITHDRAW", "REFUND", "FEE", "INTERNAL_TRANSFER", "BALANCE_BLOCK", "BALANCE_UNBLOCK", "REVERSAL"}
	transactionStatuses = []string{"CREATED", "CONFIRMED", "REFUNDED", "PARTIAL_REFUND", "IN_PROCESSING", "REJECTED"}
	transactionWords    = published.Enum(append(append([]string{}, transactionTypes...), transactionStatuses...)...)
)

// moved is Transaction. creditParty, debitParty and the withdrawal's createdAt: example. createdAt, fee, partial and pixKey: event.
var moved = published.Object(fields{
	"charge": chargeInside.OrNull(), "value": centavos, "time": at, "endToEndID": str, "transactionID": str, "infoPagador": str, "endToEndId": str, "customer": person, "payer": person,
	"withdraw": published.Object(fields{
		"value": centavos, "time": at, "endToEndID": str, "transactionID": str, "infoPagador": str, "endToEndId": str, "payer": person, "type": str, "createdAt": at,
	}),
	"type": transactionWords, "status": transactionWords, "globalID": anything, "pixQrCode": published.Object(nil).Open(),
	"webhookSent": published.List(published.Object(fields{"isRetry": flag}).Open()),
	"creditParty": party, "debitParty": party, "createdAt": at, "fee": centavos, "partial": flag, "pixKey": str,
})

// disputeShown is the answer of GET /api/v1/dispute/{id}, with the id of docs/disputa/dispute-get-payload.mdx. IN_REVIEW is of Dispute, and OPENED
// of the event. The value is a string, and a number in the example.
var disputeShown = published.Object(fields{
	"status": published.Enum("CREATED", "ACCEPTED", "REJECTED", "CANCELED", "IN_REVIEW", "OPENED"), "name": str, "email": str, "phoneNumber": str, "value": centavos.OrText(),
	"disputeReason": str, "endToEndId": str, "type": published.Enum("MED", "DISPUTE", "CHARGEBACK"), "id": str, "createdAt": at, "updatedAt": at,
})

// listOf is a page. The total is in docs/transaction/transaction-how-to-paginate-api.md; the examples of woovi.json have one object in place of
// the list, and docs/payment/payment-how-to-list.md has a list.
func listOf(name string, v published.Value) published.Value {
	return published.Object(fields{
		"status": str, name: published.Either(published.List(v), v),
		"pageInfo": published.Object(fields{
			"skip": num, "limit": num, "hasPreviousPage": flag, "hasNextPage": flag, "totalCount": num,
			"errors": published.List(published.Object(fields{"message": str, "data": published.Object(fields{"skip": num, "limit": num})})),
		}),
	})
}

var sentenceOnly = published.Object(fields{"error": str})

// answers are an answer and the errors. 401: docs/apis/api-getting-started.md; 403: docs/account-limits/api-getting-started.mdx.
func answers(good published.Value) map[int]published.Value {
	return map[int]published.Value{
		http.StatusOK: good, http.StatusBadRequest: sentenceOnly, http.StatusForbidden: sentenceOnly,
		http.StatusUnauthorized: published.Object(fields{"data": str.OrNull(), "errors": published.List(published.Object(fields{"message": str}))}),
	}
}

// headers: the AppID as it is, without "Bearer" (docs/apis/api-getting-started.md).
var headers = fields{"Authorization": str.Match(`\S+`).Must()}

// pages are the parameters of lists: those of time, skip and limit. woovi.json has skip and limit for few lists; they are in
// docs/payment/payment-how-to-list.md, docs/transaction/transaction-how-to-paginate-api.md and, for all, in Request.php of woovibr/php-sdk.
var pages = fields{"start": rfc3339, "end": rfc3339, "skip": num, "limit": num}

var rfc3339 = str.Match(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// refusal is how an address or a body that is not known is refused.
func refusal() (int, string) { return http.StatusBadRequest, `{"error":"Dados inválidos"}` }

var readTransaction = published.Call{
	Name: "read a transaction", Method: http.MethodGet, Path: "/api/v1/transaction/{id}", Header: headers, Answers: answers(published.Object(fields{"transaction": moved})),
}

// theirs is what Woovi publishes about charges.
var theirs = published.Table{
	Documents: append([]published.Document{
		{Name: "Open-Pix/woocommerce-openpix, includes/class-wc-openpix-pix.php", Version: "3c33890", Date: "2026-04-08"},
	}, documents...),
	Refusal: refusal, Strange: []string{"SLEEPING"},
	Calls: []published.Call{
		{
			Name: "make a charge", Method: http.MethodPost, Path: "/api/v1/charge", Header: headers, Query: fields{"return_existing": flag}, Body: chargeSent,
			Answers: answers(published.Object(fields{"charge": chargeShown, "correlationID": str, "brCode": str})),
		},
		{
			Name: "list charges", Method: http.MethodGet, Path: "/api/v1/charge", Header: headers, Answers: answers(listOf("charges", chargeShown)),
			Query: with(pages, fields{"status": chargeWords, "customer": str, "subscription": str}),
		},
		{Name: "read a charge", Method: http.MethodGet, Path: "/api/v1/charge/{id}", Header: headers, Answers: answers(published.Object(fields{"charge": chargeShown}))},
		{Name: "delete a charge", Method: http.MethodDelete, Path: "/api/v1/charge/{id}", Header: headers, Answers: answers(published.Object(fields{"status": str, "id": str}))},
		{
			Name: "refund a charge", Method: http.MethodPost, Path: "/api/v1/charge/{id}/refund", Header: headers, Answers: answers(published.Object(fields{"refund": refundShown})),
			Body: published.Object(fields{"correlationID": str.Len(1, 0).Must(), "value": centavos, "comment": str.Len(0, 140)}),
		},
		{
			Name: "list a charge's refunds", Method: http.MethodGet, Path: "/api/v1/charge/{id}/refund", Header: headers,
			Answers: answers(published.Object(fields{"refunds": published.List(refundShown)})),
		},
		readTransaction,
		{
			Name: "list transactions", Method: http.MethodGet, Path: "/api/v1/transaction", Header: headers, Answers: answers(listOf("transactions", moved)),
			Query: with(pages, fields{"charge": str, "pixQrCode": str, "withdrawal": str, "hasWebhook": flag, "type": published.Enum(transactionTypes...)}),
		},
		{
			Name: "read a dispute", Method: http.MethodGet, Path: "/api/v1/dispute/{id}", Header: headers,
			Answers: func() map[int]published.Value {
				all := answers(published.Object(fields{"dispute": disputeShown}))
				all[http.StatusInternalServerError] = sentenceOnly
				return all
			}(),
		},
		{
			// The answer's createdAt: docs/disputa/how-add-new-evidence-in-evidence.md. Newer pages have fileId beside url (32da44b, 2026-08).
			Name: "submit evidence", Method: http.MethodPost, Path: "/api/v1/dispute/{id}/evidence", Header: headers,
			Body: published.Object(fields{"documents": published.List(published.Object(fields{
				"url": str.Len(1, 0), "correlationID": str, "description": str,
			}))}),
			Answers: answers(published.Object(fields{"documents": published.List(published.Object(fields{
				"url": str.Len(1, 0), "correlationID": str, "description": str, "createdAt": at,
			}))})),
		},
	},
	Notices: []published.Notice{
		notice("a charge's", fields{"charge": published.Object(chargeOf(chargeWords)).Must(), "pix": moved, "payer": person},
			"CHARGE_CREATED", "CHARGE_COMPLETED", "CHARGE_EXPIRED", "CHARGE_COMPLETED_NOT_SAME_CUSTOMER_PAYER"),
		notice("a transaction's", fields{
			"charge": published.Object(chargeOf(chargeWords)).OrNull(), "pixQrCode": published.Object(nil).Open().OrNull(), "pix": moved.Must(), "refunds": published.List(anything),
		}, "TRANSACTION_RECEIVED", "TRANSACTION_REFUND_RECEIVED"),
		notice("a refund's", fields{"refundTransaction": moved.Must(), "originalTransaction": moved.Must(), "error": str},
			"PIX_TRANSACTION_REFUND_SENT_CONFIRMED", "PIX_TRANSACTION_REFUND_SENT_REJECTED", "PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED", "PIX_TRANSACTION_REFUND_RECEIVED_REJECTED"),
		notice("a dispute's", fields{"dispute": disputeShown.Must()}, "DISPUTE_CREATED", "DISPUTE_ACCEPTED", "DISPUTE_REJECTED", "DISPUTE_CANCELED"),
	},
}

// notice is an event. Its name has a prefix, unless it begins with PIX_: OPENPIX: in woovi.json, woovi: in some pages. The headers are of
// docs/webhook/seguranca.
func notice(name string, body fields, events ...string) published.Notice {
	var all []string
	for _, e := range events {
		if strings.HasPrefix(e, "PIX_") {
			all = append(all, e)
		} else {
			all = append(all, "OPENPIX:"+e, "woovi:"+e)
		}
	}
	return published.Notice{
		Name: name, Header: fields{"X-Webhook-Signature": str.Must(), "X-Openpix-Signature": str.Must()},
		Body: published.Object(with(fields{
			"event": published.Enum(all...).Must(), "company": published.Object(fields{"id": str, "name": str, "nameFriendly": str, "taxID": str, "correlationID": str}),
			"account": published.Object(fields{
				"id": str, "accountId": str, "clientId": str, "environment": published.Enum("TESTING", "PRODUCTION"), "name": str, "status": str, "code": str, "branch": str, "account": str, "taxID": str,
			}),
		}, body)),
	}
}

// payment is Payment. APPROVED is in its examples, PROCESSING in docs/boleto/boleto-out-api.md, REJECTED in
// docs/payment/payment-idempotency.md. metadata: docs/flows/sandbox-error-simulation.md. account, holder and psp: example.
func payment(status published.Value) published.Value {
	return published.Object(fields{
		"type": published.Enum("PIX_KEY", "QR_CODE", "MANUAL", "BOLETO"), "value": centavos, "destinationAlias": str,
		"destinationAliasType": published.Enum("CPF", "CNPJ", "EMAIL", "PHONE", "RANDOM"), "qrCode": str, "correlationID": str, "comment": str, "sourceAccountId": str,
		"status": status, "boleto": published.Object(nil).Open(), "metadata": published.Object(nil).Open(),
		"holder": published.Object(fields{"name": str, "taxID": taxID}), "account": published.Object(fields{"account": str, "branch": str, "accountType": str}),
		"psp": published.Object(fields{"id": str, "name": str}),
	})
}

var paymentWords = published.Enum("CREATED", "APPROVED", "PROCESSING", "CONFIRMED", "FAILED", "DENIED", "REJECTED")

// paymentOf is a payment with its transaction and its beneficiary.
func paymentOf(status published.Value) fields {
	return fields{
		"payment": payment(status).Must(),
		"transaction": published.Object(fields{
			"value": centavos, "endToEndId": str, "time": at, "providerRejectedReason": str, "debitParty": party, "creditParty": party,
		}),
		"destination": published.Object(fields{"name": str, "taxID": str, "pixKey": str, "bank": str, "branch": str, "account": str}),
	}
}

var paymentShown = published.Object(paymentOf(paymentWords.Status("CONFIRMED")))

// paymentSent is PaymentCreatePayload, and autoApprove. type is required of a Pix key, and missing in an example and in
// docs/payment/payment-how-to-use-api-to-create.mdx. psp is a string, and an object in the examples.
var paymentSent = published.Either(
	sent(fields{
		"value": centavos.Must(), "destinationAlias": str.Must(), "pixKeyEndToEndId": str,
		"destinationAliasType": published.Enum("CPF", "CNPJ", "EMAIL", "PHONE", "RANDOM").Must(),
	}),
	sent(fields{"qrCode": str.Must(), "value": centavos, "sourceAccountId": str}),
	sent(fields{
		"value": centavos.Must(), "pixKeyEndToEndId": str, "psp": published.Either(str, published.Object(fields{"id": str, "name": str})).Must(),
		"holder":  published.Object(fields{"name": str.Must(), "taxID": published.Object(fields{"type": str.Must(), "taxID": str.Must()}).Must()}).Must(),
		"account": published.Object(fields{"account": str.Must(), "branch": str.Must(), "accountType": str.Must()}).Must(),
	}),
	sent(fields{"boletoBarcode": str.Must(), "sourceAccountId": str}),
)

func sent(more fields) published.Value {
	return published.Object(with(fields{
		"type": published.Enum("PIX_KEY", "QR_CODE", "MANUAL", "BOLETO"), "correlationID": str.Len(1, 0).Must(), "comment": str, "metadata": published.Object(nil).Open(), "autoApprove": flag,
	}, more))
}

// theirPayouts is what Woovi publishes about payments to others.
var theirPayouts = published.Table{
	Documents: documents, Refusal: refusal, Strange: []string{"SLEEPING"},
	Calls: []published.Call{
		{Name: "order a payment", Method: http.MethodPost, Path: "/api/v1/payment", Header: headers, Body: paymentSent, Answers: answers(paymentShown)},
		{
			Name: "approve a payment", Method: http.MethodPost, Path: "/api/v1/payment/approve", Header: headers, Answers: answers(paymentShown),
			Body: published.Object(fields{"correlationID": str.Len(1, 0).Must()}),
		},
		{Name: "read a payment", Method: http.MethodGet, Path: "/api/v1/payment/{id}", Header: headers, Answers: answers(paymentShown)},
		{Name: "list payments", Method: http.MethodGet, Path: "/api/v1/payment", Header: headers, Query: pages, Answers: answers(listOf("payments", paymentShown))},
		readTransaction,
		{
			Name: "list accounts", Method: http.MethodGet, Path: "/api/v1/account/", Header: headers, Query: fields{"email": str, "skip": num, "limit": num},
			Answers: answers(listOf("accounts", published.Object(fields{
				"accountId": str, "isDefault": flag, "taxId": str, "officialName": str, "tradeName": str, "branch": str, "account": str, "accountName": str,
				"balance": published.Object(fields{
					"total": centavos, "blocked": centavos, "available": centavos, "blockedBySecurity": centavos, "blockedByWithdrawSafety": centavos,
				}),
			}))),
		},
	},
	Notices: []published.Notice{
		notice("a payment's", with(paymentOf(paymentWords), fields{ // error: an object with a code
			"error": published.Object(fields{"code": str, "description": str}),
		}), "MOVEMENT_CONFIRMED", "MOVEMENT_FAILED", "MOVEMENT_REMOVED"),
		notice("a return's", fields{"refundTransaction": moved.Must(), "originalTransaction": moved.Must(), "error": str},
			"PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED", "PIX_TRANSACTION_REFUND_RECEIVED_REJECTED"),
	},
}

// Published implements published.Publisher.
func (*fake) Published() published.Table { return theirs }

// Published implements published.Publisher.
func (*payoutFake) Published() published.Table { return theirPayouts }
