// Package analytics says what is counted of payments and checkouts. A Fact is what is counted of one payment that
// ended, or of one step of a checkout. Totals add facts up by day, along each Dimension.
//
// A fact is written in the transaction of what it tells. A payment ends once, so it has one fact, which never
// changes: refunds and disputes leave the payment paid. A fact names no person.
package analytics
