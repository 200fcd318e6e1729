// Package e2e proves the service from outside: it starts the daemon on each
// engine and speaks HTTP to it, as a shop, a provider and a webhook receiver do.
//
// It is tests only. It knows the contract and what it leaves open (gaps), not
// how the service keeps them; rules of one package are tested in that package.
package e2e
