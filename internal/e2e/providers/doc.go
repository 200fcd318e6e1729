// Package providers tests how payments reach providers and how their outcomes come back: accounts,
// routing, rates, notifications, and outages of a provider, a node or the database. Calls that an
// operator must resolve are in package claims.
package providers
