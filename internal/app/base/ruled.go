package base

import (
	"strconv"

	"github.com/cascadapay/cascada/internal/pay"
)

// Ruled is the operator's word on what nobody else ends.
type Ruled struct {
	ID   string // of the payment or the withdrawal
	Word pay.Word
	Note string // how the operator knows; for the audit log
	// Force applies the word although the provider says otherwise.
	Force bool
	// Reference is what the bank or the network calls a payout that arrived, "" where nobody said.
	Reference string
}

// ToldOf is what the audit log keeps of a ruling, with what the provider said.
func (r Ruled) ToldOf(said string) map[string]string {
	told := map[string]string{"word": string(r.Word), "provider": said, "force": strconv.FormatBool(r.Force)}
	if r.Reference != "" {
		told["reference"] = r.Reference
	}
	return told
}
