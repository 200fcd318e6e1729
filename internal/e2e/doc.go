// Package e2e holds the tests that prove the service from outside: they start the daemon on each
// engine and speak HTTP to it, as a shop, a provider and a webhook receiver do.
//
// It is tests only, in a room for each capability: payments, providers, claims, payouts, webhooks,
// checkout, access, docs. What several rooms use is in harness. A test goes to the room of what it
// proves. Tests know the rules (docs/RULES.md), not how the service keeps them; rules of one
// package are tested in that package.
package e2e
