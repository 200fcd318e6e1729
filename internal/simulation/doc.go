// Package simulation runs whole worlds: nodes of the real service on one database,
// with shops, shoppers, providers, receivers of webhooks and operators around them,
// in virtual time and from one seed. The same things go wrong in them as in production:
// commits whose reply is lost, nodes that stall or die, providers that time out. At
// the end everything heals, days pass, and everybody's books must agree.
//
// It has only tests. docs/TESTING.md says how to run it and what a world contains.
package simulation
