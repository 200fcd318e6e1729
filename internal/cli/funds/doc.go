// Package funds has the commands by which an operator moves money or says what became of it: payouts
// with their floats and limits, rulings on payments, withdrawals and claims, and exchange rates.
// It decides nothing: each ruling is a use case.
package funds
