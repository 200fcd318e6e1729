// Package payouts proves how merchants get their money: balances, settlements, wallets, withdrawals, floats, files
// for banks, and the verification that comes before. Money back to shoppers is in claims.
package payouts
