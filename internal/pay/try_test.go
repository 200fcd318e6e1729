package pay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// refusedAt is what a provider reports of a page on which cards were refused; the page is still open.
func refusedAt(reasons ...decline.Reason) Outcome {
	o := Outcome{Kind: Awaiting, ProviderRef: "page_1", FormURL: "https://x"}
	for i, r := range reasons {
		o.Tries = append(o.Tries, decline.Try{ID: fmt.Sprint("ch_", i), Reason: r, Raw: "05", Soft: r.Meaning().Elsewhere})
	}
	return o
}

// A page that ends unpaid says why: the last try's reason, or that nobody tried (PAY-38).
func TestLastTryIsWhyAPaymentFailed(t *testing.T) {
	for name, c := range map[string]struct {
		tries   []decline.Reason
		lost    bool // the answer at the end does not list the tries
		pix     bool
		played  bool
		status  Status
		code    string
		decline decline.Reason
	}{
		"one refusal":             {tries: []decline.Reason{decline.InsufficientFunds}, status: Failed, code: "insufficient_funds", decline: "insufficient_funds"},
		"known before":            {tries: []decline.Reason{decline.InsufficientFunds}, lost: true, status: Failed, code: "insufficient_funds", decline: "insufficient_funds"},
		"two":                     {tries: []decline.Reason{decline.InsufficientFunds, decline.DoNotHonor}, status: Failed, code: "card_declined", decline: "do_not_honor"},
		"a reason like no other":  {tries: []decline.Reason{"moon_phase"}, status: Failed, code: "card_declined", decline: "declined"},
		"challenge":               {tries: []decline.Reason{decline.NotAuthenticated}, status: Failed, code: "three_ds_failed", decline: "authentication_failed"},
		"left in the middle":      {tries: []decline.Reason{decline.Abandoned}, status: Failed, code: "abandoned", decline: "abandoned"},
		"nobody tried":            {status: Failed, code: "abandoned"},
		"played":                  {played: true, status: Expired, code: "expired"},
		"pix":                     {pix: true, status: Expired, code: "expired"},
		"pix that a bank refused": {pix: true, tries: []decline.Reason{decline.BankDeclined}, status: Failed, code: "declined", decline: "bank_declined"},
	} {
		t.Run(name, func(t *testing.T) {
			rail := cardRail()
			if c.pix {
				rail = pixRail()
			}
			p := sent(t, rail, 2550)
			p, _ = p.ApplyAnswer(refusedAt(), routes, noon)
			seen, _ := refusedAt(c.tries...).Storable()
			p, _ = p.ApplyAnswer(seen, routes, noon.Add(time.Minute))
			end := Outcome{Kind: Lapsed, Tries: seen.Tries, Played: c.played}
			if c.lost {
				end.Tries = nil
			}
			p, change := p.Expire(end, noon.Add(25*time.Hour))
			f := p.End.Failure
			if p.Status != c.status || f.Code != c.code || f.Decline != string(c.decline) || len(change.Events) != 1 || p.Work.DueAt.IsZero() {
				t.Errorf("the payment is %s", p)
			}
			if got := len(p.Attempts[0].Tries); got != len(c.tries) {
				t.Errorf("%d tries are kept, want %d", got, len(c.tries))
			}
		})
	}
}

