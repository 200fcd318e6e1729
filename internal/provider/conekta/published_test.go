package conekta

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// From conekta/openapi: the files of schemas, resources, requestBodies and parameters. Where its examples (schemas/orders/examples) or the
// answers of its Mockoon file (mocks/conekta_api.json) have more than the schemas, both are allowed, and "example" or "mock" says so.
// order_card.yml is left out: it is no order, and its values end in commas.

type fields = published.Fields

var (
	str   = published.String()
	num   = published.Integer()
	flag  = published.Boolean()
	cents = num.In("minor units")
	unix  = num.In("seconds since 1970")
	free  = published.Object(nil).Open()
)

// listOf is pagination.yml and page.yml. The total is of the examples.
func listOf(v published.Value) published.Value {
	return published.Object(fields{
		"object": published.Enum("list").Must(), "has_more": flag.Must(), "data": published.List(v), "total": num,
		"next_page_url": str.OrNull(), "previous_page_url": str.OrNull(),
	})
}

func with(base, more fields) published.Value {
	all := fields{}
	for _, some := range []fields{base, more} {
		for name, v := range some {
			all[name] = v
		}
	}
	return published.Object(all)
}

// orderStates are the names of the events of orders that are states (mocks/conekta_api.json, a webhook's events; the page
// developers.conekta.com/docs/order, read on 2026-11-28). The schema has no enum, and its example is "paid". partially_paid is in the page
// docs/reintentos-de-pago, of version 2.1.0: of orders whose charges are parts of the amount.
var orderStates = published.Enum("pending_payment", "paid", "declined", "expired", "canceled", "voided", "fraudulent", "under_fraud_review", "pre_authorized",
	"refunded", "partially_refunded", "charged_back", "partially_paid").Status("paid", "refunded", "partially_refunded", "charged_back")

// chargeStates are the names of the events of charges that are states (the same file; docs/charge), and those of the mock's charges:
// pending_payment and partially_refunded.
var chargeStates = published.Enum("pending_payment", "paid", "declined", "expired", "canceled", "fraudulent", "under_fraud_review", "preauthorized",
	"pending_confirmation", "refunded", "partially_refunded", "reversed").Status("paid", "refunded", "partially_refunded", "reversed")

// chargebackSchema is chargeback_response.yml.
var chargebackSchema = published.Object(fields{
	"id": str, "object": str, "charge_id": str, "created_at": unix, "evidence_due_by": unix, "note": str.OrNull(), "response_from_client": str.OrNull(),
	"status":          published.Enum("won", "lost", "action_required", "pending_review", "under_review", "covered", "rt", "rt_sent", "represented"),
	"followup_status": published.Enum("customer_uncontacted", "customer_contacted", "customer_unreachable").OrNull(),
	"reason": published.Enum("unrecognized", "unauthorized", "unauthorized_by_client", "unrecognized_like_fraud", "insufficient_evidence", "illegible_evidence",
		"general", "late_evidence", "incorrect_exchange", "fraudulent_business", "billing", "twice_transaction", "transaction_not_refunded", "bank_doc_request",
		"unrecognized_purchase", "subscription_canceled", "copy_of_purchase", "differents_amounts", "subscription_not_requested", "damaged_products",
		"show_documents", "duplicate", "fraudulent", "service_canceled", "product_unacceptable", "product_not_received", "incorrect_amount",
		"chip_liabiliaty_shift", "credit_not_processed"),
	"files": published.List(published.Object(fields{"id": str, "file_name": str, "url": str.OrNull(), "created_at": unix})),
})

// channelSchema is in orders and charges. Null, and the original request: examples.
var channelSchema = published.Object(fields{
	"segment": str, "checkout_request_id": str, "checkout_request_type": str, "id": str,
	"original_checkout_request_id": str.OrNull(), "original_checkout_request_type": str.OrNull(),
}).OrNull()

// method is one of charge_payment_method_*_response.yml, told apart by object.
func method(object string, more fields) published.Value {
	return with(fields{"object": published.Enum(object).Must(), "type": str, "customer_ip_address": str}, more)
}

