package payulatam

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

var (
	documentedValue = published.Object(published.Fields{
		"value": published.Number().Must().In("major units, two decimals at most"), "currency": published.String().Len(3, 3).Must(),
	})

	documentedAddress = published.Object(published.Fields{
		"street1": published.String().Len(0, 150), "street2": published.String().Len(0, 100), "city": published.String().Len(0, 50),
		"state": published.String().Len(0, 40), "country": published.String().Len(2, 2), "postalCode": published.String().Len(0, 20).OrNumber(),
		"phone": published.String().Len(0, 20).OrNumber(),
	})

	documentedMerchant = published.Object(published.Fields{
		"apiLogin": published.String().Len(12, 32).Must(), "apiKey": published.String().Len(6, 32).Must(),
	})

	documentedError = published.Object(published.Fields{
		"code": published.Enum("ERROR").Must(), "error": published.String().Len(1, 2048).Must(), "transactionResponse": published.Object(nil).Open().OrNull(),
		"result": published.Object(nil).Open().OrNull(),
	})

	documentedResponse = published.Fields{
		"orderId": published.Integer(), "transactionId": published.String().Len(36, 36),
		"state":                              published.Enum("APPROVED", "DECLINED", "ERROR", "EXPIRED", "PENDING", "SUBMITTED").Status("APPROVED").Must(),
		"paymentNetworkResponseCode":         published.String().OrNull(),
		"paymentNetworkResponseErrorMessage": published.String().OrNull(), "trazabilityCode": published.String().OrNull(),
		"authorizationCode": published.String().OrNull(), "pendingReason": published.String().OrNull(), "responseCode": published.String().Len(1, 64).OrNull(),
		"errorCode": published.String().OrNull(), "responseMessage": published.String().OrNull(), "transactionDate": published.String().OrNull(),
		"transactionTime": published.String().OrNull(), "operationDate": published.Integer().OrNull(), "referenceQuestionnaire": published.String().OrNull(),
		"extraParameters": published.Object(nil).Open().OrNull(), "additionalInfo": published.Object(nil).Open().OrNull(),
	}

	documentedOrder = published.Object(published.Fields{
		"id": published.Integer().Must(), "accountId": published.Integer().Must(),
		"status": published.Enum(
			"NEW", "IN_PROGRESS", "AUTHORIZED", "CAPTURED", "CANCELLED", "DECLINED", "REFUNDED", "CHARGEBACK",
		).Must(),
		"referenceCode": published.String().Len(1, 255).Must(), "description": published.String().OrNull(), "airlineCode": published.String().OrNull(),
		"language": published.String(), "notifyUrl": published.String().OrNull(), "shippingAddress": published.Object(nil).Open().OrNull(),
		"buyer": published.Object(nil).Open().OrNull(), "antifraudMerchantId": published.String().OrNull(), "isTest": published.Boolean(),
		"additionalValues": published.Object(published.Fields{"TX_VALUE": documentedValue}).Open(),
		"transactions": published.List(published.Object(published.Fields{
			"id": published.String().Len(36, 36).Must(), "order": published.Object(nil).Open().OrNull(), "creditCard": published.Object(nil).Open().OrNull(),
			"bankAccount":         published.Object(nil).Open().OrNull(),
			"type":                published.Enum("AUTHORIZATION", "AUTHORIZATION_AND_CAPTURE", "CAPTURE", "CANCELLATION", "VOID", "REFUND", "PARTIAL_REFUND").Must(),
			"parentTransactionId": published.String().OrNull(), "paymentMethod": published.String().OrNull(), "source": published.String().OrNull(),
			"paymentCountry": published.String().OrNull(), "transactionResponse": published.Object(documentedResponse).OrNull(),
			"deviceSessionId": published.String().OrNull(), "ipAddress": published.String().OrNull(), "cookie": published.String().OrNull(),
			"userAgent": published.String().OrNull(), "expirationDate": published.Anything(), "payer": published.Object(nil).Open().OrNull(),
			"termsAndConditionId": published.Integer().OrNull(), "additionalValues": published.Object(published.Fields{"TX_VALUE": documentedValue}).Open(),
			"extraParameters": published.Object(nil).Open().OrNull(),
		})).Must(),
	})

	// The documents call a telephone, a document and addresses mandatory; their older examples and others' clients leave them out.
	documentedTransaction = published.Object(published.Fields{
		"order": published.Object(published.Fields{
			"accountId": published.Integer().OrText().Must(), "referenceCode": published.String().Len(1, 255).Must(),
			"description": published.String().Len(1, 255).Must(), "language": published.String().Len(2, 2).Must(), "notifyUrl": published.String().Len(0, 2048),
			"partnerId": published.String().Len(0, 255), "signature": published.String().Len(1, 255).Must(), "shippingAddress": documentedAddress,
			"buyer": published.Object(published.Fields{
				"merchantBuyerId": published.String().Len(0, 100), "fullName": published.String().Len(1, 150).Must(),
				"emailAddress": published.String().Len(1, 255).Must(), "contactPhone": published.String().Len(0, 20), "dniNumber": published.String().Len(0, 20),
				"dniType": published.String(), "shippingAddress": documentedAddress,
			}).Must(),
			"additionalValues": published.Object(published.Fields{
				"TX_VALUE": documentedValue.Must(), "TX_TAX": documentedValue, "TX_TAX_RETURN_BASE": documentedValue,
			}).Must(),
		}).Must(),
		"payer": published.Object(published.Fields{
			"merchantPayerId": published.String().Len(0, 100), "fullName": published.String().Len(1, 150).Must(),
			"emailAddress": published.String().Len(1, 255).Must(), "billingAddress": documentedAddress, "birthdate": published.String().Len(0, 10),
			"contactPhone": published.String().Len(0, 20), "dniNumber": published.String().Len(0, 20), "dniType": published.String(),
		}).Must(),
		"type": published.Enum("AUTHORIZATION_AND_CAPTURE").Must(), "paymentMethod": published.String().Len(1, 32).Must(),
		"paymentCountry": published.Enum("AR", "CO", "MX", "PE", "PA", "CL", "BR").Must(), "expirationDate": published.String().Len(19, 23),
		"deviceSessionId": published.String(), "ipAddress": published.String().Len(1, 39).Must(), "cookie": published.String(), "userAgent": published.String(),
	})
)

