// Package providers has the commands about accounts at providers: their settings and credentials, the
// routing rules that choose them for payments, why a payment went where it went, and notifications from
// providers. It ends no payment.
package providers
