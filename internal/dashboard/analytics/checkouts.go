package analytics

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	totals "github.com/cascadapay/cascada/internal/pay/analytics"
)

// funnelView is the page about how far checkouts came.
type funnelView struct {
	payments.Funnel
	On     days
	By     totals.Dimension // none
	Groups []totals.Dimension
	Tab    string
	All    bool
}

// Path is the page's, below the shop's.
func (funnelView) Path() string { return "analytics/checkouts" }

// First is how many checkouts were opened.
func (f funnelView) First() int64 { return f.Steps[0].Now }

// Before is how many reached the step before this one.
func (f funnelView) Before(step int) int64 { return f.Steps[max(0, step-1)].Now }

// Nothing reports whether there is nothing to show.
func (f funnelView) Nothing() bool {
	for _, s := range f.Steps {
		if s.Now > 0 || s.Before > 0 {
			return false
		}
	}
	return true
}

func (a *analytics) funnel(r *http.Request, v *frame.Visit) (out funnelView, err error) {
	out.Groups, out.Tab = payments.Groups(), "checkouts"
	if err := out.On.read(r, a.Uses.TimeOf(v.Scope)); err != nil {
		return out, err
	}
	out.Funnel, err = a.Uses.Analytics.Funnel(r.Context(), v.Scope, out.On.From, out.On.To)
	return out, err
}

func (a *analytics) checkouts(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	out, err := a.funnel(r, v)
	if err != nil {
		return err
	}
	return a.room.Show(w, r, v, "checkouts", out)
}

// waitsView is the page about how long shoppers take to pay.
type waitsView struct {
	payments.Waits
	On      days
	By      totals.Dimension // none
	Groups  []totals.Dimension
	Tab     string
	All     bool
	Classes []totals.WaitClass
}

// Bounds are the classes with a bound: everything was paid within the last one, which has none.
func (v waitsView) Bounds() []totals.WaitClass { return v.Classes[:len(v.Classes)-1] }

// Path is the page's, below the shop's.
func (waitsView) Path() string { return "analytics/waits" }

func (a *analytics) waited(r *http.Request, v *frame.Visit) (out waitsView, err error) {
	out.Groups, out.Tab, out.Classes = payments.Groups(), "waits", totals.WaitClasses()
	if err := out.On.read(r, a.Uses.TimeOf(v.Scope)); err != nil {
		return out, err
	}
	out.Waits, err = a.Uses.Analytics.Waits(r.Context(), v.Scope, out.On.From, out.On.To)
	return out, err
}

func (a *analytics) waits(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	out, err := a.waited(r, v)
	if err != nil {
		return err
	}
	return a.room.Show(w, r, v, "waits", out)
}
