package stripe

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// now is the clock of both sides; noon if the fake was not opened yet.
func (f *payoutFake) now() time.Time {
	if f.clock == nil {
		return providertest.Noon
	}
	return f.clock()
}

func thinEvent(id, kind, of string, live bool) []byte {
	return providertest.JSON(object{
		"id": id, "object": "v2.core.event", "type": kind, "created": "2026-11-21T12:00:00.000Z", "livemode": live, "context": nil,
		"related_object": object{"id": of, "type": "v2.money_management.outbound_payment", "url": paymentsOf + "/" + of},
	})
}

func (f *payoutFake) signed(body []byte) provider.Notification {
	return providertest.Notify("application/json", body, signatureHeader, signature(body, testSecret, f.now().Unix()))
}

func (f *payoutFake) Notify(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	p := f.Must(reference)
	kind := map[string]string{"processing": "created", "sleeping": "updated"}[p.status()]
	if kind == "" {
		kind = p.status()
	}
	f.events++
	return f.signed(thinEvent(fmt.Sprintf("evt_%d", f.events), "v2.money_management.outbound_payment."+kind, p.id(), false))
}

func (f *payoutFake) Forge(reference string) map[string]provider.Notification {
	f.Lock()
	defer f.Unlock()
	body := thinEvent("evt_forged", "v2.money_management.outbound_payment.posted", f.Must(reference).id(), false)
	good, other := f.signed(body), f.signed([]byte("another body"))
	other.Body = body
	return map[string]provider.Notification{
		"no signature":                  providertest.Notify("application/json", body),
		"another body's signature":      other,
		"another secret":                providertest.Notify("application/json", body, signatureHeader, signature(body, "whsec_other", f.now().Unix())),
		"an old signature":              providertest.Notify("application/json", body, signatureHeader, signature(body, testSecret, f.now().Add(-time.Hour).Unix())),
		"a signature that is too early": good,
	}
}

func (f *payoutFake) Other() map[string]provider.Notification {
	f.Lock()
	defer f.Unlock()
	panel := &fakePayment{panel: true, number: 777, Entry: payouttest.Entry{Asked: money.New(1, "USD"), Stage: payouttest.Done}}
	f.panels = append(f.panels, panel)
	return map[string]provider.Notification{
		"a payment of the dashboard": f.signed(thinEvent("evt_1", "v2.money_management.outbound_payment.posted", panel.id(), false)),
		"a payment of live mode":     f.signed(thinEvent("evt_3", "v2.money_management.outbound_payment.posted", "obp_live", true)),
		"a transfer":                 f.signed(thinEvent("evt_4", "v2.money_management.outbound_transfer.posted", "obt_1", false)),
		"a bank account":             f.signed(thinEvent("evt_5", "v2.money_management.payout_method.updated", "ba_1", false)),
		"an event of the old kind":   notification("evt_6", "payout.paid", object{"id": "po_1"}),
		"an empty object":            f.signed([]byte(`{}`)),
		"an event without its type":  f.signed([]byte(`{"object":"v2.core.event"}`)),
	}
}
