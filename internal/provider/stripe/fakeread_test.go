package stripe

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func (f *fake) read(path string, query url.Values) (int, any) {
	if f.meanwhile != nil {
		f.meanwhile(path)
	}
	expand := strings.HasPrefix(query.Get("expand[]"), "payment_intent")
	kind, id, _ := strings.Cut(strings.TrimPrefix(path, "checkout/"), "/")
	switch {
	case path == "payment_intents", path == "checkout/sessions":
		var list []object
		for _, c := range f.Charges {
			if path == "payment_intents" {
				list = append(list, c.intent())
			} else if c.hosted() {
				list = append(list, c.session(false))
			}
		}
		slices.Reverse(list) // newest first
		if customer := query.Get("customer"); customer != "" {
			list = slices.DeleteFunc(list, func(o object) bool { return o["customer"] != customer })
		}
		return f.list(list, query)
	case path == "customers":
		return f.list(f.customersOf(query.Get("email"), query.Get("expand[]") == "data.cash_balance"), query)
	case kind == "customers":
		id, rest, _ := strings.Cut(id, "/")
		if s := f.customer(id); s != nil && rest == "" {
			return 200, s.show(false)
		}
		if s := f.customer(id); s != nil && rest == "cash_balance_transactions" {
			list := slices.Clone(s.moves)
			slices.Reverse(list)
			return f.list(list, query)
		}
	case path == "refunds":
		if c := f.at(query.Get("payment_intent")); c != nil {
			return f.list(f.all(c), query)
		}
		if !query.Has("payment_intent") {
			list := slices.Clone(f.returns)
			slices.Reverse(list)
			for _, c := range f.Charges {
				list = append(list, f.all(c)...)
			}
			return f.list(list, query)
		}
	case kind == "refunds":
		for _, c := range f.Charges {
			for _, made := range f.all(c) {
				if made["id"] == id {
					return 200, made
				}
			}
		}
		for _, made := range f.returns {
			if made["id"] == id {
				return 200, made
			}
		}
	case path == "disputes":
		var list []object
		for _, c := range f.Charges {
			if c.Ending == providertest.Disputed && c.id() == query.Get("payment_intent") {
				list = append(list, c.disputed(query.Get("expand[]") == "data.payment_intent"))
			}
		}
		return f.list(list, query)
	case kind == "disputes":
		if c := f.disputedBy(id); c != nil {
			return 200, c.disputed(expand)
		}
	case kind == "payment_intents":
		if c := f.at(id); c != nil {
			return 200, c.intent()
		}
	case kind == "sessions":
		if c := f.at(id); c != nil {
			s := c.session(expand)
			if i, ok := s["payment_intent"].(object); ok && query.Get("expand[]") == "payment_intent.latest_charge" {
				i["latest_charge"] = c.latest()
			}
			return 200, s
		}
	}
	return fail(404, "invalid_request_error", "resource_missing")
}

func (f *fake) list(all []object, query url.Values) (int, any) {
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		return invalid("parameter_invalid_integer")
	}
	made := func(field string, keep func(created, bound int64) bool) {
		bound, err := strconv.ParseInt(query.Get(field), 10, 64)
		all = slices.DeleteFunc(all, func(o object) bool {
			created, timed := o["created"].(int64)
			return err == nil && timed && !keep(created, bound)
		})
	}
	made("created[gte]", func(created, bound int64) bool { return created >= bound })
	made("created[lte]", func(created, bound int64) bool { return created <= bound })
	if after := query.Get("starting_after"); after != "" {
		at := slices.IndexFunc(all, func(o object) bool { return o["id"] == after })
		if at < 0 {
			return invalid("resource_missing")
		}
		all = all[at+1:]
	}
	some := all[:min(len(all), limit, f.page)]
	return 200, object{"object": "list", "data": append([]object{}, some...), "has_more": len(some) < len(all), "url": "/v1"}
}

func (c *charge) id() string        { return fmt.Sprintf("pi_%d", c.number) }
func (c *charge) sessionID() string { return fmt.Sprintf("cs_test_%d", c.number) }
func (c *charge) disputeID() string { return fmt.Sprintf("du_%d", c.number) }
func (c *charge) hosted() bool      { return c.form.Get("mode") == "payment" }

