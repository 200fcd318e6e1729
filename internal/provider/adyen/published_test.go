package adyen

import (
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// documented is what Adyen publishes about the calls and events of the adapter.
var documented = published.Table{
	Documents: []published.Document{
		{Name: "CheckoutService-v72.json, DisputeService-v30.json and Webhooks-v1.json of Adyen/adyen-openapi", Version: "aa014f0", Date: "2026-07-01"},
		{Name: "docs.adyen.com: OXXO; error codes and messages; response handling; webhook structure and types; dispute webhooks", Date: "2026-09-15"},
	},
	Calls: append(disputeCalls(), []published.Call{
		{
			Name: "make a payment", Method: http.MethodPost, Path: "/payments", Header: keyed, Body: paymentRequest(),
			Answers: answers(http.StatusOK, paymentResponse()),
		},
		{
			Name: "refund a payment", Method: http.MethodPost, Path: "/payments/{paymentPspReference}/refunds", Header: keyed, Body: having(published.Fields{
				"amount": amountOf.Must(), "merchantAccount": text.Must(), "reference": text, "capturePspReference": text, "store": text, "merchantRefundReason": reasons,
			}, "applicationInfo enhancedSchemeData lineItems splits"),
			Answers: answers(http.StatusCreated, having(published.Fields{
				"amount": amountOf.Must(), "merchantAccount": text.Must(), "paymentPspReference": text.Must(), "pspReference": text.Must(),
				"status": published.Enum("received").Must(), "reference": text, "capturePspReference": text, "store": text, "merchantRefundReason": reasons,
			}, "lineItems splits")),
		},
		{
			Name: "create a payment link", Method: http.MethodPost, Path: "/paymentLinks", Header: keyed, Body: link(published.Fields{}),
			Answers: answers(http.StatusCreated, linkResponse()),
		},
		{
			Name: "get a payment link", Method: http.MethodGet, Path: "/paymentLinks/{linkId}", Header: credential,
			Answers: answers(http.StatusOK, linkResponse()),
		},
		{
			Name: "update the status of a payment link", Method: http.MethodPatch, Path: "/paymentLinks/{linkId}", Header: credential,
			Body: published.Object(published.Fields{"status": published.Enum("expired").Must()}), Answers: answers(http.StatusOK, linkResponse()),
		},
		{
			Name: "list the payment methods", Method: http.MethodPost, Path: "/paymentMethods", Header: keyed, Body: having(published.Fields{
				"merchantAccount": text.Must(), "amount": amountOf, "channel": channels, "countryCode": text, "shopperEmail": text, "shopperIP": text,
				"shopperLocale": text, "shopperReference": text, "store": text.Len(1, 16), "telephoneNumber": text, "shopperConversionId": text.Len(0, 256),
				"allowedPaymentMethods": published.List(text), "blockedPaymentMethods": published.List(text), "splitCardFundingSources": published.Boolean(),
				"storeFiltrationMode": published.Enum("exclusive", "inclusive", "skipFilter"),
			}, "additionalData browserInfo order"),
			Answers: answers(http.StatusOK, having(published.Fields{"paymentMethods": published.List(having(published.Fields{
				"type": text, "name": text, "brand": text, "brands": published.List(text), "promoted": published.Boolean(),
				"fundingSource": published.Enum("credit", "debit", "prepaid"),
			}, "apps configuration group inputDetails issuers"))}, "storedPaymentMethods")),
		},
	}...),
	Notices: notices(),
	Refusal: func() (int, string) {
		status, body := fail(http.StatusBadRequest, "702", "validation")
		return status, string(providertest.JSON(body))
	},
	Strange: []string{"perhaps", "quantum", "Quantum", "SETTLED_REVERSED"},
}

// Published implements published.Publisher.
func (*fake) Published() published.Table { return documented }

// documentedEvents are the events by the schema of their additional data; those of "other" say nothing that matters here.
var documentedEvents = map[string]string{
	"authorisation":    "AUTHORISATION",
	"adjustment":       "AUTHORISATION_ADJUSTMENT",
	"cancellation":     "CANCELLATION",
	"cancel or refund": "CANCEL_OR_REFUND",
	"capture":          "CAPTURE",
	"refund":           "REFUND",
	"refund with data": "REFUND_WITH_DATA",
	"failure":          "CAPTURE_FAILED REFUND_FAILED",
	"modification":     "EXPIRE REFUNDED_REVERSED TECHNICAL_CANCEL VOID_PENDING_REFUND",
	"dispute": `CHARGEBACK CHARGEBACK_REVERSED DISPUTE_DEFENSE_PERIOD_ENDED INFORMATION_SUPPLIED NOTIFICATION_OF_CHARGEBACK NOTIFICATION_OF_FRAUD
		PREARBITRATION_ACCEPTED PREARBITRATION_DECLINED PREARBITRATION_ISSUER_WITHDRAWN PREARBITRATION_LOST PREARBITRATION_OPEN PREARBITRATION_WON
		REQUEST_FOR_INFORMATION SCHEME_ARBITRATION SCHEME_ARBITRATION_LOST SCHEME_ARBITRATION_WON SECOND_CHARGEBACK`,
	"dispute, with the issuer's words": "ISSUER_COMMENTS ISSUER_RESPONSE_TIMEFRAME_EXPIRED",
	"other": `AUTHENTICATION AUTORESCUE CANCEL_AUTORESCUE DONATION HANDLED_EXTERNALLY MANUAL_REVIEW_ACCEPT MANUAL_REVIEW_REJECT
		OFFER_CLOSED ORDER_CLOSED ORDER_OPENED PAIDOUT_REVERSED PAYOUT_DECLINE PAYOUT_EXPIRE PAYOUT_THIRDPARTY PENDING POSTPONED_REFUND PROCESS_RETRY
		RECURRING_CONTRACT REPORT_AVAILABLE`,
}

// notices are those of each schema.
func notices() (list []published.Notice) {
	const common = "installments.value merchantOrderReference paymentLinkId bookingDate paymentMethodVariant store"
	for schema, more := range map[string]published.Value{
		"authorisation": free(common + " refusalReasonRaw"), "cancellation": free(common), "refund with data": free(common), "capture": free(ofModification), "other": free(""),
		"adjustment":       extra("adjustAuthorisationData authCode bookingDate merchantAdviceCode paymentMethodVariant"),
		"cancel or refund": extra("modification.action originalMerchantReference authCode " + ofModification + ofFailure),
		"refund":           extra("networkTxDate networkTxReference " + ofModification + ofFailure),
		"failure":          extra("acquirerErrorCode bookingDate coBrandedWith paymentMethodVariant shopperCountry"),
		"modification":     extra("bookingDate paymentMethodVariant"),
		"dispute":          extra(ofDispute), "dispute, with the issuer's words": free(ofDispute),
	} {
		list = append(list, notice(schema, more, documentedEvents[schema]))
	}
	return list
}

const (
	ofModification = `acquirerReference acsRenderingType.acsInterface acsRenderingType.acsUiTemplate arn authenticationType bookingDate checkoutSessionId
		coBrandedWith interactionCounter merchantOrderReference paymentLinkId paymentMethodVariant shopperCountry store `
	ofFailure = "acquirerErrorCode acquirerErrorDescription "
	ofDispute = `InvoiceCreditorAccount arn autoDefended captureMerchantReference capturePspReference chargebackReasonCode chargebackSchemeCode
		defendable defensePeriodEndsAt grossCurrency grossValue modificationMerchantReferences nofReasonCode nofSchemeCode paymentMethodVariant
		rfiReasonCode rfiSchemeCode shopperReference`
)

var (
	text       = published.String()
	instant    = text.Match(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	amountOf   = published.Object(published.Fields{"value": published.Integer().Must().In("minor units; CLP has two decimals"), "currency": text.Len(3, 3).Must()})
	credential = published.Fields{"X-API-Key": text.Must()}
	keyed      = published.Fields{"X-API-Key": text.Must(), "Idempotency-Key": text.Len(1, 64)}
	channels   = published.Enum("iOS", "Android", "Web")
	reasons    = published.Enum("FRAUD", "CUSTOMER REQUEST", "RETURN", "DUPLICATE", "OTHER").OrNull()
	// At most twenty pairs; a key has 20 characters.
	metadata    = published.Object(published.Fields{"order": text.Len(1, 80)})
	locale      = text.Len(1, 32).Match(`[a-z]{2}-[A-Z]{2}`)
	telephone   = text.Len(1, 32).Match(`\+\d{5,18}`)
	shopperName = published.Object(published.Fields{"firstName": text.Len(1, 80).Must(), "lastName": text.Len(1, 80).Must()})
)

// having is an object with these fields, and others of which nothing matters here.
func having(fields published.Fields, others string) published.Value {
	for _, other := range strings.Fields(others) {
		fields[other] = published.Anything()
	}
	return published.Object(fields)
}

// answers are those of a call that succeeds with a status. All calls have the same errors.
func answers(status int, success published.Value) map[int]published.Value {
	problem := having(published.Fields{"status": published.Integer(), "errorCode": text, "message": text, "errorType": text, "pspReference": text}, "additionalData")
	list := map[int]published.Value{status: success}
	for _, failed := range []int{400, 401, 403, 422, 429, 500} {
		list[failed] = problem
	}
	return list
}

func paymentRequest() published.Value {
	return having(published.Fields{
		"amount": amountOf.Must(), "merchantAccount": text.Must(), "reference": text.Len(1, 80).Must(), "returnUrl": text.Len(1, 1024).Must(),
		"paymentMethod":     having(published.Fields{"type": published.Enum("pix", "oxxo")}, "checkoutAttemptId pixRecurring sdkData storedPaymentMethodId").Must(),
		"captureDelayHours": published.Integer(), "channel": channels, "checkoutAttemptId": text.Len(0, 256), "countryCode": text.Len(0, 100), "dateOfBirth": text,
		"merchantOrderReference": text.Len(1, 1000), "origin": text.Len(0, 80), "sessionValidity": instant,
		"shopperEmail": text.Len(1, 256), "shopperIP": text.Len(1, 50), "shopperLocale": locale, "metadata": metadata, "shopperName": shopperName, "shopperReference": text.Len(3, 256),
		"shopperStatement": text.Len(0, 10_000), "socialSecurityNumber": text.Len(1, 50), "store": text.Len(1, 64), "telephoneNumber": telephone,
	}, `accountInfo additionalAmount additionalData applicationInfo authenticationData bankAccount billingAddress browserInfo company dccQuote deliverAt
		deliveryAddress deliveryDate deviceFingerprint enableOneClick enablePayOut enableRecurring enhancedSchemeData entityType fraudOffset fundOrigin
		fundRecipient industryUsage installments lineItems localizedShopperStatement mandate mcc merchantRiskIndicator mpiData order orderReference
		paymentValidations platformChargebackLogic recurringExpiry recurringFrequency recurringProcessingModel redirectFromIssuerMethod
		redirectToIssuerMethod riskData shopperConversionId shopperInteraction shopperTaxInfo splits storePaymentMethod subMerchants surcharge
		threeDS2RequestData threeDSAuthenticationOnly trustedShopper`)
}

func paymentResponse() published.Value {
	return having(published.Fields{
		"pspReference": text, "merchantReference": text, "amount": amountOf, "refusalReason": text, "refusalReasonCode": text, "donationToken": text,
		"resultCode": published.Enum("AuthenticationFinished", "AuthenticationNotRequired", "Authorised", "Cancelled", "ChallengeShopper", "Error", "IdentifyShopper",
			"PartiallyAuthorised", "Pending", "PresentToShopper", "Received", "RedirectShopper", "Refused", "Success").Status("Authorised", "PartiallyAuthorised"),
		"paymentMethod": published.Object(published.Fields{"brand": text, "type": text}),
		"action": published.Either(
			published.Object(published.Fields{"type": published.Enum("qrCode").Must(), "qrCodeData": text, "expiresAt": text, "paymentData": text, "paymentMethodType": text, "url": text}),
			having(published.Fields{
				"type": published.Enum("voucher").Must(), "reference": text, "alternativeReference": text, "downloadUrl": text, "expiresAt": text, "entity": text,
				"initialAmount": amountOf, "totalAmount": amountOf, "surcharge": amountOf, "instructionsUrl": text, "merchantName": text, "merchantReference": text,
				"paymentData": text, "paymentMethodType": text, "url": text, "issuer": text, "shopperEmail": text, "shopperName": text,
			}, "collectionInstitutionNumber maskedTelephoneNumber passCreationToken"),
			having(published.Fields{"type": published.Enum("await", "redirect", "bankTransfer", "sdk", "threeDS2", "delegatedAuthentication", "nativeRedirect").Must()}, "url paymentData paymentMethodType"),
		),
	}, "additionalData fraudResult order paymentValidations threeDS2ResponseData threeDS2Result threeDSPaymentData")
}

// link is a payment link's request, or its answer with more fields.
func link(more published.Fields) published.Value {
	fields := published.Fields{
		"installmentOptions": published.Object(published.Fields{"card": published.Object(published.Fields{
			"maxValue": published.Integer(), "preselectedValue": published.Integer(), "values": published.List(published.Integer()), "plans": published.List(text),
		})}),
		"amount": amountOf.Must(), "merchantAccount": text.Must(), "reference": text.Len(1, 80).Must(), "description": text.Len(1, 280), "expiresAt": instant,
		"allowedPaymentMethods": published.List(text), "blockedPaymentMethods": published.List(text), "captureDelayHours": published.Integer(),
		"countryCode": text.Len(0, 100), "dateOfBirth": text, "manualCapture": published.Boolean(), "merchantOrderReference": text.Len(1, 1000),
		"requiredShopperFields": published.List(published.Enum("billingAddress", "deliveryAddress", "shopperEmail", "shopperName", "telephoneNumber")),
		"returnUrl":             text.Len(1, 8000), "reusable": published.Boolean(), "shopperEmail": text.Len(1, 500), "shopperLocale": locale, "metadata": metadata, "shopperName": shopperName,
		"shopperReference": text.Len(3, 256), "shopperStatement": text.Len(0, 10_000), "showRemovePaymentMethodButton": published.Boolean(),
		"socialSecurityNumber": text.Len(1, 32), "splitCardFundingSources": published.Boolean(), "store": text,
		"storePaymentMethodMode": published.Enum("askForConsent", "disabled", "enabled"), "telephoneNumber": telephone, "themeId": text,
	}
	for field, value := range more {
		fields[field] = value
	}
	return having(fields, `applicationInfo billingAddress deliverAt deliveryAddress fundOrigin fundRecipient lineItems mcc
		platformChargebackLogic recurringProcessingModel riskData splits threeDS2RequestData`)
}

func linkResponse() published.Value {
	return link(published.Fields{
		"id": text.Must(), "url": text.Must(), "updatedAt": instant,
		"status": published.Enum("active", "completed", "expired", "paid", "paymentPending").Status("completed", "paid").Must(),
	})
}

// notice is a message with one item about one of these events.
func notice(name string, more published.Value, events string) published.Notice {
	item := published.Object(published.Fields{
		"pspReference": text.Must(), "merchantReference": text.Must(), "merchantAccountCode": text.Must(), "eventDate": instant.Must(), "amount": amountOf.Must(),
		"eventCode": published.Enum(strings.Fields(events)...).Must(), "success": published.Enum("true", "false").Must(), "originalReference": text,
		"paymentMethod": text, "reason": text, "operations": published.List(published.Enum("CAPTURE", "CANCEL", "REFUND")), "additionalData": more,
	})
	return published.Notice{Name: name, Body: published.Object(published.Fields{
		"live": published.Enum("true", "false"), "notificationItems": published.List(published.Object(published.Fields{"NotificationRequestItem": item.Must()})).Len(1, 1),
	})}
}

// extra are additional data with these fields alone.
func extra(fields string) published.Value {
	data := published.Fields{
		"hmacSignature": text.Must(), "disputeStatus": published.Enum("Unresponded", "Responded", "Expired", "Undefended", "Accepted", "Pending", "Lost", "Won"),
	}
	if fields != ofDispute {
		delete(data, "disputeStatus")
	}
	for _, field := range strings.Fields(fields) {
		data[field] = text
	}
	return published.Object(data)
}

// free are additional data with further fields, whose names depend on the payment.
func free(fields string) published.Value { return extra(fields).Open() }
