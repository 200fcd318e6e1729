package message_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	_ "github.com/cascadapay/cascada/internal/cli/accounts"
	_ "github.com/cascadapay/cascada/internal/cli/books" // these declare their reasons, as do all that they import
	_ "github.com/cascadapay/cascada/internal/cli/claims"
	_ "github.com/cascadapay/cascada/internal/cli/merchants"
	_ "github.com/cascadapay/cascada/internal/cli/payments"
	_ "github.com/cascadapay/cascada/internal/cli/payouts"
	_ "github.com/cascadapay/cascada/internal/cli/people"
	_ "github.com/cascadapay/cascada/internal/cli/plans"
	_ "github.com/cascadapay/cascada/internal/cli/rates"
	_ "github.com/cascadapay/cascada/internal/cli/routing"
	_ "github.com/cascadapay/cascada/internal/cli/settlements"
	_ "github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	_ "github.com/cascadapay/cascada/internal/provider/adapters"

	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

var (
	keyForm = regexp.MustCompile(`^[a-z][a-z0-9]*\.[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	// apiWords are the names of fields and the requests of the API, which no page shows: a form has labels.
	apiWords = regexp.MustCompile(`\b[a-z]+[A-Z]\w*|\b(installments|customer|details)\.[a-z]\w*|\b(GET|POST|PATCH|DELETE) /`)
)

// Every reason that a package declares has the API's sentence, and pages' in each language, with no other arguments than
// its own; and nothing else has one.
func TestEveryReasonIsSaidInEveryLanguage(t *testing.T) {
	t.Parallel()
	catalog := message.Catalog()
	seen := map[string]bool{}
	for _, d := range problem.Declarations() {
		e, known := catalog[d.Key]
		switch {
		case seen[d.Key]:
			t.Errorf("%s is declared twice", d.Key)
		case !keyForm.MatchString(d.Key):
			t.Errorf("%q is no key: want noun.what_is_wrong", d.Key)
		case !known:
			t.Errorf("%s has no texts: write them into internal/message/texts/%s.json", d.Key, strings.Split(d.Key, ".")[0])
		}
		seen[d.Key] = true
		if !known {
			continue
		}
		api, pages := e.Texts()
		for _, arg := range d.Args {
			if !slices.Contains(message.Places(api), arg) {
				t.Errorf("%s: the API's text does not say its %s", d.Key, arg)
			}
		}
		for lang, text := range map[string]string{"api": api, "en": pages["en"], "es": pages["es"], "pt": pages["pt"]} {
			if text == "" {
				t.Errorf("%s has no text in %s", d.Key, lang)
			}
			for _, arg := range message.Places(text) {
				if !slices.Contains(d.Args, arg) {
					t.Errorf("%s: the text in %s has {%s}, which the reason does not have", d.Key, lang, arg)
				}
			}
			if found := apiWords.FindString(text); lang != "api" && found != "" {
				t.Errorf("%s: the pages' text in %s has %q, a word of the API", d.Key, lang, found)
			}
		}
	}
	if len(seen) < 400 {
		t.Errorf("only %d reasons are declared", len(seen))
	}
	for key := range catalog {
		if !seen[key] {
			t.Errorf("%s has texts, and nothing declares it", key)
		}
	}
}

func TestTextsAreInTheFileOfTheirNoun(t *testing.T) {
	t.Parallel()
	files, err := message.Files.ReadDir("texts")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		body, err := message.Files.ReadFile(path.Join("texts", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(strings.NewReader(string(body)))
		decoder.DisallowUnknownFields()
		var texts map[string]struct{ API, EN, ES, PT string }
		if err := decoder.Decode(&texts); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
		for key, e := range texts {
			if !strings.HasPrefix(key, strings.TrimSuffix(f.Name(), "json")) {
				t.Errorf("%s is in %s", key, f.Name())
			}
			if e.EN == e.API {
				t.Errorf("%s: the pages' English is the API's: leave it out", key)
			}
		}
	}
}

// A sentence has its arguments as the API writes them, or as pages do; another reason in it is said in the same language.
func TestSentencesHaveTheirArguments(t *testing.T) {
	t.Parallel()
	pages := func(lang string, arg any) (string, bool) {
		_, amount := arg.(money.Amount)
		return "(" + lang + ")", amount
	}
	at := time.Date(2026, 11, 29, 13, 0, 0, 0, time.UTC)
	paid, _ := errors.AsType[*problem.Error](pay.Settlement{Status: pay.BatchPaid, PDFAt: at, PaidAt: at}.MayPayOut(1))
	above := accounts.AboveMaximum.With(money.New(5, money.USD))
	missing := base.Missing(problem.ClaimNotFound, merchants.Scope{}, "TXN-1")
	due := message.Literal("due {now}")
	refused := problem.New(problem.CardDeclined, due)
	wrapped := &problem.Error{Code: problem.InvalidToken, Reason: due, Cause: refused}
	for _, c := range []struct{ got, want string }{
		{message.API(paid), "the settlement was paid at 2026-11-29T13:00:00Z"},
		{message.Text(above), "amount must be at most 0.05 USD: it is in dollars, not in cents"},
		{message.Page("es", above, pages), "El monto es como máximo (es). Está en dólares, no en centavos."},
		{message.API(missing), "there is no such claim: TXN-1 is a payment; read it with GET /payments/TXN-1"},
		{message.Page("en", missing.Reason, pages), "There is no such claim in this shop and environment."},
		{message.API(&problem.Error{Details: problem.Details{Issues: []problem.Issue{{Path: "a", Reason: due}, {Path: "b", Reason: due}}}}), "due {now}; due {now}"},
		{message.Sentence(fmt.Errorf("line 1: %w", refused)), "line 1: card_declined: due {now}"},
		{message.Sentence(errors.Join(refused, wrapped)), "card_declined: due {now}\ninvalid_token: due {now}: card_declined: due {now}"},
		{message.Sentence(fmt.Errorf("line 1: %w, %w", due, refused)), "line 1: due {now}, card_declined: due {now}"},
		{message.Sentence(errors.New("disk full")), "disk full"},
		{message.StoredText("disk full"), "disk full"},
		{message.StoredText(above.Error()), message.Text(above)},
		{message.StoredText(message.Literal(`say "no" = no`).Error()), `say "no" = no`},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if got, want := paid.Error(), "settlement_already_paid: settlement.paid_already at=2026-11-29T13:00:00Z"; got != want {
		t.Errorf("a log has %q, want %q", got, want)
	}
}

// A text that is too long is said with its field, the limit and what was sent; pages show it beside the field.
func TestATextThatIsTooLong(t *testing.T) {
	t.Parallel()
	if err := pay.FitNote(strings.Repeat("ñ", pay.MaxNote)); err != nil { // characters, not bytes
		t.Errorf("a note of %d characters is refused: %v", pay.MaxNote, err)
	}
	long, _ := errors.AsType[*problem.Error](pay.FitNote(strings.Repeat("n", pay.MaxNote+1)))
	if long == nil || long.Code != problem.InvalidRequest || long.Param != "note" {
		t.Fatalf("a note that is too long got %v; want invalid_request about note", long)
	}
	if got, want := message.API(long), "note must have at most 1000 characters; you sent 1001"; got != want {
		t.Errorf("the API says %q; want %q", got, want)
	}
	two, _ := errors.AsType[*problem.Error](pay.Buyer{Email: strings.Repeat("e", pay.MaxEmail+1)}.Fit("", "", pay.Purchase{Items: []pay.LineItem{{SKU: strings.Repeat("s", pay.MaxSKU+1)}}}))
	if two == nil || len(two.Details.Issues) != 2 || two.Details.Issues[0].Path != "lineItems[0].sku" || two.Details.Issues[1].Path != "userEmail" {
		t.Errorf("two texts that are too long got %v; want both fields", two)
	}
}
