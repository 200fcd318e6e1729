// Package funds has the commands with which an operator moves money or resolves what no provider
// ends: payouts with their floats and limits; payments, withdrawals and claims; exchange rates. It
// decides nothing: use cases do.
package funds
