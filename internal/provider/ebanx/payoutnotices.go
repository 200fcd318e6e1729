package ebanx

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Notices reads a notification: a signed form that names hash codes. The key that signs is
// the same for all of EBANX's customers, so each payout is queried.
func (p *payer) Notices(ctx context.Context, n provider.Notification) ([]pay.PayoutNotice, error) {
	if !p.account.signed(n) {
		return nil, provider.ErrUnsigned
	}
	fields, err := url.ParseQuery(string(n.Body))
	if err != nil {
		return nil, fmt.Errorf("ebanx notification: %w", err)
	}
	operation := fields.Get("operation")
	if strings.HasPrefix(operation, "payment") {
		return nil, nil // about a charge: a dashboard has one address for both
	}
	hashes := hashCodes(fields)
	switch {
	case len(hashes) == 0:
		p.account.Strange("notification", operation)
		return nil, nil
	case len(hashes) > maxHashes:
		return nil, errors.New("ebanx notification: too many hashes")
	}
	var list []pay.PayoutNotice
	for _, hash := range hashes {
		if !payoutUID.MatchString(hash) {
			return nil, errors.New("ebanx notification: no hash")
		}
		found, state := p.find(ctx, "uid", hash)
		switch {
		case state == gone:
			continue // not ours
		case state != there, !found.about(provider.Exact(found.Reference, 40), hash):
			return nil, fmt.Errorf("ebanx: payout of the notification: %w", provider.ErrUnreachable)
		}
		o := p.outcome(found)
		if _, _, ours := pay.ParsePayoutReference(found.Reference); !ours || o.Kind == pay.PayoutAccepted { // or nothing new
			continue
		}
		list = append(list, pay.PayoutNotice{
			ID:        "payout:" + hash + ":" + string(o.Kind) + ":" + provider.Exact(found.Status, 8),
			Reference: found.Reference, ProviderRef: hash, Outcome: o, Body: n.Body,
		})
	}
	return list, nil
}

// hashCodes are those that a notification names. The name of their field is cut off in
// every copy of the documents; for charges it is hash_codes, with commas.
func hashCodes(fields url.Values) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !strings.Contains(strings.ToLower(name), "hash") {
			continue
		}
		for _, value := range fields[name] {
			list = append(list, strings.Split(value, ",")...)
		}
	}
	return list
}
