// Package checkout proves the shopper's pages and sessions, many of them in a real browser. The room
// payments proves payments over the API.
package checkout
