package api

import (
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/wire"
)

// A key that was made while numbers were compared as they are written is found by a repeat of the same bytes (IDEM-4).
func TestKeyFromBeforeIsFoundByTheSameBytes(t *testing.T) {
	const body = `{"amount":5.00,"userName":null}`
	before := bodyHash(wire.AsWritten, []byte(body), "")
	for repeat, want := range map[string]bool{body: true, `{"userName":null, "amount":5.00}`: true, `{"amount":5.01,"userName":null}`: false} {
		if got := onceFor(http.MethodPost, "key", []byte(repeat), "").Made(before); got != want {
			t.Errorf("%s repeats %s: %v, want %v", repeat, body, got, want)
		}
	}
	now := onceFor(http.MethodPost, "key", []byte(body), "")
	if !onceFor(http.MethodPost, "key", []byte(`{"amount":5}`), "").Made(now.Hash) {
		t.Error("5 and 5.00, or null and absent, are different requests")
	}
}
