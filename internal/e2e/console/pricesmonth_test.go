package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/e2e/recompute"
	"github.com/cascadapay/cascada/internal/pay/plans/planfile"
)

// business is an operator's business in a test: what it has agreed with merchants, and where recompute.Folder finds it.
type business struct {
	harness.Operator
	dir   string
	shops []*seller
}

// seller is a merchant in its sandbox.
type seller struct {
	harness.Client
	n, given int // its number, and how many plans it was given
	public   string
	paid     []string // its payments, the newest last
}

// file writes a file of the business.
func (b *business) file(t *testing.T, path string, content []byte) {
	t.Helper()
	path = filepath.Join(b.dir, path)
	harness.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	harness.Must(t, os.WriteFile(path, content, 0o644))
}

// apply applies a version of a plan, from a file, over the admin API.
func (b *business) apply(t *testing.T, file string, from time.Time) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "plans", file))
	harness.Must(t, err)
	p, err := planfile.Read(text)
	harness.Must(t, err)
	body, err := json.Marshal(struct {
		Currency string     `json:"currency,omitempty"`
		From     *time.Time `json:"from,omitempty"`
		planfile.PlanTerms
	}{string(p.Currency), timeOrNil(from), planfile.New(p).PlanTerms})
	harness.Must(t, err)
	b.Ask(t, http.MethodPut, "/plans/"+p.Name, string(body)).Want(t, http.StatusOK)
	b.file(t, "plans/"+file, text)
	b.file(t, "plans/"+p.Name+".json", b.Get(t, "/plans/"+p.Name+"/versions").Want(t, http.StatusOK).Body)
}

func timeOrNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// assign gives a merchant a plan, with exceptions from a file of testdata, over the admin API.
func (b *business) assign(t *testing.T, s *seller, plan, exceptions string, from time.Time) {
	t.Helper()
	s.given++
	given := map[string]any{"name": plan}
	if !from.IsZero() {
		given["from"] = from
	}
	if exceptions != "" {
		text, err := os.ReadFile(filepath.Join("testdata", exceptions))
		harness.Must(t, err)
		v, known := b.App.Plans.Book().At(plan, b.App.Now())
		if !known {
			t.Fatalf("there is no plan %s", plan)
		}
		own, err := planfile.ReadExceptions(text, v.Plan)
		harness.Must(t, err)
		given["exceptions"] = planfile.NewTerms(own, v.Plan)
		b.file(t, fmt.Sprintf("merchants/%s/exceptions.%d.yaml", s.Merchant.ID, s.given), text)
	}
	body, err := json.Marshal(map[string]any{"plan": given, "reason": "a contract"})
	harness.Must(t, err)
	b.Patch(t, "/merchants/"+s.Merchant.ID, string(body)).Want(t, http.StatusOK)
}

// opens makes a merchant over the admin API, with a wallet.
func (b *business) opens(t *testing.T) *seller {
	t.Helper()
	n := len(b.shops)
	made := b.Post(t, "/merchants", fmt.Sprintf(`{"name":"Shop %d","email":"ops@shop%d.example","language":"en"}`, n, n)).Want(t, http.StatusCreated)
	s := &seller{n: n, public: made.Text(t, "keys.sandbox.publishable")}
	s.Client = harness.Client{Instance: b.Instance, Credential: made.Text(t, "keys.sandbox.secret")}
	s.Merchant.ID = made.Text(t, "merchant.id")
	s.Wallet(t)
	b.shops = append(b.shops, s)
	return s
}

// sells makes a payment that is paid.
func (s *seller) sells(t *testing.T, rail, amount string) string {
	t.Helper()
	document := map[string]string{"sbx_pix": `,"documentId":"52998224725"`, "sbx_spei": `,"documentId":"GODE561231GR8"`}[rail]
	r := s.Post(t, "/payments", `{"amount":`+amount+`,"paymentMethodId":"`+rail+`"`+document+`}`).Want(t, http.StatusCreated)
	id := r.Text(t, "transactionId")
	if r.Text(t, "status") != "completed" {
		s.Simulate(t, id, "paid").Want(t, http.StatusOK)
	}
	s.paid = append(s.paid, id)
	return id
}

// works is three days of a shop: two sales, and now and then a refund, a dispute, a payment that is not paid, a withdrawal.
func (s *seller) works(t *testing.T, step int) {
	t.Helper()
	rails := []string{"sbx_pix", "sbx_cash", "sbx_spei", "sbx_pse"}
	// Some cents of a card's amount play an error: 05, and some from 51 on.
	card := s.sells(t, "sbx_card", fmt.Sprintf("%d.%02d", 40+(s.n*37+step*53)%220, 6+(s.n*7+step*31)%45))
	s.sells(t, rails[(s.n+step)%len(rails)], fmt.Sprintf("%d.%02d", 5+(s.n*11+step*29)%90, (s.n*13+step*17)%100))
	switch (s.n + step) % 5 {
	case 0:
		s.sells(t, "sbx_card", []string{"0.01", "0.07", "0.5", "0.33"}[step%4])
		s.Create(t, `{"amount":12.34,"paymentMethodId":"sbx_cash"}`) // nobody pays it
	case 1:
		s.Refund(t, card, `{"amount":13.37}`).Want(t, http.StatusOK)
	case 2:
		s.Simulate(t, card, "chargeback").Want(t, http.StatusOK)
	case 3:
		if r := s.Post(t, "/withdrawals", `{"amount":60}`); r.Status != http.StatusCreated && r.Status != http.StatusUnprocessableEntity {
			t.Errorf("a withdrawal gets %s", r)
		}
	case 4:
		s.Refund(t, card, `{"amount":1.01}`).Want(t, http.StatusOK)
		s.Refund(t, card, `{"amount":2}`).Want(t, http.StatusOK)
	}
}

