package stripe

import pub "github.com/cascadapay/cascada/internal/provider/providertest/published"

// documentedPayouts is what Stripe publishes of the calls and events for payouts, which are in no OpenAPI document that could be read. Optional fields
// may be null, as docs.stripe.com/api/v2 has it.
var documentedPayouts = pub.Table{
	Documents: []pub.Document{{Name: "stripe-node 23.1.0, esm/resources/V2", Version: "2026-10-28.endive", Date: "2026-10-29"}},
	Calls: []pub.Call{
		tell("create a recipient", "/v2/core/accounts", nil, recipientCreate, pub.Object(fields(pub.Fields{
			"id": pub.String().Must(), "object": pub.Enum("v2.core.account").Must(), "created": pub.String().Must(), "livemode": pub.Boolean().Must(),
			"applied_configurations": pub.List(pub.Enum("customer", "merchant", "recipient")).Must(),
		}, "closed configuration contact_email contact_phone dashboard defaults display_name future_requirements identity metadata requirements"))),
		tell("set up a payout method", "/v2/money_management/outbound_setup_intents", pub.Fields{"Stripe-Context": pub.String()}, setupCreate, pub.Object(pub.Fields{
			"id": pub.String().Must(), "object": pub.Enum("v2.money_management.outbound_setup_intent").Must(), "created": pub.String().Must(),
			"livemode": pub.Boolean().Must(), "usage_intent": pub.Enum("payment", "transfer").Must(),
			"status": pub.Enum("canceled", "requires_action", "requires_payout_method", "succeeded").Must(),
			"payout_method": pub.Object(fields(pub.Fields{
				"id": pub.String().Must(), "object": pub.Enum("v2.money_management.payout_method").Must(), "archived": pub.Boolean().Must(),
				"created": pub.String().Must(), "livemode": pub.Boolean().Must(), "restricted": pub.Boolean().Must(),
				"type": pub.Enum("bank_account", "card").Must(), "usage_status": pub.Anything().Must(),
			}, "bank_account card latest_outbound_setup_intent")).OrNull(),
		})),
		tell("pay out", "/v2/money_management/outbound_payments", nil, paymentCreate, paymentObject),
		ask("list payouts", "/v2/money_management/outbound_payments", pub.Fields{
			"created": pub.Object(pub.Fields{"gt": instant, "gte": instant, "lt": instant, "lte": instant}), "limit": pub.Integer(), "page": pub.String(),
			"recipient": pub.String(), "status": pub.List(pub.String()),
		}, pub.Object(pub.Fields{
			"data": pub.List(paymentObject).Must(), "next_page_url": pub.String().OrNull().Must(), "previous_page_url": pub.String().OrNull(),
		})),
		ask("read a payout", "/v2/money_management/outbound_payments/{id}", nil, paymentObject),
		ask("read a financial account", "/v2/money_management/financial_accounts/{id}", nil, pub.Object(fields(pub.Fields{
			"id": pub.String().Must(), "object": pub.Enum("v2.money_management.financial_account").Must(), "country": pub.String().Must(),
			"created": pub.String().Must(), "livemode": pub.Boolean().Must(), "status": pub.Enum("closed", "open", "pending").Must(),
			"type": pub.Enum("other", "storage").Must(),
			"balance": pub.Object(pub.Fields{ // by currency
				"available": pub.Anything().Must(), "inbound_pending": pub.Anything().Must(), "outbound_pending": pub.Anything().Must(),
			}).Must(),
		}, "display_name metadata other storage"))),
	},
	Notices: []pub.Notice{{
		Name: "an event of a payout", Header: pub.Fields{"Stripe-Signature": pub.String().Match(`t=\d+,v1=[0-9a-f]{64}(,v[01]=[0-9a-f]{64})*`).Must()},
		Body: pub.Object(fields(pub.Fields{
			"id": pub.String().Must(), "object": pub.Enum("v2.core.event").Must(), "created": pub.String().Must(), "livemode": pub.Boolean().Must(),
			"type": pub.String().Match(`v2\.money_management\.outbound_payment\.(canceled|created|failed|posted|returned|under_review|updated)`).Must(),
			"related_object": pub.Object(pub.Fields{
				"id": pub.String().Must(), "type": pub.Enum("v2.money_management.outbound_payment").Must(), "url": pub.String().Must(),
			}).Must(),
		}, "changes context data reason")),
	}},
	Refusal: documented.Refusal,
	Strange: []string{"sleeping"},
}

// Published implements published.Publisher.
func (*payoutFake) Published() pub.Table { return documentedPayouts }

