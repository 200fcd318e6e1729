package letter_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/mail/letter"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

var notice = mails.Wallet{
	Language: merchants.English, Merchant: "Acme", Wallet: "wal_1", Network: "spei", Currency: "MXN", Destination: "032****9719",
	Key: "sk_live_…1234", AddedAt: time.Date(2026, 11, 20, 23, 4, 5, 0, time.FixedZone("", -3*3600)), ActiveAt: time.Date(2026, 11, 22, 2, 4, 5, 0, time.UTC),
}

func desk(t *testing.T) *letter.Writer {
	t.Helper()
	d, err := letter.NewWriter("https://pay.example.com")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// No sentence is left in one language only, and each says as much in all.
func TestEverySentenceIsInEveryLanguage(t *testing.T) {
	texts := map[merchants.Language]map[string]string{}
	for _, language := range merchants.Languages() {
		body, err := os.ReadFile("text/" + string(language) + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var of map[string]string
		if err := json.Unmarshal(body, &of); err != nil {
			t.Fatal(err)
		}
		texts[language] = of
	}
	hole := regexp.MustCompile(`\{\w+\}`)
	for language, of := range texts {
		if got, want := slices.Sorted(maps.Keys(of)), slices.Sorted(maps.Keys(texts[merchants.English])); !slices.Equal(got, want) {
			t.Errorf("%s has the keys %v, want %v", language, got, want)
		}
		n := notice
		n.Language = language
		l := desk(t).NewWallet(n)
		whole := l.Subject + "\n" + l.Text
		for _, kind := range []people.LinkKind{people.Invitation, people.PasswordReset, people.SignInLink} {
			for _, merchant := range []string{"Acme", ""} {
				l := desk(t).Link(mails.Link{Language: language, Kind: kind, Merchant: merchant, Address: "https://pay.example.com/dashboard/link/ln_1", EndsAt: notice.ActiveAt})
				if !strings.Contains(l.Text, "https://pay.example.com/dashboard/link/ln_1\n") || !strings.Contains(l.Text, "2026-11-22 02:04 UTC") {
					t.Errorf("the letter of kind %s in %s lacks the link or its end:\n%s", kind, language, l.Text)
				}
				whole += "\n" + l.Subject + "\n" + l.Text
			}
		}
		n.Key, n.User = "", "ana@acme.example"
		whole += desk(t).NewWallet(n).Text
		r := desk(t).Receipt(mails.Receipt{Language: language, Shop: "Acme", Payment: "TXN-1", Order: "A-1", Description: "Two\ntickets", Paid: money.New(2550, money.USD), Back: money.New(50, money.USD), PaidAt: notice.AddedAt, Test: true})
		whole += "\n" + r.Subject + "\n" + r.Text
		for _, by := range []installment.Payer{installment.Merchant, installment.Shopper, ""} {
			whole += "\n" + desk(t).Receipt(mails.Receipt{Language: language, Paid: money.New(1200, money.USD), PaidAt: notice.AddedAt,
				Plan: installment.Plan{Count: 3, Each: money.New(401, money.USD), Total: money.New(1201, money.USD), By: by}}).Text
		}
		for _, n := range alerts() {
			n.Language = language
			l := desk(t).Alert(n)
			whole += "\n" + l.Subject + "\n" + l.Text
		}
		for key, sentence := range of {
			want := slices.Sorted(slices.Values(hole.FindAllString(texts[merchants.English][key], -1)))
			if got := slices.Sorted(slices.Values(hole.FindAllString(sentence, -1))); !slices.Equal(got, want) {
				t.Errorf("%s %s has %v for values, want %v", language, key, got, want)
			}
			if head, _, _ := strings.Cut(sentence, "{"); !strings.Contains(whole, strings.TrimSpace(head)) {
				t.Errorf("the letter in %s does not say %q:\n%s", language, sentence, whole)
			}
		}
		if left := hole.FindString(whole); left != "" {
			t.Errorf("the letter in %s has no value for %s", language, left)
		}
	}
}

// alerts are one of each kind, and of each form that it has.
func alerts() (list []mails.Alert) {
	own := people.News{At: notice.AddedAt, Address: "203.0.113.7", Browser: "Firefox, Linux"}
	for _, what := range people.Whats() {
		n := own
		if n.What = what; what.ByOthers() {
			n.Address, n.Browser, n.By, n.Merchant = "", "", "bea@acme.example", "Acme"
		}
		list = append(list, mails.Alert{News: n, User: "ana@acme.example"})
	}
	for _, role := range people.Roles() {
		list = append(list, mails.Alert{News: people.News{What: people.RoleChanged, At: notice.AddedAt, Merchant: "Acme", Role: role}, User: "ana@acme.example", Last: true})
	}
	list = append(list, mails.Alert{News: people.News{What: mails.MerchantClosed, At: notice.AddedAt, Merchant: "Acme"}, Until: notice.ActiveAt},
		mails.Alert{News: people.News{What: mails.MerchantErasing, At: notice.AddedAt, Merchant: "Acme"}, Until: notice.ActiveAt})
	for _, what := range []people.What{mails.MerchantPaused, mails.MerchantResumed, mails.MerchantMoved, mails.MerchantClosed, mails.MerchantReopened, mails.MerchantPaidOut} {
		list = append(list, mails.Alert{News: people.News{What: what, At: notice.AddedAt, Merchant: "Acme"}})
	}
	for _, what := range []people.What{mails.KeyMade, mails.KeyRolled, mails.KeyRevoked} {
		n := own
		n.What, n.Merchant, n.By, n.Browser = what, "Acme", "bea@acme.example", ""
		list = append(list,
			mails.Alert{News: n, Key: "sk_live_…1234", Shop: "shp_1", Until: notice.ActiveAt}, mails.Alert{News: n, Key: "sk_live_…1234"})
	}
	return list
}

// An alert says what happened, to whom, when and from where, and leads to the dashboard.
func TestLetterTellsOfAnAccount(t *testing.T) {
	for _, n := range alerts() {
		l := desk(t).Alert(n)
		if l.Subject == "" || strings.HasPrefix(l.Text, "\n") {
			t.Errorf("%s has the subject %q and begins:\n%s", n.News.What, l.Subject, l.Text)
		}
		want := []string{"2026-11-21 02:04 UTC", "https://pay.example.com/dashboard", n.User, n.Key, n.News.Merchant, n.News.Address, n.News.Browser, n.News.By}
		if n.Last {
			want = append(want, "no more e-mails of this kind today")
		}
		for _, want := range want {
			if !strings.Contains(l.Text, want) {
				t.Errorf("%s does not tell %q:\n%s", n.News.What, want, l.Text)
			}
		}
		if strings.Contains(l.Text, "{") || strings.Contains(l.Text, "\n\n\n") {
			t.Errorf("%s has a hole:\n%s", n.News.What, l.Text)
		}
	}
}

func TestLetterTellsOfAWallet(t *testing.T) {
	l := desk(t).NewWallet(notice)
	for _, want := range []string{
		"Acme", "032****9719 (spei, MXN)", "2026-11-21 02:04 UTC", "2026-11-22 02:04 UTC", "sk_live_…1234",
		"DELETE https://pay.example.com/api/v1/wallets/wal_1", "revoke",
	} {
		if !strings.Contains(l.Text, want) {
			t.Errorf("the letter does not tell %q:\n%s", want, l.Text)
		}
	}
	foreign := notice
	foreign.Language = "xx"
	if got := desk(t).NewWallet(foreign); got != l {
		t.Errorf("a language that nobody speaks here is written %q, want English", got.Subject)
	}
}

// A wallet that a user added names the user, and what helps against somebody who uses the account: no key.
func TestLetterTellsOfAUser(t *testing.T) {
	for language, want := range map[merchants.Language][]string{
		merchants.English: {"By the user: ana@acme.example", "Remove ana@acme.example from the team"}, merchants.Spanish: {"Por el usuario: ana@acme.example", "Quita a ana@acme.example del equipo"},
		merchants.Portuguese: {"Pelo usuário: ana@acme.example", "Remova ana@acme.example da equipe"},
	} {
		n := notice
		n.Language, n.Key, n.User, n.Shop = language, "", "ana@acme.example", "shp_1"
		l := desk(t).NewWallet(n)
		for _, want := range append(want, "https://pay.example.com/dashboard/shp_1/production/wallets/wal_1") {
			if !strings.Contains(l.Text, want) {
				t.Errorf("the letter in %s does not tell %q:\n%s", language, want, l.Text)
			}
		}
		for _, not := range []string{"DELETE", "API", "{"} {
			if strings.Contains(l.Text, not) {
				t.Errorf("the letter in %s tells %q:\n%s", language, not, l.Text)
			}
		}
	}
}

// A merchant's name is a name in the letter, whatever it holds.
func TestNameWritesNoLetterOfItsOwn(t *testing.T) {
	n := notice
	n.Merchant = "Acme\r\nBcc: all@example.com\n\nCall\u2028+1 555\u202e\x00\xff {wallet} " + strings.Repeat("é", 200)
	l := desk(t).NewWallet(n)
	if strings.Count(l.Text, "\n") != strings.Count(desk(t).NewWallet(notice).Text, "\n") || strings.ContainsAny(l.Subject+l.Text, "\r\x00\u2028\u202e") {
		t.Errorf("the name adds lines:\n%s", l.Text)
	}
	if want := "Acme Bcc: all@example.com Call +1 555 {wallet} é"; !strings.Contains(l.Subject, want) || len([]rune(l.Subject)) > 140 {
		t.Errorf("the subject is %q, want it to have %q, and an end", l.Subject, want)
	}
}
