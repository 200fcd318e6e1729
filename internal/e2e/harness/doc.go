// Package harness is what the end-to-end tests share: a running service with a clock that a test moves, a
// shop's client, a webhook receiver, providers and banks that a test plays, and the check of every reply
// against the OpenAPI document. Only tests use it; it proves nothing by itself.
package harness
