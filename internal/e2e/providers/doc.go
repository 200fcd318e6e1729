// Package providers proves how payments reach providers and come back: accounts, routing, rates, notifications,
// and what happens while a provider, a node or the database is away. Calls that an operator has to decide about are in claims.
package providers
