package adapters

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// works is what the page may say of a capability: whether it works, and how that was proved.
var works = regexp.MustCompile(`^(no|by hand|(yes|part|told) M?S?R?D)$`)

// Where the code knows whether a provider has a capability, the page says the same.
func TestPageOfProvidersAgreesWithTheAdapters(t *testing.T) {
	page := providertest.Rows(t, "provider")
	charges, pays, reports := map[string]provider.Adapter{}, map[string]bool{}, map[string]bool{}
	for _, a := range All() {
		name := strings.TrimSuffix(a.Name, "-payouts")
		if page[name] == nil {
			t.Errorf("%s has no row", name)
		}
		if a.OpenPayouts != nil {
			pays[name] = true
		} else {
			charges[name], reports[name] = a, a.Report.Title != ""
		}
	}
	for name, row := range page {
		for column, cell := range row {
			if !works.MatchString(cell) {
				t.Errorf("%s, %s: %q says not whether it works, and how that was proved", name, column, cell)
			}
		}
		if charges[name].Open == nil && !pays[name] {
			t.Errorf("there is no adapter for %s", name)
		}
		say(t, name, row, "payout", pays[name], strings.HasPrefix(row["payout"], "no"))
		if charges[name].Open == nil {
			continue
		}
		say(t, name, row, "report", reports[name], row["report"] == "no")
		client, err := charges[name].Open(account(charges[name], nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, asks := client.(provider.DisputeQuerier); asks != !strings.HasPrefix(row["dispute"], "told") && row["dispute"] != "no" {
			t.Errorf("%s: disputes can be queried: %t, and the page says %q", name, asks, row["dispute"])
		}
		_, defends := client.(provider.Defender)
		say(t, name, row, "evidence", defends, row["evidence"] == "no")
		rails := slices.Collect(maps.Values(providertest.Table(t, name)))
		for column, letter := range map[string]string{"charge": "C", "query": "Q", "refund": "R", "notification": "N", "cancel": "X"} {
			all := !slices.ContainsFunc(rails, func(cell string) bool { return !strings.Contains(cell, letter) })
			some := slices.ContainsFunc(rails, func(cell string) bool { return strings.Contains(cell, letter) })
			if yes := strings.HasPrefix(row[column], "yes"); yes && !all || some && row[column] == "no" {
				t.Errorf("%s, %s: %q, and the rails say %q", name, column, row[column], rails)
			}
		}
	}
}

// say fails the test if the page and the code disagree about what a provider has.
func say(t *testing.T, name string, row map[string]string, column string, has, no bool) {
	t.Helper()
	if has == no {
		t.Errorf("%s, %s: the code has it: %t, and the page says %q", name, column, has, row[column])
	}
}

// The version that the page calls pinned is in the calls that the adapter makes to the provider's own address.
func TestPinnedVersionsAreThoseOfTheCalls(t *testing.T) {
	page := providertest.Rows(t, "adapter")
	for _, a := range All() {
		if len(a.Fields) == 0 || a.Name == "bank-file" {
			continue // nothing is called
		}
		pinned := strings.Trim(page[a.Name]["pinned"], "`")
		if pinned == "" {
			t.Errorf("%s has no row", a.Name)
			continue
		}
		told := &listener{}
		var client any
		var err error
		if a.Open != nil {
			client, err = a.Open(account(a, told))
		} else {
			client, err = a.OpenPayouts(account(a, told))
		}
		if err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
		_ = client.(provider.Checker).Check(context.Background()) // the answer is not the provider's
		if !slices.ContainsFunc(told.calls, func(call string) bool { return strings.Contains(call, pinned) }) {
			t.Errorf("the page says that %s is pinned to %s, and its calls are %q", a.Name, pinned, told.calls)
		}
	}
}

// account is an account of an adapter, with credentials that can be valid.
func account(a provider.Adapter, told http.RoundTripper) provider.Account {
	with := map[string]string{
		"hmacKey": strings.Repeat("0f", 32), "webhookPublicKey": providertest.PublicKey(), "certificate": providertest.PublicKey(),
		"merchantId": "508029", "accountIds": "CO=512321 MX=512324", "country": "BR", "purpose": "DIGITAL_GOODS", "financialAccount": "fa_1", "webhookSecret": "whsec_1234567890123456",
	}
	given := map[string]string{}
	for _, f := range a.Fields {
		if !f.Optional {
			given[f.Name] = cmp.Or(with[f.Name], "sk_test_APP_USR-1234567890")
		}
	}
	return provider.Account{ID: "acc", Credentials: given, Client: &http.Client{Transport: told}, Now: providertest.Noon.UTC}
}

// listener notes each call, and answers with a token.
type listener struct{ calls []string }

func (l *listener) RoundTrip(r *http.Request) (*http.Response, error) {
	call := r.Method + " " + r.URL.String()
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		call += "\n" + name + ": " + strings.Join(r.Header[name], " ")
	}
	l.calls = append(l.calls, call)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"access_token":"t","token_type":"Bearer","expires_in":180}`)),
	}, nil
}