// documented is typed from PayU's documents alone.
var documented = published.Table{
	Documents: []published.Document{
		{Name: "developers-payu-latam: payments API (Argentina, Colombia, Mexico, Peru), queries API, confirmation page, tables", Version: "42c09c2", Date: "2023-12-26"},
	},
	Refusal: func() (int, string) { return http.StatusOK, `{"code":"ERROR","error":"Invalid request format"}` },
	Strange: []string{"SLEEPING"},
	Calls: []published.Call{
		{
			Name: "payments", Method: http.MethodPost, Path: "/payments-api/4.0/service.cgi",
			Body: published.Either(
				published.Object(published.Fields{
					"language": published.String().Len(2, 2).Must(), "command": published.Enum("SUBMIT_TRANSACTION").Must(), "test": published.Boolean().Must(),
					"merchant": documentedMerchant.Must(), "transaction": documentedTransaction.Must(),
				}),
				published.Object(published.Fields{
					"language": published.String().Len(2, 2).Must(), "command": published.Enum("GET_PAYMENT_METHODS", "PING").Must(),
					"test": published.Boolean().Must(), "merchant": documentedMerchant.Must(),
				}),
			),
			Answers: map[int]published.Value{http.StatusOK: published.Either(
				published.Object(published.Fields{
					"code": published.Enum("SUCCESS").Must(), "error": published.String().OrNull(), "transactionResponse": published.Object(documentedResponse).Must(),
				}),
				published.Object(published.Fields{
					"code": published.Enum("SUCCESS").Must(), "error": published.String().OrNull(),
					"paymentMethods": published.List(published.Object(published.Fields{
						"id": published.String().Must(), "description": published.String().Must(), "country": published.String().Must(),
						"enabled": published.Boolean(), "reason": published.String().OrNull(),
					})).Must(),
				}),
				documentedError,
			)},
		},
		{
			Name: "queries", Method: http.MethodPost, Path: "/reports-api/4.0/service.cgi",
			Body: published.Object(published.Fields{
				"language": published.String().Len(2, 2).Must(), "command": published.Enum("ORDER_DETAIL", "ORDER_DETAIL_BY_REFERENCE_CODE", "TRANSACTION_RESPONSE_DETAIL", "PING").Must(),
				"test": published.Boolean().Must(), "merchant": documentedMerchant.Must(),
				"details": published.Object(published.Fields{
					"referenceCode": published.String().Len(1, 255), "orderId": published.Integer(), "transactionId": published.String().Len(36, 36),
				}),
			}),
			Answers: map[int]published.Value{http.StatusOK: published.Either(
				published.Object(published.Fields{
					"code": published.Enum("SUCCESS").Must(), "error": published.String().OrNull(),
					"result": published.Object(published.Fields{"payload": published.List(documentedOrder).OrNull()}).OrNull(),
				}),
				documentedError,
			)},
		},
	},
	Notices: []published.Notice{{Name: "confirmation", Form: true, Body: published.Object(documentedConfirmation)}},
}

var documentedConfirmation = confirmed()

func confirmed() published.Fields {
	f := published.Fields{
		"merchant_id": published.Integer().Must(), "state_pol": published.String().Len(1, 32).Must(), "reference_sale": published.String().Len(1, 255).Must(),
		"reference_pol": published.String().Len(1, 255), "sign": published.String().Len(1, 255).Must(),
		"value": published.Number().Must().In("major units, two decimals at most"), "currency": published.String().Len(3, 3).Must(),
		"transaction_id": published.String().Len(36, 36), "test": published.Enum("true", "false", "0", "1"), "attempts": published.Integer(),
	}
	for _, name := range []string{
		"risk", "response_code_pol", "extra1", "extra2", "extra3", "payment_method", "payment_method_type", "installments_number", "tax",
		"additional_value", "transaction_date", "email_buyer", "cus", "pse_bank", "description", "billing_address", "shipping_address", "phone",
		"office_phone", "account_number_ach", "account_type_ach", "administrative_fee", "administrative_fee_base", "administrative_fee_tax",
		"airline_code", "authorization_code", "bank_id", "billing_city", "billing_country", "commision_pol", "commision_pol_currency",
		"customer_number", "date", "error_code_bank", "error_message_bank", "exchange_rate", "ip", "nickname_buyer", "nickname_seller",
		"payment_method_id", "payment_request_state", "pse_reference1", "pse_reference2", "pse_reference3", "response_message_pol",
		"shipping_city", "shipping_country", "transaction_bank_id", "payment_method_name", "cc_number", "cc_holder", "bank_referenced_name",
		"franchise", "antifraudMerchantId",
	} {
		f[name] = published.String().Len(0, 255)
	}
	return f
}

// Published implements published.Publisher.
func (*fake) Published() published.Table { return documented }
