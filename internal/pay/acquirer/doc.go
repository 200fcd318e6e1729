// Package acquirer is who takes payments for us: accounts at providers, the rails that they serve, what those cost and between which bounds, and the operator's routing rules.
package acquirer
