package mercadopago

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// alertAbout is a fraud alert: its address names nothing, and its body the payment.
func alertAbout(kind, payment string) provider.Notification {
	n := notification(kind, "", 1, providertest.Noon.UnixMilli())
	n.Body = fmt.Appendf(nil, `{"action":"Created","api_version":"v1","id":%q,"type":%q,"data":{"description":"high risk","merchant_order":4945357007,"payment_id":%[1]s,"site_id":"MLM"}}`,
		payment, kind)
	return n
}

// Each topic that Mercado Pago documents leads to the state of a payment or of a chargeback, or means no money. Any other is reported.
func TestEachTopicHasItsMeaning(t *testing.T) {
	for what, topics := range map[string]string{
		"a payment": "payment", "a chargeback": "topic_chargebacks_wh chargebacks", "a claim": "topic_claims_integration_wh claim", "an alert": "stop_delivery_op_wh delivery_cancellation",
		"nothing": `topic_merchant_order_wh merchant_order order orders subscription_authorized_payment subscription_preapproval subscription_preapproval_plan
			point_integration_wh point_integration_ipn wallet_connect delivery topic_card_id_wh automatic-payments mp-connect`, "what we do not know": "something_new",
	} {
		for _, topic := range strings.Fields(topics) {
			a, f, r, chargeback := chargedBack(t)
			var strange []string
			a.Unmapped = func(word string) { strange = append(strange, word) }
			at := providertest.Noon.UnixMilli()
			n := map[string]provider.Notification{
				"a payment": notification(topic, r.ProviderRef, 1, at), "a chargeback": notification(topic, chargeback, 1, at), "a claim": notification(topic, "88"+r.ProviderRef, 1, at),
				"an alert": alertAbout(topic, r.ProviderRef), "nothing": notification(topic, "ord01jq", 1, at),
				"what we do not know": notification(topic, "ord01jq", 1, at),
			}[what]
			unknown := what == "what we do not know"
			if what != "nothing" && !unknown {
				published.Sent(t, f, n.Header, n.Query, n.Body)
			}
			list, err := a.Notices(context.Background(), n)
			if unknown != slices.Equal(strange, []string{"topic: " + topic}) || !unknown && len(strange) != 0 {
				t.Errorf("%s is reported as unknown: %q", topic, strange)
			}
			if what == "nothing" || unknown {
				if len(list) != 0 || err != nil {
					t.Errorf("%s: %+v, %v", topic, list, err)
				}
				continue
			}
			if err != nil || len(list) != 1 || !list[0].Dispute || list[0].DisputeID != chargeback || list[0].Reference != r.Reference {
				t.Errorf("%s: %+v, %v", topic, list, err)
			}
			n.Header.Set("X-Request-Id", "another")
			if _, err := a.Notices(context.Background(), n); !errors.Is(err, provider.ErrUnsigned) {
				t.Errorf("%s: it is signed for another request: %v", topic, err)
			}
			if f.barred = true; what == "a claim" { // such a token gets the payment's notification alone
				n = notification(topic, "88"+r.ProviderRef, 2, at)
				if list, err := a.Notices(context.Background(), n); len(list) != 0 || err != nil {
					t.Errorf("%s: the claim cannot be read: %+v, %v", topic, list, err)
				}
			}
		}
	}
}

// An alert, or a topic of no money, may come without any object.
func TestANotificationWithoutAnObjectIsTaken(t *testing.T) {
	a, _, _ := connect(t)
	for kind, body := range map[string]string{"stop_delivery_op_wh": `{"type":"stop_delivery_op_wh"}`, "mp-connect": `{"type":"mp-connect","data":{}}`, "test": `{"type":"test"}`} {
		n := notification(kind, "", 1, providertest.Noon.UnixMilli())
		n.Body = []byte(body)
		if list, err := a.Notices(context.Background(), n); len(list) != 0 || err != nil {
			t.Errorf("%s: %+v, %v", kind, list, err)
		}
	}
}

// Only the cause that is documented for a call proves that there is nothing: the edge and other services answer 404 too.
func TestOnlyTheDocumentedCauseProvesAbsence(t *testing.T) {
	ctx := context.Background()
	missing := func(code int) string {
		return fmt.Sprintf(`{"message":"x","error":"not_found","status":404,"cause":[{"code":%d,"description":"x"}]}`, code)
	}
	for body, want := range map[string][2]pay.OutcomeKind{ // of a payment, of a refund
		missing(2000): {pay.Missing, pay.Unknown}, missing(2032): {pay.Unknown, pay.Missing}, missing(1000): {pay.Unknown, pay.Unknown},
		`{"message":"resource not found","error":"not_found","status":404,"cause":[]}`: {pay.Unknown, pay.Unknown},
		`{"error":"resource not found","status":404}`:                                  {pay.Unknown, pay.Unknown},
		``: {pay.Unknown, pay.Unknown}, `<html>`: {pay.Unknown, pay.Unknown},
	} {
		a, _ := providertest.OpenAccount[*account](t, Adapter(), credentials(), providertest.Says(http.StatusNotFound, body))
		r := request("pix.BRA")
		r.ProviderRef = "5000000001"
		q := provider.RefundRequest{Reference: "01M7ZCLM-1", RefundRef: "51", Charge: r, Local: money.New(100, money.BRL)}
		if o, back := a.Query(ctx, r), a.QueryRefund(ctx, q); o.Kind != want[0] || back.Kind != want[1] {
			t.Errorf("%s: a payment is %s, a refund %s, want %s", body, o.Kind, back.Kind, want)
		}
	}
}

