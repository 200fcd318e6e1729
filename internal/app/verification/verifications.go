// Package verification verifies merchants' identities: the submission of documents and the decision. It checks no shopper.
package verification

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Verifications verifies merchants.
type Verifications struct{ *base.Base }

// New returns the verifications of a service.
func New(b *base.Base) *Verifications { return &Verifications{b} }

// NewVerification is a request for a verification.
type NewVerification struct {
	Level     merchants.KYCLevel
	Subject   merchants.KYCSubject
	ReturnURL string
}

// Start begins a verification of a merchant in an environment, or returns the open one; made: it is
// new.
func (ve *Verifications) Start(ctx context.Context, by base.Principal, n NewVerification) (v merchants.Verification, made bool, err error) {
	scope := merchants.Scope{Merchant: by.Merchant, Live: by.Live}
	err = base.Again(func() error {
		open, err := ve.Store.Verifications().Open(ctx, scope)
		now := ve.TimeOf(scope)
		if err == nil && (open.Status != merchants.KYCRequiresInput || now.Before(open.ExpiresAt)) {
			v, made = open, false
			return nil
		}
		if err == nil { // the verification has expired, and that is not written yet
			if err := ve.move(ctx, ve.Self(), open, merchants.KYCExpired, "", ""); err != nil {
				return err
			}
			return store.ErrStale
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		next := merchants.Verification{
			ID: ve.NewID(merchants.VerificationPrefix, now), Scope: scope, Level: n.Level, Subject: n.Subject, ReturnURL: n.ReturnURL,
		}
		v, made = next.Start(now), true
		err = ve.Store.Commit(ctx, pay.Change{
			Verifications: []merchants.Verification{v},
			Audit:         ve.Audited(by.Actor(), scope, audit.VerificationStarted, v.ID, map[string]string{"level": string(n.Level)}),
		})
		if errors.Is(err, store.ErrDuplicate) {
			return store.ErrStale // another request was first: read its verification
		}
		return err
	})
	return v, made, err
}

// Get reads a verification of the merchant.
//
// Errors: not_found, also for another merchant's verification.
func (ve *Verifications) Get(ctx context.Context, scope merchants.Scope, id string) (merchants.Verification, error) {
	return base.Named(id, base.Missing(problem.NotFound, scope, id), func() (merchants.Verification, error) { return ve.Store.Verifications().Get(ctx, scope, id) })
}

// Any reads a verification of any merchant, for the operator.
//
// Errors: store.ErrNotFound.
func (ve *Verifications) Any(ctx context.Context, id string) (merchants.Verification, error) {
	return ve.Store.Verifications().Any(ctx, id)
}

// Simulate moves a sandbox verification at the merchant's request.
//
// Errors: production_key_refused, not_found, conflict_state.
func (ve *Verifications) Simulate(ctx context.Context, by base.Principal, id string, to merchants.VerificationStatus) (merchants.Verification, error) {
	if by.Live {
		return merchants.Verification{}, merchants.NoSimulation("")
	}
	var v merchants.Verification
	err := base.Again(func() error {
		read, err := ve.Get(ctx, by.Scope, id)
		if err != nil {
			return err
		}
		if err := ve.move(ctx, by.Actor(), read, to, "document_unreadable", "simulated: a document cannot be read"); err != nil {
			return err
		}
		v, err = ve.Get(ctx, by.Scope, id)
		return err
	})
	return v, err
}

// Page reads the verification of a page. Whoever has the page's address may read it and submit
// documents.
//
// Errors: not_found, also for a wrong token.
func (ve *Verifications) Page(ctx context.Context, id, token string) (merchants.Verification, error) {
	missing := problem.New(problem.NotFound, noVerification)
	if !base.Storable(id) || !hmac.Equal([]byte(token), []byte(ve.pageToken(id))) {
		return merchants.Verification{}, missing
	}
	v, err := ve.Store.Verifications().Any(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return v, missing
	}
	return v, err
}

// HandIn records that the merchant has submitted documents.
//
// Errors: those of Page; conflict_state.
func (ve *Verifications) HandIn(ctx context.Context, id, token string) (merchants.Verification, error) {
	var v merchants.Verification
	err := base.Again(func() error {
		var err error
		if v, err = ve.Page(ctx, id, token); err != nil {
			return err
		}
		return ve.move(ctx, ve.Self(), v, merchants.KYCProcessing, "", "")
	})
	return v, err
}

// Decide applies the operator's decision: verified or rejected, with the reason that the merchant
// sees.
//
// Errors: store.ErrNotFound, conflict_state.
func (ve *Verifications) Decide(ctx context.Context, by audit.Actor, id string, to merchants.VerificationStatus, code, message string) error {
	return base.Again(func() error {
		v, err := ve.Store.Verifications().Any(ctx, id)
		if err != nil {
			return fmt.Errorf("verification %s: %w", id, err)
		}
		return ve.move(ctx, by, v, to, code, message)
	})
}

// List lists the newest verifications of all merchants for the operator.
func (ve *Verifications) List(ctx context.Context, status merchants.VerificationStatus, merchant string, limit int) ([]merchants.Verification, error) {
	return ve.Store.Verifications().List(ctx, status, merchant, "", limit)
}

func (ve *Verifications) move(ctx context.Context, by audit.Actor, v merchants.Verification, to merchants.VerificationStatus, code, message string) error {
	next, err := v.Move(to, code, message, ve.TimeOf(v.Scope))
	if err != nil {
		return err
	}
	return ve.Store.Commit(ctx, pay.Change{
		Verifications: []merchants.Verification{next},
		Audit:         ve.Noted(by, v.Scope, audit.VerificationMoved, v.ID, message, map[string]string{"from": string(v.Status), "to": string(to)}),
	})
}

// ExpireVerifications ends verifications whose documents were not submitted in time. It returns how
// many it leased. Doing one twice is harmless.
func (ve *Verifications) ExpireVerifications(ctx context.Context) (int, error) {
	now := ve.Now()
	due, err := ve.Store.Verifications().Lease(ctx, now, now.Add(pay.SweepLease), base.SweepBatch)
	if err != nil {
		return 0, err
	}
	for _, v := range due {
		// Stale: documents were submitted meanwhile.
		if err := ve.move(ctx, ve.Self(), v, merchants.KYCExpired, "", ""); err != nil && !errors.Is(err, store.ErrStale) {
			return len(due), fmt.Errorf("expire verification %s: %w", v.ID, err)
		}
	}
	return len(due), nil
}

// VerificationURL is the address of a verification's page. It contains a token, so that it cannot
// be guessed.
func (ve *Verifications) VerificationURL(id string) string {
	return ve.CheckoutURL + "/kyc/" + id + "?token=" + ve.pageToken(id)
}

func (ve *Verifications) pageToken(id string) string {
	return ve.Vault.Hash("verification page/" + id)[:32]
}