// intent returns the PaymentIntent as the API shows it.
func (c *charge) intent() object {
	meta := object{referenceKey: c.form.Get("metadata[" + referenceKey + "]")}
	if c.hosted() {
		meta = object{referenceKey: c.form.Get("payment_intent_data[metadata][" + referenceKey + "]"), hostedKey: c.form.Get("payment_intent_data[metadata][" + hostedKey + "]")}
	}
	i := object{
		"id": c.id(), "object": "payment_intent", "amount": c.Local.Minor, "amount_received": 0, "currency": strings.ToLower(string(c.Local.Currency)),
		"created": c.created, "metadata": meta, "next_action": nil, "last_payment_error": nil, "cancellation_reason": nil,
		"payment_method_types": []string{c.method}, "status": "requires_payment_method", "customer": nil, "livemode": false,
	}
	if customer := c.form.Get("customer"); customer != "" {
		i["customer"] = customer
	}
	failed := func(code string) {
		i["last_payment_error"] = object{"type": "invalid_request_error", "code": code, "message": "Stripe says why."}
	}
	if n := len(c.tries); n > 0 {
		i["last_payment_error"] = object{
			"type": "card_error", "code": "card_declined", "decline_code": c.tries[n-1], "message": "Stripe says why.", "charge": fmt.Sprintf("ch_%d_%d", c.number, n),
			"payment_method": object{"id": fmt.Sprintf("pm_%d_%d", c.number, n), "object": "payment_method", "type": "card", "card": object{"country": "US"}},
		}
	}
	switch c.Ending {
	case providertest.Open:
		if !c.hosted() {
			i["status"], i["next_action"] = "requires_action", c.action()
		}
	case providertest.Paid, providertest.Disputed:
		i["status"], i["amount_received"], i["latest_charge"] = "succeeded", c.Local.Minor, "ch_"+c.id()
	case providertest.WrongAmount:
		i["status"], i["amount_received"] = "succeeded", c.Local.Minor-1
	case providertest.WrongCurrency:
		i["status"], i["amount_received"], i["currency"] = "succeeded", c.Local.Minor, "eur"
	case providertest.Declined, providertest.SoftDeclined:
		failed("payment_intent_payment_attempt_failed")
	case providertest.Expired:
		failed("payment_intent_payment_attempt_expired")
	case providertest.Canceled:
		i["status"], i["cancellation_reason"] = "canceled", "requested_by_customer"
	default:
		i["status"] = "quantum"
	}
	if c.going != "" {
		i["status"], i["cancellation_reason"] = c.going, nil
	}
	return i
}

// latest is the charge that paid on a page, in installments if the shopper chose some.
func (c *charge) latest() any {
	if i := c.intent(); i["latest_charge"] == nil {
		return nil
	}
	chosen := object{"plan": nil}
	if c.months > 0 {
		chosen["plan"] = object{"count": c.months, "interval": "month", "type": "fixed_count"}
	}
	return object{
		"id": "ch_" + c.id(), "object": "charge", "amount": c.Local.Minor, "payment_method_details": object{"type": "card", "card": object{"installments": chosen}},
	}
}

func (c *charge) action() object {
	switch c.method {
	case "pix":
		return object{"type": "pix_display_qr_code", "pix_display_qr_code": object{"data": "00020126580014br.gov.bcb.pix" + c.Reference + "6304ABCD"}}
	case "oxxo":
		return object{"type": "oxxo_display_details", "oxxo_display_details": object{"number": "98765432100000000000000000000019"}}
	}
	return object{"type": "display_bank_transfer_instructions", "display_bank_transfer_instructions": object{
		"amount_remaining": c.Local.Minor - c.funded, "reference": c.bankReference(), "type": "mx_bank_transfer",
		"financial_addresses": []object{{"type": "spei", "supported_networks": []string{"spei"}, "spei": object{
			"clabe": "646180111812345678", "bank_code": "002", "bank_name": "BANAMEX", "account_holder_name": "Loja de Prueba",
			"account_holder_address": object{"country": "MX"}, "bank_address": object{"country": "MX"},
		}}},
	}}
}

// session returns the Checkout Session as the API shows it. It has no intent until
// somebody tries to pay.
func (c *charge) session(expand bool) object {
	s := object{
		"id": c.sessionID(), "object": "checkout.session", "mode": "payment", "client_reference_id": c.form.Get("client_reference_id"),
		"metadata": object{referenceKey: c.form.Get("metadata[" + referenceKey + "]")}, "created": providertest.Noon.Unix(),
		"amount_total": c.Local.Minor, "currency": strings.ToLower(string(c.Local.Currency)),
		"url": nil, "payment_intent": nil, "payment_status": "unpaid", "status": "complete", "livemode": false, "expires_at": c.created + 3600,
		"payment_method_types": []string{c.method}, "automatic_tax": object{"enabled": false, "status": nil}, "custom_fields": []object{}, "custom_text": object{},
		"shipping_options": []object{},
	}
	switch c.Ending {
	case providertest.Open:
		s["status"], s["url"] = "open", "https://checkout.stripe.test/c/pay/"+c.sessionID()+"#fid"
		if len(c.tries) == 0 && c.going == "" {
			return s
		}
	case providertest.Declined:
		s["status"], s["url"] = "open", "https://checkout.stripe.test/c/pay/"+c.sessionID()+"#fid"
	case providertest.Expired, providertest.Canceled:
		s["status"] = "expired"
		if len(c.tries) == 0 && c.going == "" {
			return s
		}
	case providertest.Nonsense:
		s["status"] = "quantum"
		return s
	default:
		s["payment_status"] = "paid"
	}
	s["payment_intent"] = c.id()
	if expand {
		s["payment_intent"] = c.intent()
	}
	return s
}

func (c *charge) disputed(expand bool) object {
	d := object{
		"id": c.disputeID(), "object": "dispute", "status": "needs_response", "reason": "product_not_received", "payment_intent": c.id(),
		"metadata": object{}, "amount": c.Local.Minor, "livemode": false, "created": c.created, "charge": "ch_" + c.id(), "is_charge_refundable": false,
		"enhanced_eligibility_types": []string{},
		"currency":                   strings.ToLower(string(c.Local.Currency)),
		"payment_method_details":     object{"type": "card", "card": object{"brand": "visa", "case_type": "chargeback", "network": "visa", "network_reason_code": "13.1"}},
		"balance_transactions":       append([]object{}, c.moved...),
	}
	if c.dispute != "" {
		d["status"] = c.dispute
	}
	c.answer.show(d)
	if expand {
		d["payment_intent"] = c.intent()
	}
	return d
}
