package stripe

import (
	"maps"
	"strings"

	pub "github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// documented is what Stripe publishes of the calls and events for payments. The words and fields of disputes' appeals, of refunds' customer
// and of allowed_payment_method_types are those of the library, which is newer.
var documented = pub.Table{
	Documents: []pub.Document{
		{Name: "openapi/spec3.json of stripe/stripe-mock v0.203.0", Version: "2026-08-26.dahlia", Date: "2026-08-26"},
		{Name: "docs.stripe.com: file upload; page limit of evidence", Version: "changelog of 2026-09-30", Date: "2026-11-28"},
		{Name: "stripe-node 23.1.0, esm/resources", Version: "2026-10-28.endive", Date: "2026-10-29"},
	},
	Calls: []pub.Call{
		list("list intents", "/v1/payment_intents", intentObject, "customer_account", pub.Fields{"created": period, "customer": pub.String()}),
		create("create an intent", "/v1/payment_intents", intentCreate, intentObject),
		get("read an intent", "/v1/payment_intents/{intent}", intentObject),
		create("cancel an intent", "/v1/payment_intents/{intent}/cancel", pub.Fields{"cancellation_reason": pub.String(), "expand": expand}, intentObject),
		list("list sessions", "/v1/checkout/sessions", sessionObject, "customer customer_account customer_details payment_intent payment_link status subscription",
			pub.Fields{"created": period}),
		create("create a session", "/v1/checkout/sessions", sessionCreate, sessionObject),
		get("read a session", "/v1/checkout/sessions/{session}", sessionObject),
		create("expire a session", "/v1/checkout/sessions/{session}/expire", pub.Fields{"expand": expand}, sessionObject),
		list("list customers", "/v1/customers", customerObject, "test_clock", pub.Fields{"created": period, "email": pub.String()}),
		create("create a customer", "/v1/customers", customerCreate, customerObject),
		get("read a customer", "/v1/customers/{customer}", customerObject),
		list("list cash balance transactions", "/v1/customers/{customer}/cash_balance_transactions", movementObject, "", nil),
		list("list refunds", "/v1/refunds", refundObject, "charge", pub.Fields{"created": period, "payment_intent": pub.String()}),
		create("create a refund", "/v1/refunds", refundCreate, refundObject),
		get("read a refund", "/v1/refunds/{refund}", refundObject),
		list("list disputes", "/v1/disputes", disputeObject, "charge", pub.Fields{"created": period, "payment_intent": pub.String()}),
		get("read a dispute", "/v1/disputes/{dispute}", disputeObject),
		create("answer a dispute", "/v1/disputes/{dispute}", disputeUpdate, disputeObject),
		{Name: "upload a file", Method: "POST", Path: "/v1/files", Header: once, Parts: true, Answers: answered(fileObject), Body: pub.Object(fields(pub.Fields{
			"file":    pub.File("application/pdf", "image/jpeg", "image/png").Must(), // the types of this purpose
			"purpose": pub.Enum("dispute_evidence").Must(), "expand": expand,
		}, "file_link_data"))},
	},
	Notices: []pub.Notice{
		happened("payment_intent", intentObject), happened("checkout.session", sessionObject), happened("refund", refundObject),
		happened("charge.dispute", disputeObject), happened("customer_cash_balance_transaction", movementObject),
		happened("cash_balance", balanceObject),
	},
	Refusal: func() (int, string) {
		return 400, `{"error":{"type":"invalid_request_error","code":"parameter_unknown","message":"Received unknown parameter."}}`
	},
	Strange: []string{"quantum", "odd", "found_under_the_mattress"},
}

// Published implements published.Publisher.
func (*fake) Published() pub.Table { return documented }

// fields are typed fields, and names of others that no adapter of ours reads or sends.
func fields(typed pub.Fields, others string) pub.Fields {
	all := pub.Fields{}
	for _, name := range strings.Fields(others) {
		all[name] = pub.Anything().OrNull()
	}
	maps.Copy(all, typed)
	return all
}

var (
	expand   = pub.List(pub.String())
	metadata = pub.Object(nil).Open()
	period   = pub.Either(pub.Integer(), pub.Object(pub.Fields{"gt": pub.Integer(), "gte": pub.Integer(), "lt": pub.Integer(), "lte": pub.Integer()}))
	header   = pub.Fields{"Authorization": pub.String().Match("Bearer .+").Must(), "Stripe-Version": pub.String().Match(`\d{4}-\d\d-\d\d\.[a-z]+`).Must()}
	once     = pub.Fields{"Authorization": header["Authorization"], "Stripe-Version": header["Stripe-Version"], "Idempotency-Key": pub.String().Len(1, 255)}
	// what we set; its values are strings, whatever they are
	ours = pub.Anything()
)

func answered(good pub.Value) map[int]pub.Value {
	all := map[int]pub.Value{200: good}
	for _, status := range []int{400, 401, 402, 403, 404, 409, 429, 500} {
		all[status] = pub.Object(pub.Fields{"error": pub.Object(errorFields).Must()})
	}
	return all
}

var errorFields = fields(pub.Fields{
	"type": pub.Enum("api_error", "card_error", "idempotency_error", "invalid_request_error").Must(),
	"code": pub.String(), "decline_code": pub.String(), "message": pub.String(),
	"advice_code": pub.String(),
}, "charge doc_url network_advice_code network_decline_code param payment_intent payment_method payment_method_type request_log_url setup_intent source")

func get(name, path string, of pub.Value) pub.Call {
	return pub.Call{Name: name, Method: "GET", Path: path, Header: header, Query: pub.Fields{"expand": expand}, Answers: answered(of)}
}

func list(name, path string, of pub.Value, others string, query pub.Fields) pub.Call {
	paged := fields(query, others)
	maps.Copy(paged, pub.Fields{"expand": expand, "limit": pub.Integer(), "starting_after": pub.String(), "ending_before": pub.String()})
	page := pub.Object(pub.Fields{
		"object": pub.Enum("list").Must(), "data": pub.List(of).Must(), "has_more": pub.Boolean().Must(), "url": pub.String().Must(),
	})
	return pub.Call{Name: name, Method: "GET", Path: path, Header: header, Query: paged, Answers: answered(page)}
}

func create(name, path string, body pub.Fields, of pub.Value) pub.Call {
	return pub.Call{Name: name, Method: "POST", Path: path, Header: once, Form: true, Body: pub.Object(body), Answers: answered(of)}
}

// happened is an event of a kind of object.
func happened(kind string, of pub.Value) pub.Notice {
	return pub.Notice{Name: kind, Header: pub.Fields{"Stripe-Signature": pub.String().Match(`t=\d+,v1=[0-9a-f]{64}(,v[01]=[0-9a-f]{64})*`).Must()}, Body: pub.Object(fields(pub.Fields{
		"id": pub.String().Must(), "object": pub.Enum("event").Must(), "type": pub.String().Match(strings.ReplaceAll(kind, ".", `\.`) + `\.[a-z_.]+`).Must(),
		"created": pub.Integer().Must(), "livemode": pub.Boolean().Must(), "pending_webhooks": pub.Integer().Must(), "api_version": pub.String().OrNull(),
		"data": pub.Object(pub.Fields{"object": of.Must(), "previous_attributes": pub.Anything()}).Must(),
	}, "account context request"))}
}

var methodTypes = pub.List(pub.Enum("boleto", "card", "customer_balance", "oxxo", "pix"))

// PaymentIntents.
var (
	intentCreate = fields(pub.Fields{
		"amount": pub.Integer().Must().In("minor units"), "currency": pub.String().Match("[a-z]{3}").Must(), "confirm": pub.Boolean(),
		"return_url": pub.String().Match("https://.+"), "description": pub.String(), "allowed_payment_method_types": methodTypes, "customer": pub.String(), "metadata": metadata, "expand": expand,
		"payment_method_data": pub.Object(fields(pub.Fields{
			"type": pub.Enum("boleto", "customer_balance", "oxxo", "pix").Must(), "metadata": metadata,
			"billing_details": pub.Object(fields(pub.Fields{"name": pub.String(), "email": pub.String(), "tax_id": pub.String()}, "address phone")),
		}, "allow_redisplay boleto customer_balance oxxo pix radar_options")),
		"payment_method_options": pub.Object(fields(pub.Fields{
			"pix": pub.Object(pub.Fields{
				"amount_includes_iof": pub.Enum("always", "never"), "expires_after_seconds": pub.Integer(), "expires_at": pub.Integer(),
				"mandate_options": pub.Anything(), "setup_future_usage": pub.String(),
			}),
			"oxxo": pub.Object(pub.Fields{"expires_after_days": pub.Integer(), "setup_future_usage": pub.Enum("none")}),
			"customer_balance": pub.Object(pub.Fields{
				"funding_type": pub.Enum("bank_transfer"), "setup_future_usage": pub.Enum("none"),
				"bank_transfer": pub.Object(pub.Fields{
					"type":                    pub.Enum("eu_bank_transfer", "gb_bank_transfer", "jp_bank_transfer", "mx_bank_transfer", "us_bank_transfer").Must(),
					"requested_address_types": pub.List(pub.String()), "eu_bank_transfer": pub.Anything(),
				}),
			}),
		}, "boleto card")),
	}, "amount_details application_fee_amount automatic_payment_methods capture_method confirmation_method confirmation_token customer_account "+
		"error_on_requires_action excluded_payment_method_types hooks mandate mandate_data off_session on_behalf_of payment_details payment_method "+
		"payment_method_configuration radar_options receipt_email setup_future_usage shipping statement_descriptor statement_descriptor_suffix transfer_data "+
		"transfer_group use_stripe_sdk")

	// chargeObject is the part of a charge that says how it was paid.
	chargeObject = pub.Object(pub.Fields{
		"id": pub.String().Must(), "object": pub.Enum("charge").Must(),
		"payment_method_details": pub.Object(pub.Fields{"type": pub.String().Must(), "card": pub.Object(pub.Fields{"installments": pub.Object(pub.Fields{
			"plan": pub.Object(pub.Fields{
				"count": pub.Integer().OrNull(), "interval": pub.Enum("month").OrNull(), "type": pub.Enum("bonus", "fixed_count", "revolving").Must(),
			}).OrNull(),
		}).OrNull()}).Open()}).Open().OrNull(),
	}).Open()
	intentObject = pub.Object(fields(pub.Fields{
		"id": pub.String().Must(), "object": pub.Enum("payment_intent").Must(), "created": pub.Integer().Must(), "livemode": pub.Boolean().Must(),
		"status": pub.Enum("canceled", "processing", "requires_action", "requires_capture", "requires_confirmation", "requires_payment_method", "succeeded").
			Status("succeeded").Must(),
		"amount": pub.Integer().In("minor units"), "amount_received": pub.Integer().In("minor units"), "currency": pub.String(), "metadata": ours,
		"cancellation_reason": pub.Enum("abandoned", "automatic", "duplicate", "expired", "failed_invoice", "fraudulent", "requested_by_customer", "void_invoice").OrNull(),
		"customer":            pub.String().OrNull(), "payment_method_types": pub.List(pub.String()).Len(1, 0),
		"last_payment_error": pub.Object(errorFields).OrNull(), "latest_charge": pub.Either(pub.String().OrNull(), chargeObject),
		"next_action": pub.Object(fields(pub.Fields{
			"type": pub.String().Must(),
			"pix_display_qr_code": pub.Object(pub.Fields{
				"data": pub.String(), "expires_at": pub.Integer(), "hosted_instructions_url": pub.String(), "image_url_png": pub.String(), "image_url_svg": pub.String(),
			}),
			"oxxo_display_details":   pub.Object(pub.Fields{"number": pub.String().OrNull(), "expires_after": pub.Integer().OrNull(), "hosted_voucher_url": pub.String().OrNull()}),
			"boleto_display_details": pub.Anything(),
			"display_bank_transfer_instructions": pub.Object(pub.Fields{
				"amount_remaining": pub.Integer().OrNull(), "currency": pub.String().OrNull(), "hosted_instructions_url": pub.String().OrNull(),
				"reference": pub.String().OrNull(), "type": pub.String().Must(),
				"financial_addresses": pub.List(pub.Object(pub.Fields{
					"type": pub.Enum("aba", "iban", "sort_code", "spei", "swift", "zengin").Must(), "supported_networks": pub.List(pub.String()),
					"spei": pub.Object(pub.Fields{
						"account_holder_name": pub.String().Must(), "bank_code": pub.String().Must(), "bank_name": pub.String().Must(), "clabe": pub.String().Must(),
						"account_holder_address": pub.Anything().Must(), "bank_address": pub.Anything().Must(),
					}),
				})).Len(1, 0),
			}),
		}, "")).OrNull(),
	}, "allowed_payment_method_types amount_capturable amount_details application application_fee_amount automatic_payment_methods canceled_at capture_method "+
		"client_secret confirmation_method customer_account description excluded_payment_method_types on_behalf_of payment_method "+
		"payment_method_options processing receipt_email review setup_future_usage shipping statement_descriptor statement_descriptor_suffix transfer_data transfer_group"))
)

// Checkout Sessions.
var (
	sessionCreate = fields(pub.Fields{
		"mode": pub.Enum("payment", "setup", "subscription"), "client_reference_id": pub.String().Len(1, 200), "success_url": pub.String(), "cancel_url": pub.String(),
		"expires_at": pub.Integer(), "locale": pub.Enum("auto", "en", "es", "es-419", "pt", "pt-BR"), "customer_email": pub.String(), "metadata": metadata, "expand": expand, "allowed_payment_method_types": methodTypes,
		"adaptive_pricing": pub.Object(pub.Fields{"enabled": pub.Boolean()}),
		"line_items": pub.List(pub.Object(fields(pub.Fields{
			"quantity": pub.Integer(),
			"price_data": pub.Object(fields(pub.Fields{
				"currency": pub.String().Match("[a-z]{3}").Must(), "unit_amount": pub.Integer().In("minor units"),
				"product_data": pub.Object(fields(pub.Fields{"name": pub.String().Len(1, 5000).Must()}, "description images metadata tax_code unit_label")),
			}, "product recurring tax_behavior unit_amount_decimal")),
		}, "adjustable_quantity dynamic_tax_rates metadata price tax_rates"))),
		"payment_intent_data": pub.Object(fields(pub.Fields{"metadata": metadata}, "application_fee_amount capture_method description on_behalf_of receipt_email "+
			"setup_future_usage shipping statement_descriptor statement_descriptor_suffix transfer_data transfer_group")),
		"payment_method_options": pub.Object(fields(pub.Fields{
			"boleto": pub.Object(pub.Fields{"expires_after_days": pub.Integer(), "setup_future_usage": pub.String()}),
			"card": pub.Object(fields(pub.Fields{"installments": pub.Object(pub.Fields{"enabled": pub.Boolean()})}, "capture_method request_extended_authorization "+
				"request_incremental_authorization request_multicapture request_overcapture request_three_d_secure restrictions setup_future_usage "+
				"statement_descriptor_suffix_kana statement_descriptor_suffix_kanji")),
		}, "customer_balance oxxo pix")),
	}, "after_expiration allow_promotion_codes automatic_tax billing_address_collection branding_settings consent_collection currency custom_fields custom_text "+
		"customer customer_account customer_creation customer_update discounts excluded_payment_method_types integration_identifier invoice_creation "+
		"name_collection optional_items origin_context payment_method_collection payment_method_configuration payment_method_data permissions "+
		"phone_number_collection redirect_on_completion return_url saved_payment_method_options shipping_options submit_type tax_id_collection ui_mode")

	sessionObject = pub.Object(fields(pub.Fields{
		"id": pub.String().Must(), "object": pub.Enum("checkout.session").Must(), "created": pub.Integer().Must(), "livemode": pub.Boolean().Must(),
		"expires_at": pub.Integer().Must(), "mode": pub.Enum("payment", "setup", "subscription").Must(), "metadata": ours,
		"payment_status": pub.Enum("no_payment_required", "paid", "unpaid").Must(), "payment_method_types": pub.List(pub.String()).Len(1, 0).Must(),
		"status": pub.Enum("complete", "expired", "open").Status().OrNull(), "url": pub.String().OrNull(), "client_reference_id": pub.String().OrNull(),
		"payment_intent": pub.Either(pub.String().OrNull(), intentObject), "amount_total": pub.Integer().OrNull(), "currency": pub.String().OrNull(),
		"automatic_tax": pub.Anything().Must(), "custom_fields": pub.List(pub.Anything()).Must(), "custom_text": pub.Anything().Must(),
		"shipping_options": pub.List(pub.Anything()).Must(),
	}, "adaptive_pricing after_expiration amount_subtotal cancel_url consent customer customer_details customer_email invoice locale payment_link "+
		"payment_method_options recovered_from setup_intent shipping_cost submit_type subscription success_url total_details"))
)

// Customers and their cash balances.
var (
	customerCreate = fields(pub.Fields{
		"email": pub.String().Len(1, 512), "name": pub.String(), "metadata": metadata, "expand": expand,
		"cash_balance": pub.Object(pub.Fields{"settings": pub.Object(pub.Fields{"reconciliation_mode": pub.Enum("automatic", "manual", "merchant_default")})}),
	}, "address balance business_name description individual_name invoice_prefix invoice_settings next_invoice_sequence payment_method phone preferred_locales "+
		"shipping source tax tax_exempt tax_id_data test_clock")
	customerObject = pub.Object(fields(pub.Fields{
		"id": pub.String().Must(), "object": pub.Enum("customer").Must(), "created": pub.Integer().Must(), "livemode": pub.Boolean().Must(),
		"email": pub.String().OrNull(), "metadata": ours, "cash_balance": pub.Either(balanceObject, pub.Anything().OrNull()),
	}, "address currency default_source delinquent description discount invoice_prefix name phone shipping test_clock"))
	balanceObject = pub.Object(fields(pub.Fields{
		"object": pub.Enum("cash_balance").Must(), "customer": pub.String().Must(), "livemode": pub.Boolean().Must(),
		"available": pub.Anything().OrNull(), // minor units by currency
		"settings":  pub.Object(pub.Fields{"reconciliation_mode": pub.Enum("automatic", "manual").Must(), "using_merchant_default": pub.Boolean().Must()}).Must(),
	}, "customer_account"))
	movementObject = pub.Object(fields(pub.Fields{
		"id": pub.String().Must(), "object": pub.Enum("customer_cash_balance_transaction").Must(), "created": pub.Integer().Must(), "livemode": pub.Boolean().Must(),
		"currency": pub.String().Must(), "customer": pub.String().Must(), "net_amount": pub.Integer().Must().In("minor units"), "ending_balance": pub.Integer().Must(),
		"type": pub.Enum("adjusted_for_overdraft", "applied_to_payment", "funded", "funding_reversed", "refunded_from_payment", "return_canceled", "return_initiated",
			"transferred_to_balance", "unapplied_from_payment").Must(),
		"applied_to_payment":     pub.Object(pub.Fields{"payment_intent": pub.String().Must()}),
		"unapplied_from_payment": pub.Object(pub.Fields{"payment_intent": pub.String().Must()}),
		"refunded_from_payment":  pub.Object(pub.Fields{"refund": pub.String().Must()}),
		"transferred_to_balance": pub.Object(pub.Fields{"balance_transaction": pub.String().Must()}),
		"adjusted_for_overdraft": pub.Object(pub.Fields{"balance_transaction": pub.String().Must(), "linked_transaction": pub.String().Must()}),
		"funded": pub.Object(pub.Fields{"bank_transfer": pub.Object(pub.Fields{
			"reference": pub.String().OrNull(), "type": pub.Enum("eu_bank_transfer", "gb_bank_transfer", "jp_bank_transfer", "mx_bank_transfer", "us_bank_transfer").Must(),
		}).Must()}),
	}, "customer_account"))
)

// Refunds and disputes.
var (
	refundCreate = fields(pub.Fields{
		"amount": pub.Integer().In("minor units"), "payment_intent": pub.String(), "metadata": metadata, "expand": expand, "instructions_email": pub.String(),
		"reason": pub.Enum("duplicate", "fraudulent", "requested_by_customer"), "origin": pub.Enum("customer_balance"), "customer": pub.String(),
		"currency": pub.String().Match("[a-z]{3}"),
	}, "charge refund_application_fee reverse_transfer")
	refundObject = pub.Object(fields(pub.Fields{
		"id": pub.String().Must(), "object": pub.Enum("refund").Must(), "created": pub.Integer().Must(), "amount": pub.Integer().Must().In("minor units"),
		"currency": pub.String().Must(), "status": pub.Enum("pending", "requires_action", "succeeded", "failed", "canceled").OrNull(), "metadata": ours,
		"payment_intent": pub.String().OrNull(), "customer": pub.String().OrNull(), "charge": pub.String().OrNull(),
		"failure_reason": pub.String(), "failure_balance_transaction": pub.String(), "instructions_email": pub.String(),
	}, "balance_transaction customer_account payment_method reason receipt_number source_transfer_reversal transfer_reversal"))
	disputeObject = pub.Object(fields(pub.Fields{
		"id": pub.String().Must(), "object": pub.Enum("dispute").Must(), "created": pub.Integer().Must(), "livemode": pub.Boolean().Must(),
		"amount": pub.Integer().Must().In("minor units"), "currency": pub.String().Must(), "charge": pub.String().Must(), "reason": pub.String().Must(),
		"status": pub.Enum("appeal_needs_response", "appeal_under_review", "lost", "needs_response", "prevented", "under_review", "warning_closed",
			"warning_needs_response", "warning_under_review", "won").Must(),
		"balance_transactions": pub.List(pub.Object(fields(pub.Fields{
			"object": pub.Enum("balance_transaction").Must(), "amount": pub.Integer().Must(), "id": pub.String().Must(),
		}, "available_on balance_type created currency description exchange_rate fee fee_details net reporting_category source status type"))).Must(),
		"metadata": ours, "payment_intent": pub.Either(pub.String().OrNull(), intentObject),
		"evidence": pub.Anything().Must(), "enhanced_eligibility_types": pub.List(pub.String()).Must(), "is_charge_refundable": pub.Boolean().Must(),
		"evidence_details": pub.Object(fields(pub.Fields{
			"due_by": pub.Integer().OrNull(), "has_evidence": pub.Boolean().Must(), "past_due": pub.Boolean().Must(), "submission_count": pub.Integer().Must(),
			"enhanced_eligibility": pub.Object(fields(pub.Fields{"visa_compliance": acknowledged, "mastercard_compliance": acknowledged}, "visa_compelling_evidence_3")).Must(),
		}, "submission_method")).Must(),
		"payment_method_details": pub.Object(fields(pub.Fields{
			"type": pub.Enum("amazon_pay", "card", "klarna", "paypal").Must(),
			"card": pub.Object(pub.Fields{
				"brand": pub.String().Must(), "case_type": pub.Enum("block", "chargeback", "compliance", "inquiry", "resolution").Must(),
				"network": pub.String().Must(), "network_reason_code": pub.String().OrNull(),
			}),
		}, "amazon_pay klarna paypal")),
	}, "intended_submission_method network_reason_code"))
	acknowledged = pub.Object(pub.Fields{"status": pub.Enum("fee_acknowledged", "requires_fee_acknowledgement").Must()})

	statement     = pub.String().Len(0, 20_000)
	disputeUpdate = fields(pub.Fields{
		"submit": pub.Boolean(), "metadata": metadata, "expand": expand,
		"evidence": pub.Object(fields(pub.Fields{
			"access_activity_log": statement, "cancellation_policy_disclosure": statement, "cancellation_rebuttal": statement, "duplicate_charge_explanation": statement,
			"product_description": statement, "refund_policy_disclosure": statement, "refund_refusal_explanation": statement, "uncategorized_text": statement,
			"cancellation_policy": fileID, "customer_communication": fileID, "customer_signature": fileID, "duplicate_charge_documentation": fileID, "receipt": fileID,
			"refund_policy": fileID, "service_documentation": fileID, "shipping_documentation": fileID, "uncategorized_file": fileID,
		}, "billing_address customer_email_address customer_name customer_purchase_ip duplicate_charge_id enhanced_evidence service_date shipping_address "+
			"shipping_carrier shipping_date shipping_tracking_number")),
	}, "")
	fileID     = pub.String().Match("file_[0-9A-Za-z]+")
	fileObject = pub.Object(fields(pub.Fields{
		"id": fileID.Must(), "object": pub.Enum("file").Must(), "created": pub.Integer().Must(), "expires_at": pub.Integer().OrNull(),
		"filename": pub.String().OrNull(), "purpose": pub.Enum("dispute_evidence").Must(), "size": pub.Integer().Must(), "title": pub.String().OrNull(),
		"type": pub.String().OrNull(), "url": pub.String().OrNull(),
	}, "links"))
)
