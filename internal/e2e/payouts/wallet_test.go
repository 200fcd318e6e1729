package payouts

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

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

const tron = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"

func wallet(label, kind, currency, network, masked, status string, usual bool) string {
	unpayable := map[string]string{"active": `null`, "pending_verification": `"cool_down"`, "disabled": `"disabled"`}[status]
	return fmt.Sprintf(`{"id":"<wallet>","label":%s,"type":%q,"currency":%q,"network":%q,"destinationMasked":%q,"status":%q,"isDefault":%t,"payable":%t,"unpayableReason":%s,"beneficiary":[],"createdAt":"<time>"}`,
		label, kind, currency, network, masked, status, usual, status == "active", unpayable)
}

func TestWalletShowsItsDestinationMasked(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		first := o.Post(t, "/wallets", `{"label":"Main","type":"bank_account","currency":"MXN","network":"spei","destination":"`+harness.CLABE+`"}`)
		first.Is(t, http.StatusCreated, wallet(`"Main"`, "bank_account", "MXN", "spei", "032****9719", "active", true))
		second := o.Post(t, "/wallets", `{"type":"crypto","currency":"usdt","network":"TRC20","destination":" `+tron+` "}`)
		second.Is(t, http.StatusCreated, wallet(`null`, "crypto", "USDT", "tron", "TR7NHq…Lj6t", "active", false))
		o.Get(t, "/wallets/"+first.Text(t, "id")).Is(t, http.StatusOK, wallet(`"Main"`, "bank_account", "MXN", "spei", "032****9719", "active", true))
		o.Get(t, "/wallets").Is(t, http.StatusOK, fmt.Sprintf(`{"data":[%s,%s],"pagination":{"total":2,"limit":50,"offset":0,"pages":1,"nextCursor":null}}`,
			wallet(`null`, "crypto", "USDT", "tron", "TR7NHq…Lj6t", "active", false),
			wallet(`"Main"`, "bank_account", "MXN", "spei", "032****9719", "active", true)))
		o.Get(t, "/wallets?limit=1&offset=1").Is(t, http.StatusOK, fmt.Sprintf(`{"data":[%s],"pagination":{"total":2,"limit":1,"offset":1,"pages":2,"nextCursor":null}}`,
			wallet(`"Main"`, "bank_account", "MXN", "spei", "032****9719", "active", true)))
		o.Get(t, "/wallets?status=disabled").Is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
		o.Get(t, "/wallets?status=gold").Refused(t, "400 invalid_request invalid_request_error param=status issues=status")

		// The database's files do not have the destination in plain text.
		if dir, ok := strings.CutPrefix(s.Database, "sqlite:"); ok {
			files, err := filepath.Glob(dir + "*")
			harness.Must(t, err)
			for _, f := range files {
				text, err := os.ReadFile(f)
				harness.Must(t, err)
				if strings.Contains(string(text), harness.CLABE) || strings.Contains(string(text), tron) {
					t.Errorf("%s has a destination in plain text", filepath.Base(f))
				}
			}
		}
	})
}

func TestWalletIsChecked(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
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
			t.Run(c.name, func(t *testing.T) { o.Post(t, "/wallets", c.body).Refused(t, c.want) })
		}
		good := `{"type":"bank_account","currency":"USD","destination":"12345"}`
		o.Post(t, "/wallets", good, "Sandbox-Simulate: paid").Refused(t, bad+"param=Sandbox-Simulate issues=Sandbox-Simulate")
		o.Production().Post(t, "/wallets", good, "Sandbox-Simulate: cool_down").Refused(t, "400 production_key_refused invalid_request_error param=Sandbox-Simulate")
		if n := o.Get(t, "/wallets").Text(t, "pagination.total"); n != "0" {
			t.Errorf("refused requests left %s wallets, want none", n)
		}
	})
}

