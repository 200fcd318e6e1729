// Package accounts describes who takes payments for us: accounts at providers, their rails, prices
// and limits, and the operator's routing rules.
package accounts
