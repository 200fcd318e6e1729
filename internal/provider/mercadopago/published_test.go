package mercadopago

import (
	"maps"
	"strings"

	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// sources are where the table of charges is typed from.
var sources = []published.Document{
	{Name: "spec3.yaml and schemas of mercadopago/openapi", Version: "f224df3", Date: "2026-06-24"},
	{Name: "reference/api-json/payments.json and chargebacks.json of mercadopago/devsite-docs", Version: "017e897c, 0276650c", Date: "2026-11-28"},
	{Name: "reference: upload supporting documentation", Version: "mercadopago.com.mx/developers", Date: "2026-10-08"},
	{Name: "types and fixtures of mercadopago/sdk-go", Version: "f910ee5", Date: "2026-08-11"},
	{Name: "guides: refund of transactions with Pix; notifications, additional information", Version: "mercadopago.com/developers", Date: "2026-11-28"},
	{Name: "src/Refund/RefundHandler.php of mercadopago/cart-woocommerce, for the metadata of a refund", Version: "4ecb9e8", Date: "2026-04-22"},
}

// Published holds the fake to what Mercado Pago publishes about payments.
func (*fake) Published() published.Table {
	return published.Table{Documents: sources, Calls: paymentCalls(), Notices: webhooks(), Refusal: wrongParameters, Strange: []string{"quux"}}
}

// wrongParameters is the answer to a field that it does not know (sdk-php#38).
func wrongParameters() (status int, body string) {
	return 400, `{"message":"The name of the following parameters is wrong","error":"bad_request","status":400,"cause":[{"code":8,"description":"The name of the parameters is wrong.","data":null}]}`
}

func words(list string) published.Value { return published.Enum(strings.Fields(list)...) }

var (
	moment = published.String().Match(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?(Z|[+-]\d\d:?\d\d)`)
	link   = published.String().Match(`https?://.+`)
	name   = published.String().OrNull() // a text that says nothing to a client of payments
	some   = published.Object(nil).Open()
	price  = published.Number().In("major units, as many decimals as the currency has")
	site   = words("ARS BRL MXN CLP COP PEN UYU BOB PYG USD CRC DOP HNL NIO GTQ VES")
	key    = published.String().Match(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

// bearer are the headers of every call; a write may have a key.
func bearer(more published.Fields) published.Fields {
	all := published.Fields{"Authorization": published.String().Match(`Bearer \S+`).Must()}
	maps.Copy(all, more)
	return all
}

// problemBody is an error. The second form is that of the edge's policies.
var problemBody = published.Either(
	published.Object(published.Fields{
		"status": published.Integer().Must(), "error": published.String().Must(), "message": published.String().Must(),
		"cause": published.List(published.Object(published.Fields{"code": published.Integer().OrText(), "description": published.String(), "data": published.String().OrNull()})),
	}),
	published.Object(published.Fields{"code": published.String().Must(), "message": published.String(), "status": published.Integer().Must(), "blocked_by": published.String()}),
)

// or adds the errors that the OpenAPI document has for its calls.
func or(status int, body published.Value) map[int]published.Value {
	all := map[int]published.Value{200: body, status: body}
	for _, code := range []int{400, 401, 403, 404, 422, 429, 500} {
		all[code] = problemBody
	}
	return all
}

var identificationValue = published.Object(published.Fields{"type": published.String(), "number": published.String()})

// detailWords are the documented details of a payment's status.
const detailWords = `accredited partially_refunded pending_capture pending_review_manual pending_contingency pending_challenge pending_waiting_payment
	pending_waiting_transfer pending_waiting_for_remedy pending_provider_response pending deferred_retry in_process expired settled reimbursed refunded offline_process
	by_payer by_collector by_admin bpp_refunded bpp_covered partially_bpp_refunded partially_bpp_covered bank_error rejected_by_bank bank_rejected
	rejected_by_regulations rejected_high_risk rejected_insufficient_data rejected_other_reason rejected_by_biz_rule insufficient_amount payer_unavailable
	collector_unavailable cc_rejected_3ds_challenge cc_rejected_3ds_mandatory cc_rejected_bad_filled_card_number cc_rejected_bad_filled_date
	cc_rejected_bad_filled_other cc_rejected_bad_filled_security_code cc_rejected_blacklist cc_rejected_call_for_authorize cc_rejected_card_disabled
	cc_rejected_card_error cc_rejected_card_type_not_allowed cc_rejected_duplicated_payment cc_rejected_high_risk cc_rejected_insufficient_amount
	cc_rejected_invalid_installments cc_rejected_max_attempts cc_rejected_other_reason cc_rejected_time_out cc_amount_rate_limit_exceeded`

var refundValue = published.Object(published.Fields{
	"id": published.Integer().Must(), "payment_id": published.Integer(), "amount": price.Must(), "metadata": some, "date_created": moment,
	"source":                 published.Object(published.Fields{"id": published.String(), "name": published.String(), "type": published.String()}),
	"unique_sequence_number": name, "refund_mode": words("standard instant"), "adjustment_amount": published.Number().OrNull(),
	"status": words("approved in_process rejected").Must(), "reason": name, "label": name, "partition_details": published.List(some),
})

// paymentValue is a payment, whole: what a client of payments does not read is typed too, as the fake may answer it.
var paymentValue = published.Object(published.Fields{
	"id": published.Integer().Must(), "date_created": moment.Must(), "date_approved": moment.OrNull(), "date_last_updated": moment, "date_of_expiration": moment.OrNull(),
	"money_release_date": moment.OrNull(), "money_release_status": name, "money_release_schema": name, "issuer_id": name, "payment_method_id": published.String(),
	"operation_type":  words("regular_payment money_transfer recurring_payment account_fund payment_addition cellphone_recharge pos_payment money_exchange"),
	"payment_type_id": words("account_money ticket bank_transfer atm credit_card debit_card prepaid_card digital_currency digital_wallet voucher_card crypto pix"),
	"payment_method": published.Object(published.Fields{
		"id": name, "type": name, "issuer_id": name,
		"data": published.Object(published.Fields{"reference_id": name, "external_reference_id": name, "external_resource_url": name, "rules": some}),
	}),
	"status": published.Either( // a rejection has another detail than the suite's open payment: TestEachDeclineHasItsReason
		words("pending approved authorized in_process in_mediation cancelled refunded charged_back").Status("approved", "in_mediation", "refunded", "charged_back"),
		words("rejected"),
	).Must(),
	"status_detail": words(detailWords), "currency_id": site.Must(), "description": name, "live_mode": published.Boolean(), "sponsor_id": published.Integer().OrNull(),
	"authorization_code": name, "integrator_id": name, "platform_id": name, "corporation_id": name, "collector_id": published.Integer(), "payer": some,
	"metadata": some, "internal_metadata": some, "additional_info": some, "external_reference": published.String().OrNull(),
	"order":              published.Object(published.Fields{"id": published.String().OrNumber(), "type": published.String()}),
	"transaction_amount": price.Must(), "transaction_amount_refunded": price, "coupon_amount": published.Number(), "taxes_amount": published.Number(),
	"shipping_amount": published.Number(), "net_amount": published.Number().OrNull(), "installments": published.Integer(), "taxes": published.List(some),
	"differential_pricing_id": published.Integer().OrNull(), "deduction_schema": name, "callback_url": name, "coupon_code": name,
	"transaction_details": published.Object(published.Fields{
		"net_received_amount": published.Number(), "total_paid_amount": published.Number(), "overpaid_amount": published.Number(), "installment_amount": published.Number(),
		"external_resource_url": name, "payment_method_reference_id": name, "acquirer_reference": name, "financial_institution": name, "digitable_line": name,
		"payable_deferral_period": name, "transaction_id": name, "verification_code": name, "bank_transfer_id": published.Integer().OrNull(),
		"barcode": published.Object(published.Fields{"content": published.String()}),
	}),
	"fee_details": published.List(some), "charges_details": published.List(some), "captured": published.Boolean(), "binary_mode": published.Boolean(),
	"call_for_authorize_id": name, "statement_descriptor": name, "card": some, "notification_url": name, "refunds": published.List(refundValue),
	"processing_mode": words("aggregator gateway"), "merchant_account_id": name, "merchant_number": name, "three_ds_info": some, "counter_currency": some.OrNull(),
	"point_of_interaction": published.Object(published.Fields{
		"type": published.String(), "sub_type": name, "linked_to": name, "application_data": some, "business_info": some, "location": some,
		"transaction_data": published.Object(published.Fields{
			"qr_code": published.String(), "qr_code_base64": published.String(), "ticket_url": published.String(), "transaction_id": name, "bank_info": some,
			"bank_transfer_id": published.Integer().OrNull(), "financial_institution": published.Integer().OrNull(),
		}),
	}),
})

// paymentBody is a request for a payment. The payer's names and entity_type are in the reference and the SDKs alone.
var paymentBody = published.Object(published.Fields{
	"transaction_amount": price.Must(), "description": published.String(), "payment_method_id": published.String().Must(), "external_reference": published.String().Len(1, 256),
	"notification_url": link, "callback_url": link, "date_of_expiration": moment, "metadata": some, "installments": published.Integer(), "capture": published.Boolean(),
	"payer": published.Object(published.Fields{
		"email": published.String().Match(`\S+@\S+`).Must(), "id": published.String(), "type": words("customer registered guest"), "identification": identificationValue,
		"first_name": published.String(), "last_name": published.String(), "entity_type": words("individual association"),
	}).Must(),
})

var pageFields = published.Fields{
	"items": published.List(published.Object(published.Fields{
		"id": published.String(), "title": published.String().Must(), "description": published.String(), "picture_url": name, "category_id": published.String(),
		"quantity": published.Integer().Must(), "currency_id": site, "unit_price": price.Must(),
	})).Len(1, 0).Must(),
	"payer": published.Object(published.Fields{
		"name": published.String(), "surname": published.String(), "email": published.String(), "identification": identificationValue, "phone": some, "address": some,
		"date_created": moment.OrNull(), "last_purchase": moment.OrNull(),
	}),
	"payment_methods": published.Object(published.Fields{
		"excluded_payment_methods":  published.List(published.Object(published.Fields{"id": published.String().Must()})),
		"excluded_payment_types":    published.List(published.Object(published.Fields{"id": published.String().Must()})),
		"default_payment_method_id": name, "default_card_id": name, "installments": published.Integer().OrNull(), "default_installments": published.Integer().OrNull(),
	}),
	"back_urls":        published.Object(published.Fields{"success": published.String(), "pending": published.String(), "failure": published.String()}),
	"notification_url": link.OrNull(), "statement_descriptor": published.String().Len(0, 22), "additional_info": published.String(), "auto_return": words("approved all"),
	"external_reference": published.String().Len(1, 256), "expires": published.Boolean(), "expiration_date_from": moment.OrNull(), "expiration_date_to": moment.OrNull(),
	"date_of_expiration": moment.OrNull(), "marketplace": published.String(), "marketplace_fee": published.Number(), "binary_mode": published.Boolean(),
	"purpose": words("wallet_purchase onboarding_credits"), "metadata": some,
}

// pageValue is an answer that is a preference.
func pageValue() published.Value {
	all := published.Fields{
		"id": published.String().Must(), "init_point": link.Must(), "sandbox_init_point": link, "client_id": published.String(), "collector_id": published.Integer(),
		"date_created": moment, "last_updated": moment.OrNull(), "total_amount": published.Number().OrNull(), "operation_type": published.String(), "site_id": published.String(),
		"redirect_urls": some, "shipments": some, "internal_metadata": some.OrNull(), "coupon_code": name, "coupon_labels": name, "product_id": name,
		"processing_modes": published.List(published.String()).OrNull(),
	}
	maps.Copy(all, pageFields)
	return published.Object(all)
}

// foundPage is a preference in a search: its items are titles, and there is no address.
var foundPage = published.Object(published.Fields{
	"id": published.String().Must(), "client_id": published.String(), "collector_id": published.Integer(), "concept_id": name, "corporation_id": name,
	"date_created": moment, "expiration_date_from": moment.OrNull(), "expiration_date_to": moment.OrNull(), "expires": published.Boolean(),
	"external_reference": published.String(), "integrator_id": name, "items": published.List(published.String()), "last_updated": moment.OrNull(),
	"live_mode": published.Boolean(), "marketplace": published.String(), "operation_type": published.String(), "payer_email": name, "payer_id": name,
	"platform_id": name, "processing_modes": published.List(published.String()).OrNull(), "product_id": name, "purpose": name, "site_id": published.String(),
	"sponsor_id": published.Integer(), "shipping_mode": published.String(),
})

// documentValue is a document of a chargeback; uuid is in the newer reference.
var documentValue = published.Object(published.Fields{"type": published.String(), "url": published.String(), "description": published.String(), "uuid": published.String()})

// documentAnswers are those to an upload: a success has no body in the one place, and a list in the other. The errors are words in a table; that they
// are in error is as in the other calls.
func documentAnswers() map[int]published.Value {
	all := or(200, published.List(documentValue))
	all[413], all[415] = problemBody, problemBody
	return all
}

// chargebackValue has the fields of the reference and those of the SDKs.
var chargebackValue = published.Object(published.Fields{
	"id": published.String().Must(), "amount": price.OrText(), "currency": site, "reason": published.String(),
	"payments":         published.Either(published.List(published.Integer().OrText()), published.List(published.Object(published.Fields{"id": published.Integer().OrText()}))),
	"coverage_applied": published.Boolean().OrText().OrNull(), "coverage_elegible": published.Boolean().OrText(), "documentation_required": published.Boolean().OrText(),
	"documentation_status":        words("pending review_pending valid invalid not_supplied not_applicable").OrNull(),
	"documentation":               published.List(documentValue),
	"date_documentation_deadline": moment.OrNull(), "date_created": moment, "date_last_updated": moment, "live_mode": published.Boolean().OrText(),
	"payment_id": published.Integer(), "currency_id": site, "reason_id": published.String(), "status": published.String(), "last_modified": moment,
})

var pagingValue = published.Object(published.Fields{"total": published.Integer().Must(), "limit": published.Integer(), "offset": published.Integer()}).Must()

func paymentCalls() []published.Call {
	keyed := bearer(published.Fields{"X-Idempotency-Key": key.Must()})
	may := bearer(published.Fields{"X-Idempotency-Key": key}) // the SDKs send one with every write
	refunds := bearer(published.Fields{"X-Render-In-Process-Refunds": words("true false")})
	refunding := bearer(published.Fields{"X-Idempotency-Key": key.Must(), "X-Render-In-Process-Refunds": words("true false")})
	window := published.Fields{"limit": published.Integer(), "offset": published.Integer(), "external_reference": published.String().Len(1, 256)}
	search := maps.Clone(window)
	maps.Copy(search, published.Fields{"sort": published.String().Must(), "criteria": words("asc desc").Must(), "status": published.String(), "range": published.String()})
	return []published.Call{
		{Name: "payment methods", Method: "GET", Path: "/v1/payment_methods", Header: bearer(nil), Answers: or(200, published.List(published.Object(published.Fields{
			"id": published.String().Must(), "name": published.String(), "payment_type_id": published.String(), "status": published.String(),
		})))},
		{Name: "create a payment", Method: "POST", Path: "/v1/payments", Header: keyed, Body: paymentBody, Answers: or(201, paymentValue)},
		{Name: "read a payment", Method: "GET", Path: "/v1/payments/{id}", Header: bearer(nil), Answers: or(200, paymentValue)},
		{Name: "search payments", Method: "GET", Path: "/v1/payments/search", Header: bearer(nil), Query: search, Answers: or(200, published.Object(published.Fields{
			"paging": pagingValue, "results": published.List(paymentValue).Must(),
		}))},
		{Name: "cancel a payment", Method: "PUT", Path: "/v1/payments/{id}", Header: may, Answers: or(200, paymentValue), Body: published.Object(published.Fields{
			"status": words("cancelled").Must(), "capture": published.Boolean(), "transaction_amount": price, "date_of_expiration": moment,
		})},
		{Name: "refund", Method: "POST", Path: "/v1/payments/{id}/refunds", Header: refunding, Answers: or(201, refundValue), Body: published.Object(published.Fields{
			"amount": price, "metadata": some,
		})},
		{Name: "refunds of a payment", Method: "GET", Path: "/v1/payments/{id}/refunds", Header: refunds, Answers: or(200, published.List(refundValue))},
		{Name: "read a refund", Method: "GET", Path: "/v1/payments/{id}/refunds/{refund_id}", Header: refunds, Answers: or(200, refundValue)},
		{Name: "create a preference", Method: "POST", Path: "/checkout/preferences", Header: may, Body: published.Object(pageFields), Answers: or(201, pageValue())},
		{Name: "read a preference", Method: "GET", Path: "/checkout/preferences/{id}", Header: bearer(nil), Answers: or(200, pageValue())},
		{Name: "change a preference", Method: "PUT", Path: "/checkout/preferences/{id}", Header: may, Body: published.Object(pageFields), Answers: or(200, pageValue())},
		{Name: "search preferences", Method: "GET", Path: "/checkout/preferences/search", Header: bearer(nil), Query: window, Answers: or(200, published.Object(published.Fields{
			"elements": published.List(foundPage).OrNull().Must(), "total": published.Integer().Must(), "next_offset": published.Integer(),
		}))},
		{Name: "read a chargeback", Method: "GET", Path: "/v1/chargebacks/{id}", Header: bearer(nil), Answers: or(200, chargebackValue)},
		{
			Name: "send documents of a chargeback", Method: "POST", Path: "/v1/chargebacks/{id}/documentation", Parts: true, Header: bearer(published.Fields{"X-Caller-Id": published.Integer()}),
			Body: published.Object(published.Fields{"files": published.List(published.File("image/jpeg", "image/png", "application/pdf")).Must()}), Answers: documentAnswers(),
		},
		{
			Name: "chargebacks of a payment", Method: "GET", Path: "/v1/chargebacks/search", Header: bearer(nil), Query: published.Fields{"payment_id": published.Integer().Must()},
			Answers: or(200, published.Object(published.Fields{"paging": pagingValue, "results": published.List(chargebackValue).Must()})),
		},
		{Name: "read a claim", Method: "GET", Path: "/post-purchase/v1/claims/{id}", Header: bearer(nil), Answers: or(200, published.Object(published.Fields{
			"id": published.Integer().Must(), "type": published.String(), "stage": published.String(), "status": words("opened closed cancelled"), "date_created": moment, "last_updated": moment,
			"resource": words("payment shipment order purchase"), "resource_id": published.Integer().OrText(), "reason_id": published.String(), "players": published.List(some),
		}))},
	}
}

// webhooks are the notifications. Those of a fraud alert name no object in their address.
func webhooks() []published.Notice {
	signed := published.Fields{"X-Signature": published.String().Match(`ts=\d{10,13},v1=[0-9a-f]{64}`).Must(), "X-Request-Id": published.String().Must()}
	body := func(kinds string, data published.Fields) published.Value {
		return published.Object(published.Fields{
			"id": published.Integer().OrText().Must(), "type": words(kinds).Must(), "live_mode": published.Boolean(), "date_created": moment, "user_id": published.Integer().OrText(),
			"api_version": published.String(), "action": published.String(), "version": published.Integer(), "data": published.Object(data).Must(),
		})
	}
	about := published.Fields{"data.id": published.String().Must(), "type": published.String(), "source_news": words("webhooks")}
	id := published.Fields{"id": published.String().Must()}
	return []published.Notice{
		{Name: "a payment", Header: signed, Query: about, Body: body("payment", id)},
		{Name: "a chargeback", Header: signed, Query: about, Body: body("chargebacks topic_chargebacks_wh", id)},
		{Name: "a claim", Header: signed, Query: about, Body: body("claim topic_claims_integration_wh", id)},
		{
			Name: "a fraud alert", Header: signed, Query: published.Fields{"type": published.String(), "source_news": words("webhooks")},
			Body: body("stop_delivery_op_wh delivery_cancellation", published.Fields{
				"description": published.String(), "merchant_order": published.Integer(), "payment_id": published.Integer().Must(), "site_id": published.String(),
			}),
		},
	}
}
