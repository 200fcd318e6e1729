package evidence_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// claimOf is a claim for a reason.
func claimOf(t *testing.T, why evidence.Reason) pay.Claim {
	t.Helper()
	words := map[evidence.Reason]string{
		evidence.Fraud: "fraudulent", evidence.NotReceived: "not_received", evidence.NotAsDescribed: "not_as_described", evidence.Duplicate: "duplicate",
		evidence.Canceled: "subscription_canceled", evidence.NotCredited: "credit_not_processed", evidence.General: "other", evidence.Late: "",
	}
	c := pay.Claim{ID: "CLM-1", Kind: pay.ChargebackClaim, Reason: words[why], Local: money.New(40_00, money.USD)}
	if why == evidence.Late {
		c.Kind = pay.Inquiry
	}
	if got := evidence.ReasonOf(c); got != why {
		t.Fatalf("%q is taken for %s, want %s", c.Reason, got, why)
	}
	return c
}

// factsOf is a payment about which everything is known.
func factsOf(c pay.Claim) evidence.Facts {
	p := pay.Payment{
		ID: "TXN-1", Price: pay.Price{Local: money.New(100_00, money.USD)}, Way: pay.Way{Method: "card", Country: "MEX"},
		Order: pay.PaymentOrder{
			ID:       "A-17",
			Buyer:    pay.Buyer{Name: "Ana Pérez", Email: "ana@example.com", Phone: "+525512345678", IP: "203.0.113.7", Document: "123.456.789-09"},
			Purchase: pay.Purchase{Description: "Two tickets", Items: []pay.LineItem{{Name: "Ticket", Quantity: 2, Unit: money.New(50_00, money.USD)}}},
		},
		Page: pay.PaymentPage{Hosted: true, Challenged: true}, Times: pay.Times{Created: noon, Completed: noon.Add(time.Minute)},
	}
	other := pay.Payment{ID: "TXN-0", Order: pay.PaymentOrder{ID: "A-3"}, Price: p.Price, Times: pay.Times{Completed: noon.Add(-300 * time.Hour)}}
	plain := other
	plain.ID, plain.Order.ID = "TXN-00", ""
	return evidence.Facts{
		Claim: c, Payment: p, Session: pay.Session{ID: "ses_1", CreatedAt: noon.Add(-time.Hour), IP: "203.0.113.8"}, Others: []pay.Payment{other, plain},
		Claims: []pay.Claim{
			{ID: "CLM-0", Kind: pay.UserDispute, Status: pay.ClaimApproved, Local: money.New(5_00, money.USD), Resolved: noon.Add(time.Hour)},
			{ID: "CLM-2", Kind: pay.UserDispute, Status: pay.ClaimPending, Local: money.New(6_00, money.USD), CreatedAt: noon.Add(2 * time.Hour)}, c,
		},
		Deliveries: []webhooks.Delivery{{EventType: webhooks.PaymentCreated, DeliveredAt: noon}, {EventType: webhooks.PaymentCompleted, DeliveredAt: noon.Add(3 * time.Minute)}},
	}
}

var hole = regexp.MustCompile(`\{\w*\}`)

// Each reason has a draft in every language. It has what is known, a place for each thing that only the shop knows, and no
// hole; with nothing known it tells nothing.
func TestEachReasonHasADraft(t *testing.T) {
	begins := map[string]bool{}
	for _, language := range merchants.Languages() {
		whole := ""
		for _, why := range evidence.Reasons() {
			c := claimOf(t, why)
			full, bare := evidence.Draft(factsOf(c), language), evidence.Draft(evidence.Facts{Claim: c, Payment: pay.Payment{ID: "TXN-1", Price: pay.Price{Local: money.New(1_00, money.USD)}}}, language)
			begin, _, _ := strings.Cut(full, "\n")
			if begin == "" || begins[begin] {
				t.Errorf("%s in %s begins with %q, as another one does", why, language, begin)
			}
			begins[begin] = true
			for _, text := range []string{full, bare} {
				if left := hole.FindString(text); left != "" || strings.Contains(text, "\n\n\n") || strings.Contains(text, ": \n") || strings.Contains(text, "0001-01-01") {
					t.Errorf("%s in %s has the hole %q:\n%s", why, language, left, text)
				}
				if got := strings.Count(text, evidence.Fill); got != len(why.Wanted()) || !evidence.Unfinished(text) {
					t.Errorf("%s in %s has %d places to fill in, want %d", why, language, got, len(why.Wanted()))
				}
			}
			for _, want := range []string{"TXN-1", "A-17", "100", "40", "2026-11-20 12:01 UTC", "Two tickets"} {
				if !strings.Contains(full, want) {
					t.Errorf("%s in %s does not tell %q:\n%s", why, language, want, full)
				}
			}
			whole += full
		}
		for _, want := range []string{"Ana Pérez", "ana@example.com", "8909", "203.0.113.7", "203.0.113.8", "3-D Secure", "TXN-0", "A-3", "CLM-0", "CLM-2", "2026-11-20 12:03 UTC"} {
			if !strings.Contains(whole, want) {
				t.Errorf("no draft in %s tells %q", language, want)
			}
		}
		if strings.Contains(whole, "123.456") || strings.Contains(whole, "12345678909") {
			t.Errorf("a draft in %s tells the whole document", language)
		}
	}
}

// No sentence is left in one language only, and each has the same values in all.
func TestDraftsSayTheSameInEveryLanguage(t *testing.T) {
	texts := map[merchants.Language]map[string]string{}
	for _, language := range merchants.Languages() {
		body, err := os.ReadFile("text/" + string(language) + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var of map[string]string
		if err := json.Unmarshal(body, &of); err != nil {
			t.Fatal(err)
		}
		texts[language] = of
	}
	for language, of := range texts {
		if got, want := slices.Sorted(maps.Keys(of)), slices.Sorted(maps.Keys(texts[merchants.English])); !slices.Equal(got, want) {
			t.Errorf("%s has the keys %v, want %v", language, got, want)
		}
		for key, sentence := range of {
			if got, want := slices.Sorted(slices.Values(hole.FindAllString(sentence, -1))), slices.Sorted(slices.Values(hole.FindAllString(texts[merchants.English][key], -1))); !slices.Equal(got, want) {
				t.Errorf("%s %s has %v for values, want %v", language, key, got, want)
			}
		}
	}
}

// What the shop or the shopper wrote is a value in a draft, whatever it holds, and a draft fits into a piece of evidence.
func TestDraftStaysShortAndPlain(t *testing.T) {
	f := factsOf(claimOf(t, evidence.Fraud))
	f.Payment.Order.ID = "{email}\n\n[…] " + strings.Repeat("é", 5000)
	for range 500 {
		f.Payment.Order.Purchase.Items = append(f.Payment.Order.Purchase.Items, pay.LineItem{Name: strings.Repeat("x", 500), Quantity: 1, Unit: money.New(1, money.USD)})
		f.Others = append(f.Others, f.Others[0])
	}
	text := evidence.Draft(f, merchants.Spanish)
	if n := len([]rune(text)); n > evidence.MaxText {
		t.Errorf("the draft has %d characters", n)
	}
	if !strings.Contains(text, "Pedido: {email} … é") || strings.Count(text, evidence.Fill) != len(evidence.Fraud.Wanted()) {
		t.Errorf("the order writes a part of the draft:\n%.2000s", text)
	}
}
