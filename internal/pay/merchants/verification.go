package merchants

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// VerificationPrefix begins the id of a verification.
const VerificationPrefix = "kyc_"

// KYCLevel is how thoroughly a merchant is verified.
type KYCLevel string

// The levels; the second includes the first.
const (
	KYCBasic    KYCLevel = "basic"
	KYCEnhanced KYCLevel = "enhanced"
)

// Covers reports whether level l includes the level need.
func (l KYCLevel) Covers(need KYCLevel) bool { return l == need || l == KYCEnhanced }

// KYCSubject says whether a person or a company is verified.
type KYCSubject string

// The subjects.
const (
	Individual KYCSubject = "individual"
	Company    KYCSubject = "company"
)

// VerificationStatus is the state of a verification.
type VerificationStatus string

// States of a verification (KYC-2). The first two are open. A merchant has at most one open
// verification.
const (
	KYCRequiresInput VerificationStatus = "requires_input"
	KYCProcessing    VerificationStatus = "processing"
	KYCVerified      VerificationStatus = "verified"
	KYCRejected      VerificationStatus = "rejected"
	KYCExpired       VerificationStatus = "expired"
)

// VerificationWindow is how long a merchant has to submit documents.
const VerificationWindow = 7 * 24 * time.Hour

// MaxRejection is the longest text that says why documents are rejected, in characters: the merchant reads it.
const MaxRejection = 500

// Verification is one attempt to verify who a merchant is. It belongs to the
// merchant in an environment, not to a shop: its scope has none.
type Verification struct {
	ID string // kyc_…
	Scope
	Version      int64
	Level        KYCLevel
	Subject      KYCSubject
	Status       VerificationStatus
	ReturnURL    string
	ErrorCode    string // why it was rejected
	ErrorMessage string
	ExpiresAt    time.Time
	DueAt        time.Time // ExpiresAt while it waits for documents, else zero
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Open reports whether it has not ended yet.
func (v Verification) Open() bool {
	return v.Status == KYCRequiresInput || v.Status == KYCProcessing
}

// Start opens a verification that waits for the merchant's documents.
func (v Verification) Start(now time.Time) Verification {
	v.Scope.Shop = ""
	v.Version, v.Status, v.CreatedAt, v.UpdatedAt = 1, KYCRequiresInput, now, now
	v.ExpiresAt = now.Add(VerificationWindow)
	v.DueAt = v.ExpiresAt
	return v
}

// Move changes the state of a verification: processing once the documents are submitted, verified
// or rejected after the decision, expired if no documents came. code and message say why it was
// rejected.
//
// Errors: conflict_state, invalid_request for a message that is too long.
func (v Verification) Move(to VerificationStatus, code, message string, now time.Time) (Verification, error) {
	ok := false
	switch to {
	case KYCProcessing:
		ok = v.Status == KYCRequiresInput && now.Before(v.ExpiresAt)
	case KYCExpired:
		ok = v.Status == KYCRequiresInput
	case KYCVerified, KYCRejected:
		ok = v.Open()
	}
	if !ok {
		return v, &problem.Error{Code: problem.ConflictState, Reason: verificationStep.With(v.Status, to),
			Details: problem.Details{From: string(v.Status), Action: string(to)}}
	}
	if err := problem.Fit(problem.Text{Param: "message", Text: message, Most: MaxRejection}); err != nil {
		return v, err
	}
	v.Version++
	v.Status, v.UpdatedAt, v.DueAt = to, now, time.Time{}
	if to == KYCRejected {
		v.ErrorCode, v.ErrorMessage = code, message
	}
	return v, nil
}

// Documents lists what the merchant has to submit.
func (v Verification) Documents() []string {
	var list []string
	if v.Subject == Company {
		list = []string{"registration_certificate", "tax_registration", "representative_identity_document"}
	} else {
		list = []string{"identity_document", "proof_of_address"}
	}
	if v.Level == KYCEnhanced {
		if v.Subject == Company {
			list = append(list, "beneficial_owners", "proof_of_address")
		}
		list = append(list, "source_of_funds")
	}
	return list
}
