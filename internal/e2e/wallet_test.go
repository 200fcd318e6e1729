package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func wallet(label, kind, currency, network, masked, status string, usual bool) string {
	unpayable := map[string]string{"active": `null`, "pending_verification": `"cool_down"`, "disabled": `"disabled"`}[status]
	return fmt.Sprintf(`{"id":"<wallet>","label":%s,"type":%q,"currency":%q,"network":%q,"destinationMasked":%q,"status":%q,"isDefault":%t,"payable":%t,"unpayableReason":%s,"beneficiary":[],"createdAt":"<time>"}`,
		label, kind, currency, network, masked, status, usual, status == "active", unpayable)
}

func TestWalletShowsItsDestinationMasked(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		first := o.post(t, "/wallets", `{"label":"Main","type":"bank_account","currency":"MXN","network":"spei","destination":"`+clabe+`"}`)
		first.is(t, http.StatusCreated, wallet(`"Main"`, "bank_account", "MXN", "spei", "032****9719", "active", true))
		second := o.post(t, "/wallets", `{"type":"crypto","currency":"usdt","network":"TRC20","destination":" `+tron+` "}`)
		second.is(t, http.StatusCreated, wallet(`null`, "crypto", "USDT", "tron", "TR7NHq…Lj6t", "active", false))
		o.get(t, "/wallets/"+first.text(t, "id")).is(t, http.StatusOK, wallet(`"Main"`, "bank_account", "MXN", "spei", "032****9719", "active", true))
		o.get(t, "/wallets").is(t, http.StatusOK, fmt.Sprintf(`{"data":[%s,%s],"pagination":{"total":2,"limit":50,"offset":0,"pages":1,"nextCursor":null}}`,
			wallet(`null`, "crypto", "USDT", "tron", "TR7NHq…Lj6t", "active", false),
			wallet(`"Main"`, "bank_account", "MXN", "spei", "032****9719", "active", true)))
		o.get(t, "/wallets?limit=1&offset=1").is(t, http.StatusOK, fmt.Sprintf(`{"data":[%s],"pagination":{"total":2,"limit":1,"offset":1,"pages":2,"nextCursor":null}}`,
			wallet(`"Main"`, "bank_account", "MXN", "spei", "032****9719", "active", true)))
		o.get(t, "/wallets?status=disabled").is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
		o.get(t, "/wallets?status=gold").refused(t, "400 invalid_request invalid_request_error param=status issues=status")

		// At rest there is nothing to read.
		if dir, ok := strings.CutPrefix(s.database, "sqlite:"); ok {
			files, err := filepath.Glob(dir + "*")
			must(t, err)
			for _, f := range files {
				text, err := os.ReadFile(f)
				must(t, err)
				if strings.Contains(string(text), clabe) || strings.Contains(string(text), tron) {
					t.Errorf("%s holds a destination in the clear", filepath.Base(f))
				}
			}
		}
	})
}

func TestWalletIsChecked(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		const bad, absent = "400 invalid_request invalid_request_error ", "400 missing_field invalid_request_error "
		for _, c := range []struct{ name, body, want string }{
			{"nothing", `{}`, bad + "param=type issues=type,destination missing=type,destination"},
			{"no destination", `{"type":"bank_account","currency":"USD"}`, absent + "param=destination issues=destination missing=destination"},
			{"no currency", `{"type":"bank_account","destination":"12345"}`, absent + "param=currency issues=currency missing=currency"},
			{"an unknown type", `{"type":"cash","currency":"USD","destination":"12345"}`, bad + "param=type issues=type"},
			{"a currency that does not fit", `{"type":"crypto","currency":"USD","destination":"12345"}`, "400 unsupported_currency invalid_request_error param=currency issues=currency"},
			{"a network that does not fit", `{"type":"crypto","network":"pix","currency":"BRL","destination":"12345"}`, bad + "param=network issues=network"},
			{"a token on several networks", `{"type":"crypto","currency":"USDT","destination":"` + tron + `"}`, absent + "param=network issues=network missing=network"},
			{"a CLABE that is off", `{"type":"bank_account","currency":"MXN","destination":"032180000118359718"}`, bad + "param=destination issues=destination"},
			{"text with NUL", `{"type":"bank_account","currency":"USD","destination":"12345\u0000"}`, bad + "param=destination issues=destination"},
			{"a long label", `{"label":"` + strings.Repeat("ñ", 61) + `","type":"bank_account","currency":"USD","destination":"12345"}`, bad + "param=label issues=label"},
			{"a number", `{"type":"bank_account","currency":"USD","destination":12345}`, bad + "param=destination issues=destination"},
			{"no object", `[]`, bad + "issues=,type,destination missing=type,destination"},
		} {
			t.Run(c.name, func(t *testing.T) { o.post(t, "/wallets", c.body).refused(t, c.want) })
		}
		good := `{"type":"bank_account","currency":"USD","destination":"12345"}`
		o.post(t, "/wallets", good, "Sandbox-Simulate: paid").refused(t, bad+"param=Sandbox-Simulate issues=Sandbox-Simulate")
		o.live().post(t, "/wallets", good, "Sandbox-Simulate: cool_down").refused(t, "400 production_key_refused invalid_request_error param=Sandbox-Simulate")
		if n := o.get(t, "/wallets").text(t, "pagination.total"); n != "0" {
			t.Errorf("refused requests left %s wallets", n)
		}
	})
}

