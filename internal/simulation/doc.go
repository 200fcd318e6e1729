// Package simulation runs whole worlds: nodes of the real service on one database,
// with shops, shoppers, providers, receivers of webhooks and operators around them,
// in virtual time and from one seed. Things go wrong in them as they do outside:
// commits whose reply is lost, nodes that stall or die, providers that time out. At
// the end everything heals, days pass, and the books of all must agree.
//
// It is made of tests only. docs/TESTING.md says how to run it and what a world has.
package simulation
