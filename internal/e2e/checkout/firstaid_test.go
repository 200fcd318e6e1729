package checkout

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/chromedp/chromedp"
)

// The methods of the shopper's own country are first, and the others are folded. The amount is in
// that country's currency, with the rate. If there is only one method, it is already selected.
func TestChoiceIsEasy(t *testing.T) {
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	_, page, _ := s.Visit(t, selector(t, o, ""), "Accept-Language: pt-BR")
	home, away, folded := strings.Cut(page, `<details class="away">`)
	if !folded || !strings.Contains(home, "m-sbx_pix") || strings.Contains(home, "m-sbx_spei") || !strings.Contains(away, "m-sbx_spei") {
		t.Errorf("for a Brazilian shopper the page does not fold the other countries' methods: %s", page)
	}
	for _, want := range []string{`value="sbx_pix" checked`, `<p class="amount">R$ 137,70</p>`, "US$ 1,00 ≈ R$ 5,40", `inputmode="text" data-mask="000.000.000-00|AA.AAA.AAA/AAAA-00"`} {
		if !strings.Contains(home, want) {
			t.Errorf("the choice lacks %q: %s", want, page)
		}
	}
	if _, page, _ := s.Visit(t, selector(t, o, ""), "Accept-Language: es-MX"); strings.Contains(page, " checked") {
		t.Error("one of two methods is already selected")
	}
	if _, page, _ := s.Visit(t, selector(t, o, ""), "Accept-Language: en-US"); strings.Contains(page, "<details") {
		t.Error("the page in English folds the sandbox's methods")
	}
	if _, page, _ := s.Visit(t, selectorOf(t, o, "50000", `,"currency":"COP","country":"BR"`), "Accept-Language: pt-BR"); strings.Contains(page, "≈") || !strings.Contains(page, "R$") {
		t.Errorf("the page shows a rate that rounds to zero, or no price in reais: %s", page)
	}
	// The page shows a mistake at its field, also if the field was folded.
	path := selector(t, o, "")
	_, _, h := s.Browse(t, http.MethodPost, path, "method=sbx_pix&document-sbx_pix=1", "Accept-Language: es-MX")
	_, page, _ = s.Visit(t, h.Get("Location"), "Accept-Language: es-MX")
	if _, field, _ := strings.Cut(page, `class="ask"`); !strings.Contains(page, `<details class="away" open>`) || strings.Count(page, `id="problem"`) != 1 || !strings.Contains(page, `aria-describedby="problem why-sbx_pix"`) || field == "" {
		t.Errorf("the page does not show the mistake at its field: %s", page)
	}
}

// The page of a paid payment is a receipt.
func TestPaidPageIsAReceipt(t *testing.T) {
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`)
	o.Simulate(t, id, "paid").Want(t, http.StatusOK)
	_, page, _ := s.Visit(t, "/pay/"+id+"?lang=pt")
	_, receipt, _ := strings.Cut(page, `<dl class="receipt">`)
	for _, want := range []string{"Valor", "R$ 137,70", "Forma de pagamento", "Pix (teste)", "Data", "<time", "Número do recibo", id} {
		if !strings.Contains(receipt, want) {
			t.Errorf("the receipt lacks %q: %s", want, page)
		}
	}
}

// On a phone the Continue button is visible, and the code to copy is above the picture. The page
// formats the document while the shopper types.
func TestChoiceIsEasyOnAPhone(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	tab := harness.Browser(t)
	harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(320, 640), chromedp.Navigate(s.URL+selector(t, o, "")+"?lang=pt&country=BRA"), chromedp.WaitVisible(`#d-sbx_pix`),
		chromedp.SendKeys(`#d-sbx_pix`, "52998224725")))
	noOverflow(t, tab)
	typed, err := chromedp.Run(tab, chromedp.Value(`#d-sbx_pix`))
	if harness.Must(t, err); typed != "529.982.247-25" {
		t.Errorf("the field shows %q, want 529.982.247-25", typed)
	}
	seen, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.querySelector(".go button").getBoundingClientRect().bottom <= innerHeight`))
	if harness.Must(t, err); !seen {
		t.Error("the Continue button is below the visible part of the page")
	}
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`.go button`), chromedp.WaitVisible(`.qr`)))
	noOverflow(t, tab)
	above, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.querySelector("[data-copy=code]").getBoundingClientRect().bottom <= document.querySelector(".qr").getBoundingClientRect().top`))
	if harness.Must(t, err); !above {
		t.Error("the code to copy is not above the picture")
	}
}

// Pages use the words of the country in the browser's language. If it has no country, they use the
// words of the payment's country.
func TestPagesSpeakAsTheShopperDoes(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
		for _, c := range []struct{ accept, tag, want string }{
			{"es-AR,es;q=0.8", "es-AR", "Llevá este cupón a"}, {"es-CL", "es-CL", "Lleva este cupón de pago a"}, {"es-CO", "es-CO", "Lleva este código a un punto"},
			{"es-PE", "es-PE", "Muestra este código de pago en"}, {"es", "es-MX", "Lleva esta ficha a"}, {"es-419", "es-MX", "Lleva esta ficha a"},
			{"", "es-MX", "Lleva esta ficha a"}, {"es-ES", "es", "Lleva este cupón a"}, {"pt-PT", "pt-BR", "Apresente este código em"}, {"en-GB", "en", "Show this code at"},
		} {
			if _, page, _ := s.Visit(t, "/pay/"+id, "Accept-Language: "+c.accept); !strings.Contains(page, c.want) || !strings.Contains(page, `<html lang="`+c.tag+`"`) {
				t.Errorf("Accept-Language %q: the page is not in %s or lacks %q: %s", c.accept, c.tag, c.want, page)
			}
		}
	})
}

// The fee is the shop's. Only one that passes it on shows it, in the shopper's currency.
func TestShopPassesTheFeeOn(t *testing.T) {
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	path := selector(t, o, "")
	if _, page, _ := s.Visit(t, path+"?lang=en"); strings.Contains(page, "fee included") || !strings.Contains(page, "no fee added") || !strings.Contains(page, "From ") {
		t.Errorf("the choice shows the shop's fee, or lacks the limits: %s", page)
	}
	_, err := s.App.Onboarding.Rebrand(ctx, s.App.Self(), o.Shop.ID, func(b merchants.Brand) merchants.Brand { b.PassFee = true; return b }, nil)
	harness.Must(t, err)
	// By the plan standard, of 25.50 USD: 0.31 for the platform, and 0.25 or 0.50 for the provider; in reais and in pesos.
	_, page, _ := s.Visit(t, path+"?lang=en")
	for _, want := range []string{"Final price, R$\u00a03.02 payment method fee included", "Final price, $14.86\u00a0MXN payment method fee included", "From "} {
		if !strings.Contains(page, want) {
			t.Errorf("the choice lacks %q: %s", want, page)
		}
	}
}
