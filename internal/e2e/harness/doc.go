// Package harness is shared by the end-to-end tests. It has a running service with a clock that the
// test moves, a shop's client, a webhook receiver, and providers and banks that the test controls.
// It checks every reply against the OpenAPI document.
package harness
