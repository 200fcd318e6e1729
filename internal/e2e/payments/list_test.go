package payments

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestListSelectsAndCounts(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		stranger.Create(t, harness.Card)
		type made struct{ id, status, rail, method, country, order, at string }
		var all []made // newest first
		add := func(status, rail, method, country, order, fields string, header ...string) {
			amount := "10"
			if status == "processing" { // the cents .96 make a card's outcome unknown
				amount = "10.96"
			}
			body := fmt.Sprintf(`{"amount":%s,"paymentMethodId":%q,"merchantOrderId":%q,"documentId":"1"%s}`, amount, rail, order, fields)
			id := o.Create(t, body, header...)
			created := o.Get(t, "/payments/"+id).Text(t, "timestamps.created")
			all = append([]made{{id, status, rail, method, country, order, created}}, all...)
			s.Clock.Advance(1500 * time.Millisecond)
		}
		add("pending", "sbx_pix", "pix", "BRA", "a", "")
		add("completed", "sbx_card", "card", "USA", "a", "")
		add("completed", "sbx_card", "card", "MEX", "b", `,"country":"MX"`)
		add("failed", "sbx_cash", "cash", "MEX", "b", "", "Sandbox-Simulate: failed")
		add("expired", "sbx_spei", "spei", "MEX", "c", "", "Sandbox-Simulate: expired")
		add("pending", "sbx_pse", "bank_transfer", "COL", "", "")
		add("completed", "sbx_card", "card", "USA", "", "")
		o.Simulate(t, all[0].id, "refunded").Want(t, http.StatusOK)
		all[0].status = "refunded"
		add("processing", "sbx_card", "card", "USA", "d", "")
		add("completed", "sbx_card", "card", "USA", "e", "")
		s.Notify(t, "sandbox-1", harness.NoticeBody(all[0].id, `"status":"disputed","reason":"fraudulent"`)).Want(t, http.StatusOK)
		all[0].status = "chargeback"

		instant := func(m made) string { return strings.TrimSuffix(m.at, "Z") }
		for _, c := range []struct {
			query string
			keep  func(made) bool
		}{
			{"", func(made) bool { return true }},
			{"status=pending", func(m made) bool { return m.status == "pending" }},
			{"status=processing", func(m made) bool { return m.status == "processing" }},
			{"status=completed", func(m made) bool { return m.status == "completed" }},
			{"status=failed", func(m made) bool { return m.status == "failed" }},
			{"status=expired", func(m made) bool { return m.status == "expired" }},
			{"status=refunded", func(m made) bool { return m.status == "refunded" }},
			{"status=chargeback", func(m made) bool { return m.status == "chargeback" }},
			{"paymentMethodId=sbx_card", func(m made) bool { return m.rail == "sbx_card" }},
			{"paymentMethodId=1001", func(made) bool { return false }},
			{"method=bank_transfer", func(m made) bool { return m.method == "bank_transfer" }},
			{"method=oxxo", func(made) bool { return false }},
			{"country=MX", func(m made) bool { return m.country == "MEX" }},
			{"country=mex", func(m made) bool { return m.country == "MEX" }},
			{"merchantOrderId=a", func(m made) bool { return m.order == "a" }},
			{"merchantOrderId=A", func(made) bool { return false }},
			{"merchantOrderId=%25", func(made) bool { return false }},
			{"merchantOrderId=a&status=completed", func(m made) bool { return m.order == "a" && m.status == "completed" }},
			{"merchantOrderId=b&country=MX&method=card", func(m made) bool { return m.order == "b" && m.method == "card" }},
			{"status=completed&paymentMethodId=sbx_card&country=USA&method=card", func(m made) bool { return m.status == "completed" && m.country == "USA" }},
			{"from=" + url.QueryEscape(all[4].at), func(m made) bool { return m.at >= all[4].at }},
			{"from=" + instant(all[4]), func(m made) bool { return m.at >= all[4].at }},
			{"to=" + url.QueryEscape(all[4].at), func(m made) bool { return m.at < all[4].at }},
			{"from=" + all[6].at + "&to=" + all[2].at + "&method=card", func(m made) bool { return m.at >= all[6].at && m.at < all[2].at && m.method == "card" }},
			{"merchantOrderId=b&from=" + all[5].at, func(m made) bool { return m.order == "b" && m.at >= all[5].at }},
			{"from=" + all[2].at + "&to=" + all[2].at, func(made) bool { return false }},
			{"from=2020-01-01", func(made) bool { return true }},
			{"from=2020-01-01T00:00", func(made) bool { return true }},
			{"from=2020-01-01T00:00Z", func(made) bool { return true }},
			{"from=2020-01-01T00:00:00%2B05:30", func(made) bool { return true }},
			{"to=2020-01-01", func(made) bool { return false }},
			{"from=9999-12-31", func(made) bool { return false }},
			{"to=0001-01-01", func(made) bool { return false }},
			{"starting_after=" + all[3].id, func(m made) bool { return m.id < all[3].id }},
			{"starting_after=" + all[3].id + "&status=completed", func(m made) bool { return m.id < all[3].id && m.status == "completed" }},
		} {
			want := []string{}
			for _, m := range all {
				if c.keep(m) {
					want = append(want, m.id)
				}
			}
			r := o.Get(t, "/payments?"+c.query)
			if got := harness.IDs(t, r); !slices.Equal(got, want) {
				t.Errorf("%s: got %d rows %v, want %d, newest first: %v", c.query, len(got), got, len(want), want)
			}
			if strings.Contains(c.query, "starting_after") {
				continue // the total counts the whole filter, not the rows after the cursor
			}
			for _, difference := range harness.Compare("pagination", harness.Decode(t, fmt.Appendf(nil, `{"total":%d,"limit":50,"offset":0,"pages":%d,"nextCursor":null}`, len(want), min(1, len(want)))), harness.Pagination(t, r)) {
				t.Errorf("%s: %s: %s", c.query, difference, r)
			}
			o.Get(t, "/transactions?"+c.query).Is(t, http.StatusOK, string(r.Body))
		}
	})
}

