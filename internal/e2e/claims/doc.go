// Package claims proves refunds, disputes and late money, and how operators resolve calls with an
// unknown outcome. The room payouts proves payouts to merchants.
package claims
