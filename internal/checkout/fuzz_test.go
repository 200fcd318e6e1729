package checkout

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/vault"
)

// codes is a provider whose charges are paid with the code that it holds.
type codes struct {
	provider.Provider
	data pay.PaymentData
}

func (c *codes) Charge(_ context.Context, r provider.Request) pay.Outcome {
	return pay.Outcome{Kind: pay.Awaiting, ProviderRef: r.Reference, FormURL: r.PageURL, Data: c.data}
}

// pagesOf are the pages of a service with one provider, and who takes payments there.
func pagesOf(f *testing.F, upstream *codes) (*http.ServeMux, *app.App, base.Principal) {
	f.Helper()
	secrets, err := vault.New(bytes.Repeat([]byte{7}, vault.KeySize))
	if err != nil {
		f.Fatal(err)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return noon }
	log := slog.New(slog.DiscardHandler)
	a, err := app.Open(context.Background(), "sqlite:"+filepath.Join(f.TempDir(), "fuzz.db"), app.Config{
		Config:     base.Config{Log: log, Vault: secrets, Now: now, NewID: id.New, CheckoutURL: "http://127.0.0.1"},
		LeaseClock: now, InboxURL: "http://127.0.0.1/inbox",
		Sender: sender.New(sender.Config{Now: now}), Providers: map[string]provider.Provider{"sandbox-1": upstream}, Sandbox: []string{"sandbox-1"},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(a.Close)
	o, err := a.Onboarding.CreateMerchant(context.Background(), a.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Standard, RefundFees: merchants.FeesReturned})
	if err != nil {
		f.Fatal(err)
	}
	who, err := a.Access.Authenticate(context.Background(), base.Principal{}, o.Sandbox.Secret)
	if err != nil {
		f.Fatal(err)
	}
	pages, err := New(Uses{Base: a.Base, Onboarding: a.Onboarding, Rates: a.Rates, Sessions: a.Sessions, Sandbox: a.Sandbox}, log, "http://127.0.0.1", func(*http.Request) string { return "" })
	if err != nil {
		f.Fatal(err)
	}
	mux := http.NewServeMux()
	pages.Register(mux, func(next http.Handler) http.Handler { return next })
	return mux, a, who
}

// strokes is a drawing's path: nothing of the code stands in the file.
var strokes = regexp.MustCompile(`<path d="[M0-9 hvz-]*"/></svg>$`)

// Whatever code a provider gives, the page that shows it is one, and its drawing is one or is
// told to be none.
func FuzzCodes(f *testing.F) {
	const pix = "00020101021226980014br.gov.bcb.pix2576api.woovi-sandbox.com/api/testaccount/qr/v1/01M7ZBVYT4-1"
	for _, code := range []string{
		pix, "https://pay.example/q?x=1&y=2", "1234567890", strings.Repeat("0", 2000), "A\u00e9\u4e16", "<script>alert(1)</script>", `"/><svg onload=1>`, " ",
		"23793381286008301352856000063307789840000150000", "90001234567890123456", strings.Repeat("7", 44), strings.Repeat("x", 44), strings.Repeat("8", 200), "\xff", "\x00",
	} {
		f.Add(code, code)
	}
	f.Add("", "")
	upstream := &codes{}
	mux, a, who := pagesOf(f, upstream)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	f.Fuzz(func(t *testing.T, code, bars string) {
		// As adapters let them through, the longest of each.
		upstream.data = pay.PaymentData{QRCode: provider.Exact(code, 2000), Barcode: provider.Exact(bars, 200)}
		p, _, err := a.Payments.Create(context.Background(), who, payments.NewPayment{
			Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_pix", Buyer: pay.Buyer{Document: "52998224725"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if page := get("/pay/" + p.ID); page.Code != http.StatusOK || strings.Contains(page.Body.String(), "<script>alert") || strings.Contains(page.Body.String(), "<svg onload") {
			t.Errorf("the page of %q and %q: %d", code, bars, page.Code)
		}
		for name, given := range map[string]string{"qr.svg": upstream.data.QRCode, "barcode.svg": upstream.data.Barcode} {
			reply := get("/pay/" + p.ID + "/" + name)
			switch {
			case reply.Code == http.StatusNotFound && (given == "" || name == "barcode.svg"):
			case reply.Code != http.StatusOK:
				t.Errorf("%s of %q: %d", name, given, reply.Code)
			case given == "" || !wellFormed(reply.Body.Bytes()) || !strokes.Match(reply.Body.Bytes()):
				t.Errorf("%s of %q is %.200s", name, given, reply.Body)
			}
		}
	})
}

// wellFormed reports whether a text is XML.
func wellFormed(text []byte) bool {
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := d.Token(); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
