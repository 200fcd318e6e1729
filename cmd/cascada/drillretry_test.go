package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// A shopper's card is declined on Stripe's page. The shopper tries again, and pays on Adyen's. Both providers are the strict fakes of
// their adapters' tests (Stripe's is its test environment), and the operator reads what happened with the real program.
//
//	go test ./cmd/cascada -run TestDrillRetry -v
func TestDrillRetry(t *testing.T) {
	t.Parallel()
	const rail = "card.BRA"
	database := dbtest.SQLite(t)
	listen := freeAddress(t)
	u := newUser(t).with("CASCADA_DATABASE="+database, "CASCADA_PUBLIC_URL=https://pay.cascada.test", "CASCADA_LISTEN="+listen)
	u.does(t, "migrate")
	s := u.serve(t)
	s.url = "http://" + listen
	k := u.merchant(t, database)
	u.does(t, "fx", "set", "BRL", "5.4")
	at := func(name, account, priority string) *atProvider {
		d := &atProvider{t: t, u: u, s: s, k: k, database: database, fake: startFake(t, fakeOf(t, name), name), adapter: adapterOf(name), account: account, key: k.Keys.Sandbox.Secret}
		d.ask("about", nil, &d.about)
		d.open(d.adapter, account, "sandbox", d.fake, d.about.Credentials, "--priority", priority, "--rail", rail)
		return d
	}
	first, second := at("stripe", "stripe-1", "1"), at("adyen", "adyen-2", "2")
	buying := second.about.Rails[rail] // Stripe's own sample is of another country
	buying.Amount = "108"              // a simulator, before the server knows the accounts, plays nothing for it
	first.about.Rails[rail] = buying
	first.hosted = true
	id, reference := first.pays(rail, "a card that is declined")
	first.happens("try", reference, "code", "do_not_honor")
	p := first.is(id, "declined on the page", "pending")
	if tries := fmt.Sprint(p["tries"]); !strings.Contains(tries, "do_not_honor") {
		t.Errorf("the tries in the API are %s", tries)
	}

	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	_, key, _ := strings.Cut(first.link, "?")
	retry := s.url + "/pay/" + id + "/retry?" + key
	await(t, "Adyen's page, once the server knows the account", func() bool { // until then a click leads to the first page again
		reply, err := client.Post(retry, "application/x-www-form-urlencoded", nil)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		to := reply.Header.Get("Location")
		if reply.StatusCode != http.StatusSeeOther {
			t.Fatalf("trying again is answered with %d, to %q", reply.StatusCode, to)
		}
		return !strings.Contains(to, "stripe") && !strings.HasPrefix(to, "/")
	})
	again := strings.TrimSuffix(reference, "1") + "2"
	if !second.reached(again) {
		t.Fatal("no page was opened at Adyen")
	}
	second.becomes(again, "paid")
	second.is(id, "paid on the second page", "completed")
	first.happens("tell", reference) // that the first page has ended, once more
	second.is(id, "told of the first page again", "completed")

	first.tells(id, "1 at stripe-1: expired", "on its page: declined (do_not_honor", "2 at adyen-2: approved", "the shopper tried again")
	explained := u.does(t, "explain", id)
	t.Logf("explain:\n%s", explained)
	for _, want := range []string{"1  stripe-1: expired", "declined (do_not_honor", "2  adyen-2: approved", "the shopper tried again"} {
		if !strings.Contains(explained, want) {
			t.Errorf("explain does not say %q", want)
		}
	}
	var complaints []string
	if second.ask("complaints", nil, &complaints); len(complaints) > 0 {
		t.Errorf("adyen: the provider's document does not allow: %s", complaints)
	}
	first.ends()
}