// A provider's direct refusal is kept with the provider's own code, which the operator sees and the merchant does not; a card is
// declined as one whether or not its reason has a code of the API, and another method never is (PAY-38).
func TestARefusalKeepsTheProvidersCode(t *testing.T) {
	for reason, code := range map[decline.Reason][2]string{ // of a card, of Pix
		decline.Declined: {"card_declined", "declined"}, decline.BankDeclined: {"card_declined", "declined"}, decline.DoNotHonor: {"card_declined", "declined"},
		decline.InsufficientFunds: {"insufficient_funds", "insufficient_funds"}, decline.Canceled: {"abandoned", "declined"},
	} {
		for i, rail := range []accounts.Rail{cardRail(), pixRail()} {
			m := reason.Meaning()
			o := Outcome{Kind: Declined, Code: m.Code, Decline: string(reason), Message: m.Message, Raw: "their_05"}
			p, _ := sent(t, rail, 2550).ApplyAnswer(o, Cascade{}, noon)
			if f := p.End.Failure; p.Status != Failed || f.Code != code[i] || f.Decline != string(reason) {
				t.Errorf("%s: %+v, want %s", reason, f, code[i])
			}
			if try := p.Attempts.Tries(); len(try) != 1 || try[0].Raw != "their_05" || p.Attempts[0].Reason() != string(reason)+", the provider says their_05" {
				t.Errorf("%s: %+v", reason, p.Attempts)
			}
			if told := p.Attempts.Trace(); told[0].ReasonCode != string(reason) {
				t.Errorf("%s: the merchant sees %+v", reason, told)
			}
		}
	}
	long, _ := Outcome{Kind: Declined, Raw: strings.Repeat("\x00ñ", 200)}.Storable()
	if len(long.Raw) > 100 || strings.ContainsRune(long.Raw, 0) {
		t.Errorf("a code that cannot be stored: %q", long.Raw)
	}
}

// A try is a fact: it is kept once, also when it is reported after the end, and a robot's are not all kept.
func TestTriesAreKept(t *testing.T) {
	p := sent(t, cardRail(), 2550)
	p, _ = p.ApplyAnswer(refusedAt(), routes, noon)
	say := func(id string, o Outcome) Verdict {
		t.Helper()
		next, change := p.ApplyNotice(Notice{ID: id, Account: "one", Reference: p.Reference(1), Outcome: o}, routes, "CLM-1", noon.Add(time.Hour))
		if len(change.Transfers) != 0 {
			t.Errorf("%s moves money: %v", id, change.Transfers)
		}
		if len(change.Payments) > 0 {
			p = next
		}
		return change.Notices[0].Verdict
	}
	say("1", refusedAt(decline.InsufficientFunds))
	say("2", refusedAt(decline.InsufficientFunds, decline.DoNotHonor))
	p, _ = p.Expire(Outcome{Kind: Awaiting}, noon.Add(time.Hour))
	before := *p.End.Failure
	late := refusedAt(decline.InsufficientFunds, decline.DoNotHonor, decline.ExpiredCard)
	if v := say("3", late); v != Applied || len(p.Attempts[0].Tries) != 3 || *p.End.Failure != before {
		t.Errorf("a try that is reported after the end is %s: %s", v, p)
	}
	if v := say("4", late); v != Ignored {
		t.Errorf("the same again is %s", v)
	}
	unclear := Notice{ID: "5", Account: "one", Reference: p.Reference(1), Unread: true, Outcome: Outcome{Kind: Unknown, Tries: refusedAt(decline.LostCard).Tries}}
	unclear.Outcome.Tries[0].ID = "ch_9"
	if next, change := p.ApplyNotice(unclear, routes, "CLM-1", noon.Add(time.Hour)); change.Notices[0].Verdict != Mismatched || len(next.Attempts[0].Tries) != 4 {
		t.Errorf("a try in a notification that was not understood: %s, %s", change.Notices[0].Verdict, next)
	}
	var robot Outcome
	for i := range 50 {
		robot.Tries = append(robot.Tries, decline.Try{ID: fmt.Sprint("r", i), At: noon.Add(time.Duration(i) * time.Second).UnixMicro(), Reason: decline.FraudSuspected})
	}
	tries := decline.Tries(nil).With(robot.Tries, noon.Add(time.Hour))
	if last, _ := tries.Last(); len(tries) != 20 || last.ID != "r49" || len(tries.With(robot.Tries, noon.Add(2*time.Hour))) != 20 {
		t.Errorf("of 50 tries %d are kept", len(tries))
	}
}

