package wire_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/wire"
)

// A plus that is not escaped in an address arrives as a space.
func TestTimesWithAZoneAreReadAsTheyArrive(t *testing.T) {
	for query, want := range map[string]string{
		"2026-11-27T00:00:00%2B03:00": "2026-11-26T21:00:00Z", "2026-11-27T00:00:00+03:00": "2026-11-26T21:00:00Z",
		"2026-11-27T00:00:00.5+0300": "2026-11-26T21:00:00.5Z", "2026-11-27T00:00+03:00": "2026-11-26T21:00:00Z",
		"2026-11-27T00:00:00-0300": "2026-11-27T03:00:00Z", "2026-11-27T00:00-0300": "2026-11-27T03:00:00Z",
		"2026-11-27T00:00:00-03:00": "2026-11-27T03:00:00Z", "2026-11-27T00:00:00": "2026-11-27T00:00:00Z", "2026-11-27": "2026-11-27T00:00:00Z",
	} {
		sent, err := url.ParseQuery("from=" + query)
		if err != nil {
			t.Fatal(err)
		}
		span, issues := wire.Between(sent.Get("from"), "")
		if got := span.From.UTC().Format(time.RFC3339Nano); len(issues) > 0 || got != want {
			t.Errorf("from=%s is %s, want %s %v", query, got, want, issues)
		}
	}
	for text, parts := range map[string][]string{
		"yesterday":                 {`not "yesterday"`},
		"2026-11-27 00:00:00":       {`not "2026-11-27 00:00:00"`, "%2B"},
		"2026-11-27T00:00:00 03":    {`not "2026-11-27T00:00:00 03"`, "%2B"},
		"2026-11-27T00:00:00 99:00": {`not "2026-11-27T00:00:00 99:00"`, "%2B"},
		"2026-02-30":                {`not "2026-02-30"`},
	} {
		_, issues := wire.Between("", text)
		if len(issues) != 1 {
			t.Errorf("to %q has issues %v", text, issues)
			continue
		}
		for _, part := range parts {
			if !strings.Contains(issues[0].Error(), part) {
				t.Errorf("to %q: %q does not say %s", text, issues[0], part)
			}
		}
	}
}