func TestPagesCoverTheListExactly(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const n = 7
		for i := range n {
			o.Create(t, fmt.Sprintf(`{"amount":%d,"paymentMethodId":"sbx_pse"}`, i+1))
			s.Clock.Advance(2 * time.Millisecond)
		}
		all := harness.IDs(t, o.Get(t, "/payments"))
		for _, c := range []struct {
			query                string
			limit, offset, pages int
			want                 []string
		}{
			{"limit=3", 3, 0, 3, all[:3]},
			{"limit=3&offset=3", 3, 3, 3, all[3:6]},
			{"limit=3&offset=6", 3, 6, 3, all[6:]},
			{"limit=3&offset=5", 3, 5, 3, all[5:]},
			{"limit=7", 7, 0, 1, all},
			{"limit=6", 6, 0, 2, all[:6]},
			{"offset=7", 50, 7, 1, []string{}},
			{"limit=0", 1, 0, 7, all[:1]},
			{"limit=-5", 1, 0, 7, all[:1]},
			{"limit=100", 100, 0, 1, all},
			{"limit=101", 100, 0, 1, all},
			{"limit=1000", 100, 0, 1, all},
			{"limit=99999999999999999999", 100, 0, 1, all},
			{"limit=-99999999999999999999", 1, 0, 7, all[:1]},
			{"offset=-1", 50, 0, 1, all},
			{"limit=&offset=", 50, 0, 1, all},
		} {
			r := o.Get(t, "/payments?"+c.query)
			if got := harness.IDs(t, r); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", c.query, got, c.want)
			}
			want := fmt.Sprintf(`{"total":%d,"limit":%d,"offset":%d,"pages":%d,"nextCursor":%s}`, n, c.limit, c.offset, c.pages, harness.Cursor(c.want, all))
			for _, difference := range harness.Compare("pagination", harness.Decode(t, []byte(want)), harness.Pagination(t, r)) {
				t.Errorf("%s: %s: %s", c.query, difference, r)
			}
		}
		var walked []string
		query := "limit=3"
		for range n {
			page := o.Get(t, "/payments?"+query)
			walked = append(walked, harness.IDs(t, page)...)
			next, _ := page.At(t, "pagination.nextCursor")
			if next == nil {
				break
			}
			query = fmt.Sprintf("limit=3&starting_after=%v", next)
		}
		if !slices.Equal(walked, all) {
			t.Errorf("the cursor walked %v, want %v", walked, all)
		}
	})
}

func TestListRefusesWhatItCannotRead(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for query, fields := range map[string]string{
			"status=paid":                          "status",
			"status=PENDING":                       "status",
			"status=completed,failed":              "status",
			"country=xx":                           "country",
			"country=Brazil":                       "country",
			"from=yesterday":                       "from",
			"from=2026-13-01":                      "from",
			"to=1795257761":                        "to",
			"limit=abc":                            "limit",
			"limit=1.5":                            "limit",
			"offset=x":                             "offset",
			"starting_after=x":                     "starting_after",
			"merchantOrderId=a%00b":                "merchantOrderId",
			"merchantOrderId=%ff":                  "merchantOrderId",
			"paymentMethodId=%ff":                  "paymentMethodId",
			"method=%00":                           "method",
			"starting_after=TXN-%00":               "starting_after",
			"status=x&country=xx&from=x&to=x":      "status,country,from,to",
			"limit=x&status=paid&starting_after=1": "status,limit,starting_after",
		} {
			for _, path := range []string{"/payments", "/transactions"} {
				first, _, _ := strings.Cut(fields, ",")
				o.Get(t, path+"?"+query).Refused(t, "400 invalid_request invalid_request_error param="+first+" issues="+fields)
			}
		}
		for _, query := range []string{"status=%0&status=failed", "merchantOrderId=a;b", "%zz"} {
			o.Get(t, "/payments?"+query).Refused(t, "400 invalid_request invalid_request_error")
		}
		o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		for query, want := range map[string]string{"paymentMethodId&limit=5": "1", "merchantOrderId": "1", "paymentMethodId=true": "0"} {
			if got, _ := o.Get(t, "/payments?"+query).At(t, "pagination.total"); fmt.Sprint(got) != want {
				t.Errorf("%s lists %s payments, want %s", query, got, want)
			}
		}
		for _, id := range []string{"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "x", "TXN-", strings.Repeat("9", 300), "TXN-%00", "TXN-%ff", "TXN-a%2Fb", "ñ", "'"} {
			for _, path := range []string{"/payments/", "/transactions/"} {
				o.Get(t, path+id).Refused(t, "404 transaction_not_found invalid_request_error")
			}
		}
	})
}
