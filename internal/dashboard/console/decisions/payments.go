package decisions

import (
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

type paymentView struct {
	desk.Form
	Payment    pay.Payment
	Rail       string
	Attempts   []attempt
	Accounts   []shape.Verdict // what each account would say now
	Rules      []shape.RoutingVerdict
	Pages      *desk.Accounts
	Notices    []pay.KeptNotice
	Story      string
	Unsure     bool
	Resolvable bool // it may be resolved: its end is not known, or a late word can come
}

// attempt is one try at one account.
type attempt struct {
	shape.Attempt
	Tone string
	At   time.Time
	Took int64 // milliseconds; -1: not known
}

func (p *pages) payment(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showPayment(w, r, v, http.StatusOK, desk.Form{})
}

// showPayment shows the story of a payment, with providers' names.
func (p *pages) showPayment(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, typed desk.Form) error {
	ctx, id := r.Context(), r.PathValue("id")
	if !base.Storable(id) {
		return problem.New(problem.NotFound, base.NoPayment)
	}
	e, err := p.Uses.Rules.Explain(ctx, id)
	if err != nil {
		return err
	}
	told := shape.NewExplanation(e)
	view := paymentView{Form: typed, Pages: desk.NewAccounts(ctx, p.Uses.Providers), Payment: e.Payment, Rail: told.Rail, Accounts: told.Accounts, Rules: told.Rules, Unsure: !e.Payment.Times.Unsure.IsZero(), Resolvable: resolvable(e.Payment)}
	tones := map[pay.OutcomeKind]string{pay.Approved: "good", pay.Declined: "bad", pay.Unavailable: "bad", pay.Unknown: "waiting", pay.Awaiting: "waiting"}
	for _, a := range told.Attempts {
		one := attempt{Attempt: a, Tone: tones[a.Outcome], At: a.StartedAt.Time, Took: -1}
		if a.DurationMs != nil {
			one.Took = *a.DurationMs
		}
		view.Attempts = append(view.Attempts, one)
	}
	if view.Notices, err = p.Uses.Notices.Notifications(ctx, id, desk.Most); err != nil {
		return err
	}
	if view.Story, err = p.Uses.Story(ctx, id); err != nil {
		return err
	}
	return p.Room.ShowStatus(w, r, v, status, "payment", view)
}

// resolvable reports whether an operator may resolve a payment: it was tried somewhere, and has not succeeded.
func resolvable(p pay.Payment) bool {
	_, tried := p.Attempts.Current()
	return tried && (p.Status.Open() || p.Status == pay.Failed || p.Status == pay.Expired)
}

// resolvePayment resolves a payment whose provider does not report how it ended.
func (p *pages) resolvePayment(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id, typed := r.PathValue("id"), desk.Typed(r, "outcome", "note")
	err := p.tryPayment(r, v, id, typed)
	if err == nil {
		return p.Done(w, r, "payments/"+id, "payment_resolved")
	}
	status, fault := refused(v, &typed, err)
	if fault != nil {
		return fault
	}
	return p.showPayment(w, r, v, status, typed)
}

func (p *pages) tryPayment(r *http.Request, v *frame.Visit, id string, typed desk.Form) error {
	note, err := desk.ReadNote(r)
	if err != nil {
		return err
	}
	word := pay.Word(typed.Value("outcome"))
	if word != pay.WordPaid && word != pay.WordNotCharged {
		return problem.Field(problem.InvalidRequest, "outcome", choosePaymentEnd)
	}
	_, _, err = p.Uses.Payments.Resolve(r.Context(), v.Actor(), base.Resolution{ID: id, Word: word, Note: note, Force: r.FormValue("force") != ""})
	return err
}
