package webhooks

import (
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/packed"
	"github.com/cascadapay/cascada/internal/store/table"
)

// encrypted begins a payload that is encrypted. What follows is encrypted as packed.Pack returned it.
const encrypted = 0x80

// storedPayload is an event's payload as stored. Payloads of claims contain evidence, so they are encrypted.
func storedPayload(p table.Personal, e *pay.Event) []byte {
	stored := packed.Pack(e.Payload, objectOf(e.ID), e.Merchant, e.Shop)
	if p.Cipher == nil || len(stored) == 0 || !strings.HasPrefix(e.Object, pay.ClaimPrefix) {
		return stored
	}
	return append([]byte{encrypted}, p.Cipher.EncryptData(table.EventPayload.About(e.ID), stored)...)
}

// openPayload reverses storedPayload for the event with an id.
//
// Errors: table.ErrShut, with the row.
func openPayload(p table.Personal, scope merchants.Scope, id string, stored []byte) ([]byte, error) {
	about := table.EventPayload.About(id)
	if len(stored) > 0 && stored[0] == encrypted {
		if p.Cipher == nil {
			return nil, fmt.Errorf("%w: %s: there is no key", table.ErrShut, about)
		}
		opened, err := p.Cipher.DecryptData(about, stored[1:])
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", table.ErrShut, about, err)
		}
		stored = opened
	}
	payload, err := packed.Unpack(stored, objectOf(id), scope.Merchant, scope.Shop)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", table.ErrShut, about, err)
	}
	return payload, nil
}

// objectOf is the part of an event's id that its object's id has too.
func objectOf(event string) string {
	_, of, _ := strings.Cut(event, "_")
	of, _, _ = strings.Cut(of, "-")
	return of
}