// A stolen key cannot empty the balance into a wallet of its own at once.
func TestNewWalletCoolsDown(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		const body = `{"type":"bank_account","currency":"MXN","destination":"` + clabe + `"}`
		activate := func(o shop, id string) {
			eventually(t, id+" is active", func() bool {
				_, err := s.App.Wallets.Activate(ctx)
				must(t, err)
				return o.get(t, "/wallets/"+id).text(t, "status") == "active"
			})
		}
		// The sandbox plays it on demand, and the test clock passes it.
		o.fund(t, false, 100_00)
		cool := o.post(t, "/wallets", body, "Sandbox-Simulate: cool_down").want(t, http.StatusCreated)
		if got := cool.text(t, "status"); got != "pending_verification" {
			t.Errorf("with a cool-down the wallet is %s", got)
		}
		o.post(t, "/withdrawals", `{"amount":10}`).refused(t, "409 conflict_state conflict_error param=walletId from=pending_verification action=withdraw")
		o.post(t, "/sandbox/clock", `{"advance":"23h"}`).want(t, http.StatusOK)
		o.post(t, "/withdrawals", `{"amount":10}`).refused(t, "409 conflict_state conflict_error param=walletId from=pending_verification action=withdraw")
		o.post(t, "/sandbox/clock", `{"advance":"1h"}`).want(t, http.StatusOK)
		o.post(t, "/withdrawals", `{"amount":10}`).want(t, http.StatusCreated)
		activate(o, cool.text(t, "id"))

		live := o.live()
		id := live.post(t, "/wallets", body).want(t, http.StatusCreated).text(t, "id")
		s.clock.advance(24*time.Hour - time.Minute)
		_, err := s.App.Wallets.Activate(ctx)
		must(t, err)
		if got := live.get(t, "/wallets/"+id).text(t, "status"); got != "pending_verification" {
			t.Errorf("in production the wallet is %s before a day has passed", got)
		}
		s.clock.advance(time.Minute)
		activate(live, id)
	})
}

func TestDestinationIsOneWallet(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		spellings := []string{clabe, "032 180 00011835971 9", "032-180-00011835971-9", " " + clabe + " "}
		replies := make([]reply, 16)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() {
				replies[i] = o.post(t, "/wallets", fmt.Sprintf(`{"type":"bank_account","currency":"MXN","destination":%q}`, spellings[i%len(spellings)]))
			})
		}
		all.Wait()
		var made []string
		for _, r := range replies {
			if r.status == http.StatusCreated {
				made = append(made, r.text(t, "id"))
				continue
			}
			r.refused(t, "409 conflict_state conflict_error param=destination reason=duplicate_destination from=active action=create")
		}
		if list := ids(t, o.get(t, "/wallets")); len(made) != 1 || !slices.Equal(list, made) {
			t.Fatalf("16 requests with one destination made %v and left %v, want one", made, list)
		}
		// Others may have it, and so may the shop once it has deleted it.
		s.shop(t).wallet(t)
		o.sibling(t).wallet(t)
		o.live().wallet(t)
		for range 2 { // deleting twice is harmless
			o.delete(t, "/wallets/"+made[0]).is(t, http.StatusOK, fmt.Sprintf(`{"id":%q,"deleted":true}`, made[0]))
		}
		o.get(t, "/wallets/"+made[0]).is(t, http.StatusOK, wallet(`null`, "bank_account", "MXN", "spei", "032****9719", "disabled", false))
		again := o.wallet(t)
		if list := ids(t, o.get(t, "/wallets?status=active")); !slices.Equal(list, []string{again}) {
			t.Errorf("active are %v, want the new one %s", list, again)
		}
	})
}