var methods = published.Either(
	method("cash_payment", fields{ // the agreement's null, the reference as a number and the stores' names: examples
		"agreement": str.OrNull(), "auth_code": num.OrNull(), "cashier_id": str.OrNull(), "reference": str.OrNumber(), "barcode_url": str, "expires_at": unix,
		"product_type": str, "service_name": str, "store": str.OrNull(), "store_name": str, "store_names": published.List(str),
	}),
	method("card_payment", fields{ // from antifraud_flag on, and the nulls: mock
		"account_type": str, "auth_code": str.OrNull(), "brand": str, "contract_id": str.OrNull(), "country": str, "exp_month": str, "exp_year": str,
		"fraud_indicators": published.List(published.Anything()), "issuer": str, "last4": str, "name": str,
		"antifraud_flag": str, "antifraud_is_self_service_rules": flag, "fraud_score": num.OrNull(), "normalized_device_fingerprint": str.OrNull(),
		"three_ds_flow_required": flag, "token_id": str,
	}),
	method("bank_transfer_payment", fields{
		"bank": str, "clabe": str, "description": str.OrNull(), "executed_at": str.OrNull(), "expires_at": unix, "issuing_account_bank": str.OrNull(),
		"issuing_account_number": str.OrNull(), "issuing_account_holder_name": str.OrNull(), "issuing_account_tax_id": str.OrNull(),
		"payment_attempts": published.List(published.Anything()), "receiving_account_holder_name": str.OrNull(), "receiving_account_number": str,
		"receiving_account_bank": str, "receiving_account_tax_id": str.OrNull(), "reference_number": str.OrNull(), "tracking_code": str.OrNull(),
	}),
	method("bnpl_payment", fields{
		"product_type": str.Must(), "expires_at": unix.Must(), "cancel_url": str, "failure_url": str, "redirect_url": str, "success_url": str,
	}),
	method("pay_by_bank_payment", fields{
		"deep_link": str.Must(), "expires_at": unix.Must(), "product_type": str.Must(), "redirect_url": str.Must(), "reference": str.Must(),
	}),
)

// refundSchema is in charge_response.yml. The schema has no enum of its status, and its example is "pending"; the others are the names of the
// events cash_refund.* (mock).
var refundSchema = published.Object(fields{
	"object": published.Enum("refund").Must(), "id": str.Must(), "amount": cents.Must(), "created_at": unix.Must(), "auth_code": str, "expires_at": unix,
	"status": published.Enum("pending", "created", "refunded", "canceled", "expired"),
})

// chargeSchema is charge_response.yml. The nulls of the failure, of description and device_fingerprint, and is_refundable and
// monthly_installments: examples. customer_custom_reference, fee and session_id: mock.
var chargeSchema = published.Object(fields{
	"id": str.Must(), "object": published.Enum("charge").Must(), "order_id": str.Must(), "created_at": unix.Must(), "currency": str.Must(), "livemode": flag.Must(),
	"status": chargeStates.Must(), "amount": cents, "channel": channelSchema, "conekta_account_id": str.OrNull(), "customer_id": str, "description": str.OrNull(),
	"device_fingerprint": str.OrNull(), "failure_code": str.OrNull(), "failure_message": str.OrNull(), "paid_at": unix.OrNull(), "payment_method": methods,
	"reference_id": str.OrNull(), "refunds": listOf(refundSchema).OrNull(), "chargeback": chargebackSchema.OrNull(),
	"is_refundable": flag, "monthly_installments": num.OrNull(), "customer_custom_reference": str.OrNull(), "fee": cents, "session_id": str.OrNull(),
})

// checkoutSchema is in order_response.yml. Null, payments_limit_count, plan_id and three_ds_mode: examples.
var checkoutSchema = published.Object(fields{
	"id": str.Must(), "livemode": flag.Must(), "name": str.Must(), "object": published.Enum("checkout").Must(), "type": str.Must(),
	"allowed_payment_methods": published.List(str), "excluded_payment_methods": published.List(excludable), "can_not_expire": flag, "emails_sent": num,
	"exclude_card_networks": published.List(published.Enum("visa", "mastercard", "amex")), "expires_at": unix, "failure_url": str, "force_3ds_flow": flag,
	"force_save_card": flag.OrNull(), "is_redirect_on_failure": flag, "max_failed_retries": num.OrNull(), "metadata": free,
	"monthly_installments_enabled": flag, "monthly_installments_options": published.List(num), "needs_shipping_contact": flag,
	"on_demand_enabled": flag.OrNull(), "paid_payments_count": num, "recurrent": flag, "redirection_time": num.OrNull(), "slug": str, "sms_sent": num,
	"success_url": str, "starts_at": unix, "status": str, "url": str, "payments_limit_count": num.OrNull(), "plan_id": str.OrNull(), "three_ds_mode": str.OrNull(),
}).OrNull()

