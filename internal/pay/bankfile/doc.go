// Package bankfile writes a batch of payouts as a file in a bank's layout, and reads the
// bank's answer. It knows four families: CSV with columns that the operator names, CNAB 240
// (Brazil: FEBRABAN's, and SISPAG, which is Itaú's own), BBVA's interbank file (SPEI, Mexico),
// and ISO 20022 (pain.001 out; pain.002 and camt.054 in).
//
// It is pure: no database, no network, no clock. The same batch gives the same bytes. It
// does not decide what an answer means for a payout: the caller finds the payout by its
// reference and compares the amount.
//
// A file is read whole or not at all. An undocumented code of a bank's is Pending, so that
// no payout is paid twice or reported wrongly.
package bankfile