// A new wallet cannot be used for a day, so that a thief with a stolen key cannot empty the balance at
// once.
func TestNewWalletCoolsDown(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const body = `{"type":"bank_account","currency":"MXN","destination":"` + harness.CLABE + `"}`
		activate := func(o harness.Client, id string) {
			harness.Eventually(t, id+" is active", func() bool {
				_, err := s.App.Wallets.Activate(ctx)
				harness.Must(t, err)
				return o.Get(t, "/wallets/"+id).Text(t, "status") == "active"
			})
		}
		// The sandbox simulates the cool-down on request, and the test clock ends it.
		o.Fund(t, false, 100_00)
		cool := o.Post(t, "/wallets", body, "Sandbox-Simulate: cool_down").Want(t, http.StatusCreated)
		if got := cool.Text(t, "status"); got != "pending_verification" {
			t.Errorf("with a cool-down the wallet is %s, want pending_verification", got)
		}
		o.Post(t, "/withdrawals", `{"amount":10}`).Refused(t, "409 conflict_state conflict_error param=walletId from=pending_verification action=withdraw")
		o.Post(t, "/sandbox/clock", `{"advance":"23h"}`).Want(t, http.StatusOK)
		o.Post(t, "/withdrawals", `{"amount":10}`).Refused(t, "409 conflict_state conflict_error param=walletId from=pending_verification action=withdraw")
		o.Post(t, "/sandbox/clock", `{"advance":"1h"}`).Want(t, http.StatusOK)
		o.Post(t, "/withdrawals", `{"amount":10}`).Want(t, http.StatusCreated)
		activate(o, cool.Text(t, "id"))

		live := o.Production()
		id := live.Post(t, "/wallets", body).Want(t, http.StatusCreated).Text(t, "id")
		s.Clock.Advance(24*time.Hour - time.Minute)
		_, err := s.App.Wallets.Activate(ctx)
		harness.Must(t, err)
		if got := live.Get(t, "/wallets/"+id).Text(t, "status"); got != "pending_verification" {
			t.Errorf("in production the wallet is %s before a day has passed, want pending_verification", got)
		}
		s.Clock.Advance(time.Minute)
		activate(live, id)
	})
}

func TestDestinationIsOneWallet(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		spellings := []string{harness.CLABE, "032 180 00011835971 9", "032-180-00011835971-9", " " + harness.CLABE + " "}
		replies := make([]harness.Reply, 16)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() {
				replies[i] = o.Post(t, "/wallets", fmt.Sprintf(`{"type":"bank_account","currency":"MXN","destination":%q}`, spellings[i%len(spellings)]))
			})
		}
		all.Wait()
		var made []string
		for _, r := range replies {
			if r.Status == http.StatusCreated {
				made = append(made, r.Text(t, "id"))
				continue
			}
			r.Refused(t, "409 conflict_state conflict_error param=destination reason=duplicate_destination from=active action=create")
		}
		if list := harness.IDs(t, o.Get(t, "/wallets")); len(made) != 1 || !slices.Equal(list, made) {
			t.Fatalf("16 requests with one destination made %v and left %v, want one", made, list)
		}
		// Other merchants, shops and environments may have the same destination. The shop itself may have
		// it again after it deleted the wallet.
		s.NewShop(t).Wallet(t)
		harness.Sibling(t, o).Wallet(t)
		o.Production().Wallet(t)
		for range 2 { // a second delete does no harm
			o.Delete(t, "/wallets/"+made[0]).Is(t, http.StatusOK, fmt.Sprintf(`{"id":%q,"deleted":true}`, made[0]))
		}
		o.Get(t, "/wallets/"+made[0]).Is(t, http.StatusOK, wallet(`null`, "bank_account", "MXN", "spei", "032****9719", "disabled", false))
		again := o.Wallet(t)
		if list := harness.IDs(t, o.Get(t, "/wallets?status=active")); !slices.Equal(list, []string{again}) {
			t.Errorf("the active wallets are %v, want the new one %s", list, again)
		}
	})
}

