package base

import (
	"cmp"
	"strconv"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Resolution is the operator's resolution of something that no provider ends.
type Resolution struct {
	ID   string // of the payment or the withdrawal
	Word pay.Word
	Note string // how the operator knows; for the audit log
	// Force applies it although the provider says otherwise.
	Force bool
	// Reference is the bank's or the network's name of a payout that arrived, "" if it is not
	// known.
	Reference string
	// Amount is the part of a payout that came back, in units of the currency that arrived; "": all that is left.
	Amount string
}

// Fit returns an error if a text of the resolution is too long.
//
// Errors: invalid_request.
func (r Resolution) Fit() error {
	return cmp.Or(pay.FitNote(r.Note), problem.Fit(problem.Text{Param: "reference", Text: r.Reference, Most: pay.MaxReference}))
}

// ToldOf is the audit log's details of a resolution, with the provider's answer.
func (r Resolution) ToldOf(said string) map[string]string {
	told := map[string]string{"word": string(r.Word), "provider": said, "force": strconv.FormatBool(r.Force)}
	if r.Reference != "" {
		told["reference"] = r.Reference
	}
	if r.Amount != "" {
		told["amount"] = r.Amount
	}
	return told
}