// Every documented detail of a rejection has its reason. What the bank, a rule of Mercado Pago or a missing field refused may succeed at
// another provider.
func TestEachDeclineHasItsReason(t *testing.T) {
	a, _, line := connect(t)
	hard := strings.Fields(`cc_rejected_insufficient_amount insufficient_amount insufficient_money cc_rejected_bad_filled_date cc_rejected_bad_filled_card_number
		cc_rejected_bad_filled_security_code cc_rejected_bad_filled_other cc_rejected_blacklist cc_rejected_high_risk cc_rejected_fraud rejected_high_risk
		rejected_by_regulations payer_unavailable cc_rejected_card_disabled cc_rejected_duplicated_payment
		cc_rejected_max_attempts cc_amount_rate_limit_exceeded cc_rejected_3ds_challenge`)
	soft := strings.Fields(`cc_rejected_card_type_not_allowed cc_rejected_3ds_mandatory cc_rejected_call_for_authorize cc_rejected_card_error cc_rejected_time_out cc_rejected_plugin_pm invalid_esc
		cc_rejected_invalid_installments cc_rejected_other_reason rejected_by_bank bank_rejected bank_error rejected_insufficient_data rejected_by_biz_rule
		rejected_other_reason collector_unavailable`)
	if len(hard)+len(soft) != len(declines) {
		t.Errorf("the table has %d details, %d are documented", len(declines), len(hard)+len(soft))
	}
	for _, detail := range append(hard, soft...) {
		o := a.outcome(payment{ID: "1", Status: "rejected", StatusDetail: text(detail)}, "")
		if o.Kind != pay.Declined || o.Soft != slices.Contains(soft, detail) || o.Decline == "" || o.Message == "" {
			t.Errorf("%s: %+v", detail, o)
		}
		if strings.Contains(strings.ToLower(o.Message), "mercado") || strings.HasPrefix(o.Decline, "cc_") {
			t.Errorf("%s: %+v names the provider", detail, o)
		}
		if funds := strings.Contains(detail, "insufficient_amount") || detail == "insufficient_money"; funds != (o.Decline == "insufficient_funds") {
			t.Errorf("%s: %+v", detail, o)
		}
	}
	if len(line.Unmapped()) != 0 {
		t.Errorf("known words were counted: %v", line.Unmapped())
	}
	if o := a.outcome(payment{ID: "1", Status: "rejected", StatusDetail: "cc_new"}, ""); o.Kind != pay.Declined || o.Soft || len(line.Unmapped()) != 1 {
		t.Errorf("an unknown reason: %+v, %v", o, line.Unmapped())
	}
}

func TestEachStatusHasItsMeaning(t *testing.T) {
	a, _, _ := connect(t)
	for status, want := range map[text]pay.OutcomeKind{
		"pending": pay.Awaiting, "in_process": pay.Awaiting, "authorized": pay.Awaiting, "approved": pay.Approved,
		"in_mediation": pay.Approved, "charged_back": pay.Approved, "refunded": pay.Reversed, "rejected": pay.Declined,
		"cancelled": pay.Lapsed, "": pay.Unknown, "Approved": pay.Unknown,
	} {
		o := a.outcome(payment{ID: "1", Status: status, CurrencyID: "BRL", TransactionAmount: "1"}, "")
		if o.Kind != want {
			t.Errorf("%q is %s, want %s", status, o.Kind, want)
		}
	}
	if o := a.outcome(payment{ID: "1", Status: "cancelled", StatusDetail: "by_payer"}, ""); o.Kind != pay.Declined {
		t.Errorf("canceled by the shopper: %+v", o)
	}
}

func TestDocumentsHaveTheirCountrysTypes(t *testing.T) {
	for _, c := range []struct{ country, number, kind, plain string }{
		{"BRA", "529.982.247-25", "CPF", "52998224725"}, {"BRA", "11.222.333/0001-81", "CNPJ", "11222333000181"},
		{"ARG", "12.345.678", "DNI", "12345678"}, {"ARG", "20-12345678-6", "CUIT", "20123456786"},
		{"CHL", "12.345.678-k", "RUT", "12345678K"}, {"CHL", "1.234.567-4", "RUT", "12345674"},
		{"COL", "1020304050", "CC", "1020304050"}, {"COL", "12.345.678", "CC", "12345678"},
		{"COL", "900.373.115", "NIT", "900373115"}, {"COL", "900.373.115-3", "NIT", "9003731153"}, {"COL", "860034313-7", "NIT", "8600343137"},
		{"PER", "12345678", "DNI", "12345678"}, {"PER", "20100047218", "RUC", "20100047218"}, {"PER", "001234567", "CE", "001234567"},
		{"URY", "1.234.567-2", "CI", "12345672"}, {"URY", "211234567890", "Otro", "211234567890"},
		{"MEX", "GODE561231GR8", "", ""}, {"BRA", "", "", ""}, {"BRA", "123", "", ""}, {"COL", "12345", "", ""},
	} {
		r := provider.Request{Country: c.country, Buyer: pay.Buyer{Document: c.number}}
		if kind, plain := document(r); kind != c.kind || plain != c.plain {
			t.Errorf("%s %s is %s %s", c.country, c.number, kind, plain)
		}
	}
}
