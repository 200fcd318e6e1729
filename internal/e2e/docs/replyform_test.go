package docs

import (
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// Problem shows an error, or one of its issues, that has no message.
func TestProblemWithoutAMessageShowsIt(t *testing.T) {
	const begin = `{"error":{"code":"invalid_request","type":"invalid_request_error",`
	for body, want := range map[string]string{
		begin + `"message":"send it"}}`: "400 invalid_request invalid_request_error",
		begin + `"message":" "}}`:       "400 invalid_request invalid_request_error WITHOUT A MESSAGE",
		begin + `"message":null}}`:      "400 invalid_request invalid_request_error WITHOUT A MESSAGE",
		begin + `"message":"send it","details":{"issues":[{"path":"amount"}]}}}`:               "400 invalid_request invalid_request_error WITHOUT A MESSAGE issues=amount",
		begin + `"message":"send it","details":{"issues":[{"path":"amount","message":"x"}]}}}`: "400 invalid_request invalid_request_error issues=amount",
	} {
		if got := (harness.Reply{Status: 400, Body: []byte(body)}).Problem(t); got != want {
			t.Errorf("%s is %q, want %q", body, got, want)
		}
	}
}

// A message that only says what is wrong does not say how to correct the request.
func TestMendingIsMoreThanAComplaint(t *testing.T) {
	for message, says := range map[string]bool{
		"amount must be a number":                          true,
		"send the header Authorization":                    true,
		"the key is wrong because it was refused":          false,
		"the payment was already refunded":                 false,
		"the input failed: we were unable to outlook that": false,
	} {
		if got := harness.Mends(message); got != says {
			t.Errorf("%q says how to correct the request: %v, want %v", message, got, says)
		}
	}
}
