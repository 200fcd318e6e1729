package analytics

import (
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	totals "github.com/cascadapay/cascada/internal/pay/analytics"
)

// heads are the heads of the columns with outcomes in a file.
func (a *analytics) heads(v *frame.Visit) []string {
	var heads []string
	for _, key := range []string{"payments", "paid", "declined", "abandoned", "expired", "open", "volume_file", "fees_file"} {
		heads = append(heads, a.room.Text(v, key))
	}
	return heads
}

func cells(v view, o payments.Outcomes) []any {
	return []any{o.All(), o.Paid, o.Declined, o.Abandoned, o.Expired, o.Open, v.USD(o.Volume), v.USD(o.Fees)}
}

// fileName is the name of a file of days from one on. It says so if payments from before are still being counted.
func (a *analytics) fileName(v *frame.Visit, kind string, from time.Time, partial bool) string {
	name := kind + "-" + from.Format(time.DateOnly)
	if partial {
		name += "-" + a.room.Text(v, "partial_file")
	}
	return name
}

func (a *analytics) days(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	out, err := a.read(r, v)
	if err != nil {
		return err
	}
	file, err := a.NewCSV(w, r, v, a.fileName(v, "days", out.On.From, out.Partial), append([]string{a.room.Text(v, "day")}, a.heads(v)...)...)
	if err != nil {
		return err
	}
	for _, d := range out.Analysis.Days {
		if err := file.Row(append([]any{d.At.Format(time.DateOnly)}, cells(out, d.Outcomes)...)...); err != nil {
			return err
		}
	}
	return file.End()
}

func (a *analytics) parts(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	out, err := a.read(r, v)
	if err != nil {
		return err
	}
	heads := append([]string{a.room.Text(v, "by_"+string(out.By))}, a.heads(v)...)
	for _, head := range a.heads(v) {
		heads = append(heads, head+" ("+strings.ToLower(a.room.Text(v, "before"))+")")
	}
	file, err := a.NewCSV(w, r, v, a.fileName(v, string(out.By), out.On.From, out.Partial), heads...)
	if err != nil {
		return err
	}
	for _, p := range out.Parts {
		if err := file.Row(append(append([]any{p.Name}, cells(out, p.Now)...), cells(out, p.Before)...)...); err != nil {
			return err
		}
	}
	return file.End()
}

func (a *analytics) checkoutsFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	out, err := a.funnel(r, v)
	if err != nil {
		return err
	}
	file, err := a.NewCSV(w, r, v, a.fileName(v, "checkouts", out.On.From, out.Partial), a.room.Text(v, "step"), a.room.Text(v, "checkouts"), a.room.Text(v, "before"))
	if err != nil {
		return err
	}
	for _, s := range out.Steps {
		if err := file.Row(a.room.Text(v, "step_"+string(s.Step)), s.Now, s.Before); err != nil {
			return err
		}
	}
	return file.End()
}

func (a *analytics) waitsFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	out, err := a.waited(r, v)
	if err != nil {
		return err
	}
	heads := []string{a.room.Text(v, "by_method"), a.room.Text(v, "paid")}
	for _, c := range totals.WaitClasses() {
		heads = append(heads, a.room.Text(v, "class_"+c.Name))
	}
	file, err := a.NewCSV(w, r, v, a.fileName(v, "waits", out.On.From, out.Partial), heads...)
	if err != nil {
		return err
	}
	for _, m := range out.Methods {
		row := []any{m.Method, m.Paid}
		for _, n := range m.Classes {
			row = append(row, n)
		}
		if err := file.Row(row...); err != nil {
			return err
		}
	}
	return file.End()
}