// keeps saves what the APIs say of a merchant.
func (b *business) keeps(t *testing.T, s *seller) {
	t.Helper()
	at := "merchants/" + s.Merchant.ID + "/"
	b.file(t, at+"merchant.json", b.Get(t, "/merchants/"+s.Merchant.ID).Want(t, http.StatusOK).Body)
	for name, path := range map[string]string{"clock": "/sandbox/clock", "balance": "/me/balance", "methods": "/payment-methods"} {
		b.file(t, at+name+".json", s.Get(t, path).Want(t, http.StatusOK).Body)
	}
	b.file(t, at+"listed.json", s.As(s.public).Get(t, "/payment-methods").Want(t, http.StatusOK).Body)
	for folder, path := range map[string]string{"payments": "/payments", "disputes": "/claims?type=chargeback", "settlements": "/settlements", "withdrawals": "/withdrawals"} {
		path, query, _ := strings.Cut(path, "?")
		r := s.Get(t, path+"?limit=100&"+query).Want(t, http.StatusOK)
		for i := 0; ; i++ {
			id, listed := r.At(t, fmt.Sprintf("data.%d.id", i))
			if !listed {
				break
			}
			one := s.Get(t, fmt.Sprintf("%s/%s", path, id)).Want(t, http.StatusOK)
			if folder == "settlements" {
				if one.Text(t, "status") == "open" {
					continue
				}
				_, csv := harness.ReportFile(t, s.Client, fmt.Sprintf("/settlements/%s/report?format=csv", id))
				b.file(t, fmt.Sprintf("%s%s/%s.csv", at, folder, id), csv)
			}
			b.file(t, fmt.Sprintf("%s%s/%s.json", at, folder, id), one.Body)
		}
	}
}

// A business of three plans and ten merchants is set up from files and over the admin API alone. In a month some plans change. Every fee of
// every payment, settlement, withdrawal and dispute is what the files say, to the cent, as a program computes it that knows nothing of
// the service (PLAN-1, PLAN-2, PLAN-4).
func TestAMonthCostsWhatThePlansSay(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		op.Rate(t, "CLP 941.7", "COP 4012.35")
		b := &business{Operator: op, dir: t.TempDir()}
		for _, file := range []string{"basic.1.yaml", "growth.1.yaml", "wholesale.1.yaml"} {
			b.apply(t, file, time.Time{})
		}
		b.file(t, "rates.json", op.Get(t, "/rates").Want(t, http.StatusOK).Body)
		for n := range 10 {
			s := b.opens(t)
			b.assign(t, s, []string{"basic", "growth", "wholesale"}[n%3], map[int]string{3: "plans-card.yaml", 7: "plans-request.yaml"}[n], time.Time{})
		}
		const day = 24 * time.Hour
		b.apply(t, "basic.2.yaml", op.App.Now().Add(14*day+7*time.Hour))
		b.assign(t, b.shops[9], "growth", "plans-request.yaml", op.App.Now().Add(11*day))
		b.assign(t, b.shops[2], "basic", "", op.App.Now().Add(17*day))
		moves := func(by string) {
			for _, s := range b.shops {
				harness.MoveTestClock(t, s.Client, by)
			}
			// A payout that is made on its day has to be made before the next day begins: until then the clock stands.
			for calm := 0; calm < 3; calm++ {
				if op.Work(t) > 0 {
					calm = 0
				}
				n, err := op.App.Payouts.PayOut(ctx)
				if harness.Must(t, err); n > 0 {
					calm = 0
				}
				if calm == 1 { // the service's own loops may be at work
					time.Sleep(50 * time.Millisecond)
				}
			}
		}
		for step := range 10 {
			for _, s := range b.shops {
				s.works(t, step)
			}
			moves("24h")
			moves("24h")
			moves("24h")
		}
		for range 8 { // the last payments are settled
			moves("24h")
		}
		for _, s := range b.shops {
			op.Settle(t, "all is settled", func() bool { return s.Get(t, "/me/balance").Text(t, "balance.pending") == "0" })
			b.keeps(t, s)
		}
		done, err := recompute.Folder(b.dir)
		harness.Must(t, err)
		t.Logf("%d payments, %d methods, %d settlements with %d lines, %d disputes, %d withdrawals, %d of them automatic", done.Payments, done.Methods, done.Settlements,
			done.Lines, done.Disputes, done.Withdrawals, done.Payouts)
		for _, d := range done.Differences[:min(len(done.Differences), 40)] {
			t.Error(d)
		}
		if done.Payments < 200 || done.Settlements < 50 || done.Disputes < 10 || done.Withdrawals-done.Payouts < 10 || done.Payouts < 10 {
			t.Errorf("too little was compared: %+v", done)
		}
	})
}