func TestShopHasOneDefaultWallet(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				o.Post(t, "/wallets", fmt.Sprintf(`{"type":"bank_account","currency":"USD","destination":"ACCOUNT%d","isDefault":true}`, i)).Want(t, http.StatusCreated)
			})
		}
		all.Wait()
		usual := 0
		rows, _ := o.Get(t, "/wallets").At(t, "data")
		for _, row := range rows.([]any) {
			if row.(map[string]any)["isDefault"] == true {
				usual++
			}
		}
		if n := len(rows.([]any)); n != 4 || usual != 1 {
			t.Errorf("%d of %d wallets are the default, want 1 of 4", usual, n)
		}
		last := o.Wallet(t, `{"type":"bank_account","currency":"USD","destination":"ACCOUNT9","isDefault":true}`)
		o.Fund(t, false, 100_00)
		if got := o.Get(t, "/withdrawals/"+o.Withdraw(t, "10")).Text(t, "walletId"); got != last {
			t.Errorf("a withdrawal without a wallet goes to %s, want the default %s", got, last)
		}
		o.Delete(t, "/wallets/"+last).Want(t, http.StatusOK)
		o.Post(t, "/withdrawals", `{"amount":10}`).Refused(t, "400 missing_field invalid_request_error param=walletId missing=walletId")
		o.Post(t, "/withdrawals", `{"amount":10,"walletId":"`+last+`"}`).Refused(t, "409 conflict_state conflict_error param=walletId from=disabled action=withdraw")
	})
}

func TestWalletsAndWithdrawalsAreTheirShopsOwn(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Fund(t, false, 100_00)
		w := o.Wallet(t)
		out := o.Withdraw(t, "10")
		const noWallet, noWithdrawal = "404 wallet_not_found invalid_request_error", "404 withdrawal_not_found invalid_request_error"
		stranger, sibling := s.NewShop(t), harness.Sibling(t, o)
		stranger.Fund(t, false, 100_00)
		for name, who := range map[string]harness.Client{"another merchant": stranger, "another shop": sibling, "production": o.Production()} {
			who.Get(t, "/wallets/"+w).Refused(t, noWallet)
			who.Delete(t, "/wallets/"+w).Refused(t, noWallet)
			who.Get(t, "/withdrawals/"+out).Refused(t, noWithdrawal)
			who.Post(t, "/withdrawals/"+out+"/cancel", "").Refused(t, noWithdrawal)
			for _, path := range []string{"/wallets", "/withdrawals", "/withdrawals?walletId=" + w} {
				if n := who.Get(t, path).Text(t, "pagination.total"); n != "0" {
					t.Errorf("%s sees %s rows of %s, want none", name, n, path)
				}
			}
			if who.Credential != o.Live.Secret { // production refuses without a verification first
				who.Post(t, "/withdrawals", `{"amount":10,"walletId":"`+w+`"}`).Refused(t, noWallet)
			}
		}
		for _, id := range []string{"wal_1", "x", "%00", "%ff", strings.Repeat("w", 300)} {
			o.Get(t, "/wallets/"+id).Refused(t, noWallet)
			o.Delete(t, "/wallets/"+id).Refused(t, noWallet)
			o.Get(t, "/withdrawals/"+id).Refused(t, noWithdrawal)
		}
		if got := o.Get(t, "/wallets/"+w).Text(t, "status"); got != "active" {
			t.Errorf("after the others' requests the wallet is %s, want active", got)
		}
		// The balance belongs to the merchant, so another shop withdraws from the same balance.
		sibling.Wallet(t)
		sibling.Post(t, "/withdrawals", `{"amount":90.01}`).Refused(t, "422 balance_insufficient balance_error param=amount")
		sibling.Withdraw(t, "90")
		if got := harness.Available(t, o); got != "0" {
			t.Errorf("after both shops withdrew %s USD are available, want 0", got)
		}
	})
}
