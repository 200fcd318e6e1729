// Package providers has the commands about accounts at providers: their settings and credentials, the
// rules by which payments go to them, why a payment went where it did, and what providers have told.
// It ends no payment.
package providers