var excludable = published.Enum("cash", "card", "bank_transfer", "bnpl", "pay_by_bank")

// orderSchema is order_response.yml. The nulls of channel, charges, corporate, customer_id, payment_status, processing_mode, shipping_contact
// and of a line, and date_of_birth, national_id and split_payment: examples. antifraud_info of the customer: mock.
var orderSchema = published.Object(fields{
	"id": str.Must(), "object": published.Enum("order").Must(), "amount": cents.Must(), "livemode": flag.Must(), "currency": str.Must(), "created_at": unix.Must(),
	"amount_refunded": cents, "channel": channelSchema, "charges": listOf(chargeSchema).OrNull(), "checkout": checkoutSchema, "payment_status": orderStates.OrNull(),
	"customer_info": published.Object(fields{
		"object": str, "customer_custom_reference": str.OrNull(), "customer_id": str.OrNull(), "name": str, "email": str, "phone": str, "corporate": flag.OrNull(),
		"date_of_birth": str.OrNull(), "national_id": str.OrNull(), "antifraud_info": free,
	}),
	"discount_lines": listOf(with(discount, part)).OrNull(), "tax_lines": listOf(with(tax, part)).OrNull(), "shipping_lines": listOf(with(shipping, part)).OrNull(),
	"fiscal_entity": free.OrNull(), "is_refundable": flag, "line_items": listOf(with(productSent, fields{
		"id": str, "object": str, "parent_id": str, "brand": str.OrNull(), "description": str.OrNull(), "sku": str.OrNull(), "tags": published.List(str).OrNull(), "type": str.OrNull(),
	})),
	"metadata": free, "processing_mode": str.OrNull(), "shipping_contact": free.OrNull(), "updated_at": unix, "split_payment": flag.OrNull(),
	"next_action": published.Object(fields{"type": str, "redirect_to_url": published.Object(fields{"url": str, "return_url": str})}),
})

// part is a line of an order in an answer. The nulls of metadata, method and tracking_number: mock.
var part = fields{"id": str.Must(), "object": str, "parent_id": str, "metadata": free.OrNull(), "method": str.OrNull(), "tracking_number": str.OrNull()}

var (
	discount = fields{"amount": cents.Must(), "code": str.Must(), "type": str.Must()}
	tax      = fields{"amount": cents.Must(), "description": str.Len(3, 0).Must(), "metadata": free}
	shipping = fields{
		"amount": cents.Must(), "carrier": str.Len(3, 249), "tracking_number": str.Len(3, 249), "method": str.Len(3, 249), "metadata": free,
	}
	// productSent is product.yml.
	productSent = fields{
		"name": str.Len(3, 249).Must(), "unit_price": cents.Must(), "quantity": num.Must(), "antifraud_info": free, "brand": str.Len(2, 249), "description": str.Len(3, 249),
		"metadata": free, "sku": str.Len(1, 249), "tags": published.List(str.Len(2, 249)).Len(1, 0),
	}
)

// payment is the payment_method of charge_request.yml.
var payment = published.Either(
	published.Object(fields{
		"type": str.Must(), "expires_at": unix, "monthly_installments": num, "token_id": str, "payment_source_id": str, "cvc": str, "contract_id": str, "customer_ip_address": str,
	}),
	published.Object(fields{"type": str.Must(), "product_type": published.Enum("bbva_pay_by_bank").Must(), "expires_at": unix}),
	published.Object(fields{
		"type": str.Must(), "product_type": published.Enum("aplazo_bnpl", "azteca_bnpl", "coppel_bnpl", "creditea_bnpl").Must(), "failure_url": str.Must(), "success_url": str.Must(),
		"cancel_url": str, "expires_at": unix,
	}),
	published.Object(fields{
		"type": str.Must(), "cvc": str.Len(3, 4).Must(), "name": str.Len(0, 249).Must(), "number": str.Must(), "exp_month": str.Len(2, 2).Must(), "exp_year": str.Len(4, 4).Must(),
		"contract_id": str.Len(10, 10), "customer_ip_address": str,
	}),
)