func TestShopHasOneDefaultWallet(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				o.post(t, "/wallets", fmt.Sprintf(`{"type":"bank_account","currency":"USD","destination":"ACCOUNT%d","isDefault":true}`, i)).want(t, http.StatusCreated)
			})
		}
		all.Wait()
		usual := 0
		rows, _ := o.get(t, "/wallets").at(t, "data")
		for _, row := range rows.([]any) {
			if row.(map[string]any)["isDefault"] == true {
				usual++
			}
		}
		if n := len(rows.([]any)); n != 4 || usual != 1 {
			t.Errorf("of %d wallets %d are the default, want 1 of 4", n, usual)
		}
		last := o.wallet(t, `{"type":"bank_account","currency":"USD","destination":"ACCOUNT9","isDefault":true}`)
		o.fund(t, false, 100_00)
		if got := o.get(t, "/withdrawals/"+o.withdraw(t, "10")).text(t, "walletId"); got != last {
			t.Errorf("a withdrawal that names no wallet goes to %s, want the default %s", got, last)
		}
		o.delete(t, "/wallets/"+last).want(t, http.StatusOK)
		o.post(t, "/withdrawals", `{"amount":10}`).refused(t, "400 missing_field invalid_request_error param=walletId missing=walletId")
		o.post(t, "/withdrawals", `{"amount":10,"walletId":"`+last+`"}`).refused(t, "409 conflict_state conflict_error param=walletId from=disabled action=withdraw")
	})
}

func TestWalletsAndWithdrawalsAreTheirShopsOwn(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.fund(t, false, 100_00)
		w := o.wallet(t)
		out := o.withdraw(t, "10")
		const noWallet, noWithdrawal = "404 wallet_not_found invalid_request_error", "404 withdrawal_not_found invalid_request_error"
		stranger, sibling := s.shop(t), o.sibling(t)
		stranger.fund(t, false, 100_00)
		for name, who := range map[string]shop{"another merchant": stranger, "another shop": sibling, "production": o.live()} {
			who.get(t, "/wallets/"+w).refused(t, noWallet)
			who.delete(t, "/wallets/"+w).refused(t, noWallet)
			who.get(t, "/withdrawals/"+out).refused(t, noWithdrawal)
			who.post(t, "/withdrawals/"+out+"/cancel", "").refused(t, noWithdrawal)
			for _, path := range []string{"/wallets", "/withdrawals", "/withdrawals?walletId=" + w} {
				if n := who.get(t, path).text(t, "pagination.total"); n != "0" {
					t.Errorf("%s sees %s of %s", name, n, path)
				}
			}
			if who.credential != o.Live.Secret { // production asks for a verification first
				who.post(t, "/withdrawals", `{"amount":10,"walletId":"`+w+`"}`).refused(t, noWallet)
			}
		}
		for _, id := range []string{"wal_1", "x", "%00", "%ff", strings.Repeat("w", 300)} {
			o.get(t, "/wallets/"+id).refused(t, noWallet)
			o.delete(t, "/wallets/"+id).refused(t, noWallet)
			o.get(t, "/withdrawals/"+id).refused(t, noWithdrawal)
		}
		if got := o.get(t, "/wallets/"+w).text(t, "status"); got != "active" {
			t.Errorf("after others' calls the wallet is %s", got)
		}
		// The balance is the merchant's: a sibling withdraws from the same one.
		sibling.wallet(t)
		sibling.post(t, "/withdrawals", `{"amount":90.01}`).refused(t, "422 balance_insufficient balance_error param=amount")
		sibling.withdraw(t, "90")
		if got := o.available(t); got != "0" {
			t.Errorf("available is %s after both withdrew, want 0", got)
		}
	})
}
