// Package payouts proves how merchants get their money: balances, settlements, wallets, withdrawals,
// floats, files for banks, and verifications. The room claims proves refunds to shoppers.
package payouts
