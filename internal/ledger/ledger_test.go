package ledger

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestTransferMustSumToZero(t *testing.T) {
	for _, c := range []struct {
		name string
		post []Posting
		want error
	}{
		{"balanced", []Posting{{Receivable, -100}, {Pending, 100}}, nil},
		{"three lines", []Posting{{Receivable, -100}, {Pending, 90}, {PlatformFees, 10}}, nil},
		{"off by one", []Posting{{Receivable, -100}, {Pending, 99}}, ErrUnbalanced},
		{"one line", []Posting{{Receivable, -100}}, ErrPosting},
		{"an empty line", []Posting{{Receivable, -100}, {Pending, 100}, {Reserve, 0}}, ErrPosting},
		{"an account twice", []Posting{{Receivable, -100}, {Pending, 50}, {Pending, 50}}, ErrPosting},
		{"no account", []Posting{{Receivable, -100}, {"", 100}}, ErrPosting},
	} {
		tr := Transfer{ID: "tr_1", Merchant: "mer_1", Kind: Capture, Postings: c.post}
		if got := tr.Check(); !errors.Is(got, c.want) {
			t.Errorf("%s: Check() = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPostLeavesOutEmptyLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.SliceOf(rapid.Int64Range(-2, 2)).Draw(t, "amounts")
		var lines []Posting
		for _, a := range amounts {
			lines = append(lines, Posting{Pending, a})
		}
		for _, p := range Post(lines...) {
			if p.Amount == 0 {
				t.Fatalf("Post(%v) kept an empty line", amounts)
			}
		}
	})
}
