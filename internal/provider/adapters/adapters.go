// Package adapters is the list of the providers that the operator may open
// accounts at. It knows their packages and nothing of what is in them.
package adapters

import "github.com/cascadapay/cascada/internal/provider"

// All lists the adapters by name.
func All() []provider.Adapter {
	return []provider.Adapter{}
}
