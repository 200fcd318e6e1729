package reconcile

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

// A provider's report costs no more than its size, and of bad lines little is told.
func TestReportsCostNoMoreThanTheirSize(t *testing.T) {
	const head = "reference,provider_reference,type,amount,currency,date\n"
	for name, text := range map[string]string{
		"one reference": "A-1,ch_1,charge,54.00,BRL,2026-11-21\n", "bad amounts": "A-1,ch_1,charge,x,BRL,2026-11-21\n", "short lines": "A\n",
		"quotes": "\"\"\"", "commas": ",", "letters": "x", "lines": "\n", "numbers": "1",
	} {
		growth.Of(t, name, 512<<10, growth.Repeated(head, text, ""), func(text string) (told int) {
			r, err := NewReader("r.csv", strings.NewReader(text), Generic())
			if err != nil {
				return len(err.Error())
			}
			found := 0
			m := Matcher{Account: "bank", Tell: func(Finding) { found++ }}
			for {
				l, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if bad, ok := errors.AsType[*Unreadable](err); ok {
					m.Bad("r.csv", bad)
				} else if err != nil {
					return len(err.Error())
				} else {
					m.Line(l, Sales{})
				}
			}
			m.Lines()
			m.End()
			return found
		})
	}
}
