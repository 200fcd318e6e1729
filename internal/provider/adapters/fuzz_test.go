package adapters

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/reconcile"
)

// Whatever a provider's report contains: a line that counts has an amount above zero and a
// reference, lines are in order, and a second reading of the report has the same result.
func FuzzSettlementReport(f *testing.F) {
	formats := map[string]reconcile.Format{}
	for _, a := range All() {
		if a.Report.Title == "" {
			continue
		}
		formats[a.Name] = a.Report
		sample := samples[a.Name]
		header, _, _ := strings.Cut(sample, "\n")
		for _, text := range []string{
			sample, strings.ReplaceAll(sample, "54.00", "-54.00"), strings.ReplaceAll(sample, "54.00", "99999999999999999999"), strings.ReplaceAll(sample, "BRL", "XXQ"),
			strings.ReplaceAll(sample, "\n", "\r\n"), "\ufeff" + sample, header, header + "\n\"", strings.ReplaceAll(sample, "P-1", "\x1b[31m"), strings.ReplaceAll(sample, "2026-11", "0000-13"), "no,such,columns\n",
		} {
			f.Add(a.Name, text)
		}
	}
	if len(formats) != len(samples) {
		f.Fatalf("%d reports, want %d", len(formats), len(samples))
	}
	f.Fuzz(func(t *testing.T, name, report string) {
		format, known := formats[name]
		if !known {
			return
		}
		lines, told, err := readAll(report, format)
		if err != nil {
			t.Fatal(err)
		}
		last := 0
		for _, l := range lines {
			if l.Number <= last {
				t.Errorf("line %d after %d", l.Number, last)
			}
			last = l.Number
			if l.Kind == reconcile.Other {
				continue
			}
			if !l.Amount.IsPositive() || l.Reference+l.ProviderRef+l.RefundReference+l.RefundProviderRef == "" {
				t.Errorf("a line without content: %+v", l)
			}
			for _, text := range []string{l.Reference, l.ProviderRef, l.RefundReference, l.RefundProviderRef} {
				if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Errorf("a reference with control characters: %q", text)
				}
			}
		}
		if again, toldAgain, _ := readAll(report, format); !reflect.DeepEqual(again, lines) || !reflect.DeepEqual(toldAgain, told) {
			t.Errorf("the second reading is different: %+v, not %+v", again, lines)
		}
	})
}

// readAll reads the lines of a report, and the errors of those that cannot be read.
func readAll(report string, format reconcile.Format) (lines []reconcile.Line, told []string, err error) {
	r, err := reconcile.NewReader("report", strings.NewReader(report), format)
	if err != nil {
		return nil, []string{err.Error()}, nil
	}
	for {
		l, err := r.Next()
		var bad *reconcile.Unreadable
		switch {
		case errors.Is(err, io.EOF):
			return lines, told, nil
		case errors.As(err, &bad):
			told = append(told, fmt.Sprint(bad))
		case err != nil:
			return nil, nil, err
		default:
			lines = append(lines, l)
		}
	}
}