// orderSent is order_request.yml. channel, the fields of a charge after reference_id, and is_redirect_on_failure: examples. Three examples have one
// line in place of a list of them; that is not allowed here.
var orderSent = published.Object(fields{
	"currency": str.Len(0, 3).Must(), "line_items": published.List(published.Object(productSent)).Len(1, 0).Must(),
	"customer_info": published.Either(
		published.Object(fields{"name": str.Must(), "phone": str.Must(), "email": str.Match(`.+@.+`).Must(), "corporate": flag, "object": str}),
		published.Object(fields{"customer_id": str.Must()}),
	).Must(),
	"charges": published.List(published.Object(fields{
		"amount": cents, "payment_method": payment.Must(), "reference_id": str, "expires_at": unix, "monthly_installments": num,
	})),
	"checkout": published.Object(fields{ // checkout_request.yml; its type is required by the description alone
		"type": published.Enum("Integration", "HostedPayment").Must(), "name": str, "expires_at": unix, "success_url": str, "failure_url": str,
		"allowed_payment_methods":  published.List(published.Enum("cash", "card", "bank_transfer", "bnpl", "pay_by_bank", "apple", "google")),
		"excluded_payment_methods": published.List(excludable), "exclude_card_networks": published.List(published.Enum("visa_master_card", "amex")),
		"plan_ids": published.List(str), "force_save_card": flag, "monthly_installments_enabled": flag, "monthly_installments_options": published.List(num),
		"max_failed_retries": num, "on_demand_enabled": flag, "redirection_time": num, "is_redirect_on_failure": flag,
	}),
	"channel":        published.Object(fields{"checkout_request_id": str, "checkout_request_name": str, "checkout_request_type": str}),
	"discount_lines": published.List(published.Object(discount)), "tax_lines": published.List(published.Object(tax)), "shipping_lines": published.List(published.Object(shipping)),
	"metadata": free, "needs_shipping_contact": flag, "pre_authorize": flag, "processing_mode": str, "return_url": str,
	"three_ds_mode": published.Enum("strict", "not_strict", "smart"),
	"fiscal_entity": published.Object(fields{
		"email": str, "metadata": free, "name": str.OrNull(), "phone": str, "tax_id": str.OrNull(),
		"address": published.Object(fields{
			"street1": str.Must(), "street2": str.OrNull(), "postal_code": str.Must(), "city": str.Must(), "state": str, "country": str.Must(), "external_number": str.Must(),
		}).Must(),
	}),
	"shipping_contact": published.Object(fields{
		"phone": str, "receiver": str, "between_streets": str.Len(0, 249), "parent_id": str, "default": flag.OrNull(), "deleted": flag.OrNull(), "metadata": free,
		"address": published.Object(fields{
			"street1": str.Len(2, 249).Must(), "street2": str.Len(0, 249), "postal_code": str.Len(0, 250).Must(), "city": str.Len(0, 249), "state": str.Len(0, 249),
			"country": str.Len(2, 249).Must(), "residential": flag.OrNull(),
		}).Must(),
	}),
})

// mistake is error.yml. A declined card's has the order too (mock of POST /orders, 402).
var mistake = published.Object(fields{
	"object": published.Enum("error"), "type": str, "log_id": str.OrNull(), "data": free,
	"details": published.List(published.Object(fields{"code": str, "param": str.OrNull(), "message": str, "debug_message": str})),
})

// answers are an answer and the documented errors. Some calls have no 401; but all have the security of the key.
func answers(good published.Value, errors ...int) map[int]published.Value {
	all := map[int]published.Value{http.StatusOK: good, http.StatusUnauthorized: mistake, http.StatusInternalServerError: mistake}
	for _, status := range errors {
		all[status] = mistake
	}
	return all
}

// headers are of each call; the version is the media type of all answers.
var headers = fields{
	"Authorization": str.Match(`Bearer .+`).Must(), "Accept": published.Enum("application/vnd.conekta-v2.3.0+json").Must(),
	"Accept-Language": published.Enum("es", "en"), "X-Child-Company-Id": str,
}

