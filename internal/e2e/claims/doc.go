// Package claims proves refunds, disputes and late money, and what operators decide where nobody knows
// how a call ended. Payouts to merchants are proved in payouts.
package claims