// After a refusal on a card's page, the next provider's page is the next attempt of the same payment, once the first one is proved
// to take no money any more (PAY-39).
func TestRetryAtTheNextProvider(t *testing.T) {
	refused := func(t *testing.T) Payment {
		p := sent(t, cardRail(), 2550)
		p, _ = p.ApplyAnswer(refusedAt(), routes, noon)
		p, _ = p.ApplyAnswer(refusedAt(decline.DoNotHonor), routes, noon.Add(time.Minute))
		return p
	}
	at := noon.Add(2 * time.Minute)
	p, change, err := routes.TryAgain(refused(t), Outcome{Kind: Lapsed}, at)
	if err != nil || p.Status != Processing || len(p.Attempts) != 2 || p.Attempts[1].Provider != "two" || p.Page.FormURL != "" || len(change.Events) != 0 {
		t.Fatalf("%v: %s", err, p)
	}
	second, change := p.ApplyAnswer(Outcome{Kind: Awaiting, FormURL: "https://y"}, routes, at)
	if second.Status != Pending || second.Page.FormURL != "https://y" || len(change.Events) != 0 || second.Times.Expires != at.Add(30*time.Minute) {
		t.Errorf("at the second provider: %s, %d events", second, len(change.Events))
	}
	paid, change := second.ApplyNotice(Notice{ID: "late", Account: "one", Reference: p.Reference(1), Outcome: Outcome{Kind: Approved, MoneyRef: "m1", Local: p.Price.Local}}, routes, "CLM-1", at)
	if paid.Status != Completed || paid.End.Captured != 1 || !paid.Following() {
		t.Errorf("the first provider's page was paid after all: %s", paid)
	}
	twice, change := paid.ApplyLook(Outcome{Kind: Approved, MoneyRef: "m2", Local: p.Price.Local}, "CLM-2", at)
	if len(change.Claims) != 1 || change.Transfers[0].Amount(ledger.Suspense) == 0 {
		t.Errorf("and the second one too: %s, %+v", twice, change.Transfers)
	}
	nobody, _ := p.ApplyAnswer(Outcome{Kind: Unavailable}, Cascade{}, at)
	if nobody.Status != Failed || nobody.End.Failure.Code != "card_declined" || nobody.End.Failure.Decline != "do_not_honor" {
		t.Errorf("no other provider takes it: %s", nobody)
	}
	for kind, want := range map[OutcomeKind]Status{Approved: Completed, Declined: Processing, Lapsed: Processing, Unknown: "", Awaiting: "", Missing: ""} {
		o := Outcome{Kind: kind, Local: p.Price.Local}
		if kind != Approved {
			o.Local = Outcome{}.Local
		}
		next, change, err := routes.TryAgain(refused(t), o, at)
		var shown *problem.Error
		switch {
		case want == "" && (!errors.As(err, &shown) || shown.Details.Reason != NotEnded || len(change.Payments) != 0):
			t.Errorf("%s proves that the page has ended: %v", kind, err)
		case want != "" && (err != nil || next.Status != want):
			t.Errorf("after %s: %s, %v", kind, next, err)
		}
	}
	untried := sent(t, cardRail(), 2550)
	untried, _ = untried.ApplyAnswer(refusedAt(), routes, noon)
	if _, _, err := routes.TryAgain(untried, Outcome{Kind: Lapsed}, at); err == nil {
		t.Error("a page that nobody used is tried again")
	}
	risky := sent(t, cardRail(), 2550)
	risky, _ = risky.ApplyAnswer(refusedAt(decline.FraudSuspected), routes, noon)
	if _, _, err := routes.TryAgain(risky, Outcome{Kind: Lapsed}, at); err == nil {
		t.Error("a charge that was blocked as a risk is tried again")
	}
}

// The shopper's time begins again with the next page. What is not known of it is queried with pauses, however late it is.
func TestRetryHasATimeOfItsOwn(t *testing.T) {
	p := sent(t, cardRail(), 2550)
	p, _ = p.ApplyAnswer(refusedAt(decline.DoNotHonor), routes, noon)
	at := noon.Add(29 * time.Minute)
	p, _, err := routes.TryAgain(p, Outcome{Kind: Lapsed}, at)
	if err != nil || p.Times.Expires != at.Add(30*time.Minute) {
		t.Fatalf("%v: until %s, it is %s", err, p.Times.Expires, p)
	}
	for range 100 {
		at = p.Work.DueAt
		if p, _ = p.ApplyAnswer(Outcome{Kind: Unknown}, routes, at); !p.Work.DueAt.After(at) {
			t.Fatalf("after %s the payment is due at once, again and again: %s", at.Sub(noon), p)
		}
	}
}
