package shape

import (
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/pay"
)

// PayoutExplanation says why a withdrawal went to its accounts.
type PayoutExplanation struct {
	Withdrawal string              `json:"withdrawalId"`
	Status     string              `json:"status"`
	Rail       string              `json:"rail"`
	Tried      []pay.PayoutAttempt `json:"tried"`
	Account    string              `json:"account,omitempty"`
	Reference  string              `json:"reference"`
	Why        string              `json:"why,omitempty"`
	Passed     []string            `json:"passed,omitempty"`
	Said       string              `json:"said,omitempty"`
	Waiting    string              `json:"waiting,omitempty"`
	Accounts   []PayoutVerdict     `json:"accounts"`
}

// PayoutVerdict says whether an account would pay such a withdrawal now.
type PayoutVerdict struct {
	Account string `json:"account"`
	Pays    bool   `json:"pays"`
	Verdict string `json:"verdict,omitempty"`
	Balance string `json:"balance,omitempty"`
	Float   string `json:"float,omitempty"`
}

// NewPayoutExplanation shows an explanation.
func NewPayoutExplanation(e payouts.Explanation) PayoutExplanation {
	w := e.Withdrawal
	told := PayoutExplanation{
		Withdrawal: w.ID, Status: string(w.Status), Rail: e.Rail, Tried: append([]pay.PayoutAttempt{}, w.Tried...), Account: w.Payout.Provider,
		Reference: w.Reference(), Why: w.Payout.Why, Passed: w.Payout.Passed, Said: w.Payout.Said, Waiting: w.Waiting, Accounts: []PayoutVerdict{},
	}
	for _, v := range e.Accounts {
		told.Accounts = append(told.Accounts, PayoutVerdict{v.Account, v.Verdict == "", v.Verdict, v.Balance, v.Float})
	}
	return told
}
