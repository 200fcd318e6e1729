// Package e2e proves the service from outside: it starts the daemon on each
// engine and speaks HTTP to it, as a shop, a provider and a webhook receiver do.
//
// It is tests only. It knows the rules (docs/RULES.md), not
// how the service keeps them; rules of one package are tested in that package.
package e2e