var (
	instant = pub.String().Match(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	minors  = pub.Object(pub.Fields{"value": pub.Integer().Must().In("minor units"), "currency": pub.String().Match("[a-z]{3}").Must()})
)

// answeredV2 are the answers of a call: errors of version 2 have more types.
func answeredV2(good pub.Value) map[int]pub.Value {
	all := map[int]pub.Value{200: good}
	for _, status := range []int{400, 401, 402, 403, 404, 409, 422, 429, 500} {
		all[status] = pub.Object(pub.Fields{"error": pub.Object(fields(pub.Fields{"type": pub.String(), "code": pub.String(), "message": pub.String()}, "doc_url user_message")).Must()})
	}
	return all
}

func ask(name, path string, query pub.Fields, of pub.Value) pub.Call {
	return pub.Call{Name: name, Method: "GET", Path: path, Header: header, Query: query, Answers: answeredV2(of)}
}

func tell(name, path string, more, body pub.Fields, of pub.Value) pub.Call {
	headers := fields(more, "")
	for field, v := range once {
		headers[field] = v
	}
	return pub.Call{Name: name, Method: "POST", Path: path, Header: headers, Body: pub.Object(body), Answers: answeredV2(of)}
}

var (
	recipientCreate = fields(pub.Fields{
		"contact_email": pub.String(), "display_name": pub.String(), "metadata": metadata,
		"identity": pub.Object(fields(pub.Fields{
			"country": pub.String().Match("[A-Z]{2}"), "entity_type": pub.Enum("company", "government_entity", "individual", "non_profit"),
			"business_details": pub.Object(fields(pub.Fields{"registered_name": pub.String()}, "additional_addresses address annual_revenue documents "+
				"estimated_worker_count id_numbers monthly_estimated_revenue phone registration_date script_addresses script_names structure")),
			"individual": pub.Object(fields(pub.Fields{"given_name": pub.String(), "surname": pub.String(), "email": pub.String()}, "additional_addresses "+
				"additional_names address date_of_birth documents id_numbers legal_gender metadata nationalities phone political_exposure relationship "+
				"script_addresses script_names")),
		}, "attestations")),
		"configuration": pub.Object(fields(pub.Fields{"recipient": pub.Object(pub.Fields{"capabilities": pub.Object(fields(pub.Fields{
			"bank_accounts": pub.Object(fields(pub.Fields{"local": pub.Object(pub.Fields{"requested": pub.Boolean().Must()})}, "ach fedwire fps rtp sepa swift")),
		}, "cards stripe_balance"))})}, "customer merchant")),
	}, "account_token contact_phone dashboard defaults include")

	setupCreate = pub.Fields{
		"payout_method": pub.String(), "usage_intent": pub.Enum("payment", "transfer"),
		"payout_method_data": pub.Object(pub.Fields{
			"type": pub.Enum("bank_account", "card").Must(),
			"bank_account": pub.Object(pub.Fields{
				"account_number": pub.String().Must(), "bank_account_type": pub.Enum("checking", "futsu", "savings", "toza"), "branch_number": pub.String(),
				"country": pub.String().Match("[A-Z]{2}").Must(), "currency": pub.String().Match("[a-z]{3}").Must(), "routing_number": pub.String(), "swift_code": pub.String(),
			}),
		}),
	}

	paymentCreate = pub.Fields{
		"amount": minors.Must(), "description": pub.String(), "metadata": metadata, "recipient_verification": pub.String(), "statement_descriptor": pub.String(),
		"from": pub.Object(pub.Fields{"currency": pub.String().Match("[a-z]{3}").Must(), "financial_account": pub.String().Must()}).Must(),
		"to": pub.Object(pub.Fields{
			"currency": pub.String().Match("[a-z]{3}"), "payout_method": pub.String(), "payout_method_options": pub.Anything(), "recipient": pub.String().Must(),
		}).Must(),
		"recipient_notification": pub.Object(pub.Fields{"setting": pub.Enum("configured", "none").Must()}),
	}

	paymentObject = pub.Object(fields(pub.Fields{
		"id": pub.String().Must(), "object": pub.Enum("v2.money_management.outbound_payment").Must(), "amount": minors.Must(), "cancelable": pub.Boolean().Must(),
		"created": instant.Must(), "livemode": pub.Boolean().Must(), "statement_descriptor": pub.String().Must(), "metadata": ours,
		"status": pub.Enum("canceled", "failed", "posted", "processing", "returned").Must(), "expected_arrival_date": pub.String().OrNull(),
		"from":                   pub.Object(pub.Fields{"debited": minors.Must(), "financial_account": pub.String().Must()}).Must(),
		"to":                     pub.Object(fields(pub.Fields{"credited": minors.Must(), "payout_method": pub.String(), "recipient": pub.String().Must()}, "payout_method_options")).Must(),
		"recipient_notification": pub.Object(pub.Fields{"setting": pub.Enum("configured", "none").Must()}).Must(),
		"status_transitions": pub.Object(pub.Fields{
			"canceled_at": instant.OrNull(), "failed_at": instant.OrNull(), "posted_at": instant.OrNull(), "returned_at": instant.OrNull(),
		}).OrNull(),
		"status_details": pub.Object(pub.Fields{ // an enum, to which reasons may be added
			"failed": pub.Object(pub.Fields{"reason": pub.String().Must()}).OrNull(), "processing": pub.Object(pub.Fields{"reason": pub.String().Must()}).OrNull(),
			"returned": pub.Object(pub.Fields{"reason": pub.String().Must()}).OrNull(),
		}).OrNull(),
		"tracking_details": pub.Object(fields(pub.Fields{
			"status": pub.Enum("pending", "supported", "unsupported").Must(), "type": pub.Enum("bank_account", "card").Must(),
		}, "bank_account card")).OrNull(),
	}, "description payout_intent recipient_verification"))
)