// pages are the queries of both lists.
func pages(more fields) fields {
	all := fields{"limit": num, "search": str, "next": str, "previous": str}
	for name, v := range more {
		all[name] = v
	}
	return all
}

// theirs is what Conekta publishes.
var theirs = published.Table{
	Documents: []published.Document{
		{Name: "conekta/openapi, API 2.3.0", Version: "82ce68e", Date: "2026-08-13"}, {Name: "developers.conekta.com/docs: order, charge, autenticación-webhooks", Version: "pages", Date: "2026-11-28"},
	},
	Strange: []string{"quux", "arbitration"},
	Refusal: func() (int, string) { // resources/errors/422_whitelist.yml
		return http.StatusUnprocessableEntity, `{"object":"error","type":"parameter_validation_error","log_id":"6462aa7c90fef20001633546",` +
			`"details":[{"code":"conekta.errors.parameter_validation.whitelist","message":"not allowed","debug_message":"not allowed"}]}`
	},
	Calls: []published.Call{
		{Name: "make an order", Method: http.MethodPost, Path: "/orders", Header: headers, Body: orderSent, Answers: answers(orderSchema, 402, 422)},
		{
			Name: "list orders", Method: http.MethodGet, Path: "/orders", Header: headers, Answers: answers(listOf(orderSchema)), Query: pages(fields{
				"payment_status": str, "last_payment_info.status": str, "created_at": unix, "created_at.gte": unix, "created_at.lte": unix, "updated_at.gte": unix, "updated_at.lte": unix,
			}),
		},
		{Name: "read an order", Method: http.MethodGet, Path: "/orders/{id}", Header: headers, Query: fields{"client": str}, Answers: answers(orderSchema, 404)},
		{Name: "cancel an order", Method: http.MethodPost, Path: "/orders/{id}/cancel", Header: headers, Answers: answers(orderSchema, 402, 404, 428)},
		{
			Name: "refund an order", Method: http.MethodPost, Path: "/orders/{id}/refunds", Header: headers, Answers: answers(orderSchema, 402, 404, 422),
			Body: published.Object(fields{"amount": cents.Must(), "reason": str.Must(), "expires_at": unix}),
		},
		{Name: "list charges", Method: http.MethodGet, Path: "/charges", Header: headers, Query: pages(nil), Answers: answers(listOf(chargeSchema), 422)},
	},
	Notices: []published.Notice{
		notice("an order's", published.Object(fields{"object": orderSchema.Must(), "previous_attributes": free}), "order.canceled", "order.charged_back", "order.created",
			"order.expired", "order.fraudulent", "order.under_fraud_review", "order.paid", "order.partially_refunded", "order.pending_payment", "order.pre_authorized",
			"order.refunded", "order.updated", "order.voided", "order.declined"),
		notice("a charge's", published.Object(fields{"object": chargeSchema.Must(), "previous_attributes": free}), "charge.created", "charge.paid", "charge.under_fraud_review",
			"charge.fraudulent", "charge.refunded", "charge.preauthorized", "charge.declined", "charge.canceled", "charge.reversed", "charge.pending_confirmation",
			"charge.expired", "charge.score_updated"),
		// What these are about is not documented.
		notice("a chargeback's, or a refund's in cash", published.Object(fields{"object": free.Must(), "previous_attributes": free}), "charge.chargeback.created",
			"charge.chargeback.updated", "charge.chargeback.under_review", "charge.chargeback.lost", "charge.chargeback.won",
			"cash_refund.created", "cash_refund.canceled", "cash_refund.refunded", "cash_refund.expired"),
		notice("a ping", published.Object(fields{"action": str, "livemode": flag}), "webhook_ping"),
	},
}

// notice is event_response.yml, of some events of mocks/conekta_api.json.
func notice(name string, data published.Value, events ...string) published.Notice {
	return published.Notice{Name: name, Header: fields{"Digest": str.Must()}, Body: published.Object(fields{
		"id": str, "object": published.Enum("event"), "type": published.Enum(events...), "livemode": flag, "created_at": unix, "data": data, "webhook_status": str,
		"webhook_logs": published.List(published.Object(fields{
			"id": str, "object": str, "url": str, "failed_attempts": num, "last_attempted_at": unix, "last_http_response_status": num, "response_data": free,
		})),
	})}
}

// Published implements published.Publisher.
func (*fake) Published() published.Table { return theirs }
