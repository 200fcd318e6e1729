package adapters

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

// A provider's report costs no more than its size, in each provider's columns.
func TestReportsOfProvidersCostNoMoreThanTheirSize(t *testing.T) {
	for _, a := range All() {
		if a.Report.Title == "" {
			continue
		}
		header, lines, _ := strings.Cut(samples[a.Name], "\n")
		for _, text := range []string{lines, "x", "\"", ",", ";", "\n"} {
			growth.Of(t, a.Name+" of "+text[:min(len(text), 20)], 128<<10, growth.Repeated(header+"\n", text, ""), func(report string) int {
				read, told, err := readAll(report, a.Report)
				if err != nil {
					return len(err.Error())
				}
				return len(read) + len(told)
			})
		}
	}
}
