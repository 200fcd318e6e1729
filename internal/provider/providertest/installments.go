package providertest

import (
	"fmt"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// Installing is a CardFake whose shoppers pay in installments.
type Installing interface {
	CardFake
	// In lets the shopper of a page pay in so many installments, and returns the notification of it. offered is false if the page does not
	// have them: then nothing happens.
	In(reference string, count int) (n provider.Notification, offered bool)
}

// inInstallments pays in installments on a page, and says whether the adapter has the page offer them, whether it offers as many as we
// say and no more, and whether the count is reported.
func (s Suite) inInstallments(t *testing.T, rail string) (offered, capped, reported string) {
	if _, can := s.New(t).(Installing); !can {
		return "no", "no", "no"
	}
	pages := 0
	buy := func(terms installment.Terms, count func(installment.Offer) int) (o pay.Outcome, offer installment.Offer, took bool) {
		b := s.connect(t)
		b.Next(Open)
		pages++
		r := s.request(rail, fmt.Sprintf("01M7ZMONTHS%d-1", pages))
		if !s.Page.Installed.IsZero() {
			r.Local = s.Page.Installed
		}
		r.Installments, offer = terms, provider.Installments(b.Provider, r.Rail, r.Local, terms)
		page := b.Charge(within(t), r)
		want(t, "a page with installments", page, pay.Awaiting)
		r.ProviderRef = page.ProviderRef
		n, took := b.Fake.(Installing).In(r.Reference, count(offer))
		if !took {
			return o, offer, false
		}
		published.Sent(t, b.Fake, n.Header, n.Query, n.Body)
		list, err := b.Notices(within(t), n)
		Sound(t, list, err)
		if err != nil || len(list) != 1 {
			t.Fatalf("the notification of a payment in installments: %d, %v", len(list), err)
		}
		o = list[0].Outcome
		if asked := b.Query(within(t), r); s.Blind == "" {
			if asked.Installments != o.Installments {
				t.Errorf("the query reports %+v, the notification %+v", asked.Installments, o.Installments)
			}
		}
		if o.Local != r.Local {
			t.Errorf("%v was paid of %v", o.Local, r.Local)
		}
		return o, offer, true
	}
	all := installment.Terms{Max: installment.Most, InterestFree: installment.Most}
	o, offer, took := buy(all, func(offer installment.Offer) int { return max(offer.Max(), 3) })
	offered, reported = yes(offer.Max() > 1), yes(took && o.Installments.Count == max(offer.Max(), 3))
	if offer.Max() > 1 && !took {
		t.Errorf("the page does not have the %d installments that the adapter offers", offer.Max())
	}
	six := installment.Terms{Max: 6, InterestFree: 6}
	_, offer, took = buy(six, func(offer installment.Offer) int { return 9 })
	if took && offered == "yes" || offer.Max() > six.Max {
		t.Errorf("under %+v the page takes 9 installments: %t; the offer is %+v", six, took, offer)
	}
	if capped = yes(offer.Max() > 1); capped == "yes" {
		if _, _, took = buy(six, installment.Offer.Max); !took {
			t.Errorf("under %+v the page does not have the %d installments of the offer", six, offer.Max())
		}
	}
	if _, offer, took = buy(installment.Terms{}, func(installment.Offer) int { return 3 }); took && offered == "yes" || offer.Max() > 0 {
		t.Error("without terms the page has installments")
	}
	return offered, capped, reported
}
