package pay

import (
	"slices"
	"time"
)

// Evidence is what a merchant says against a claim.
type Evidence struct {
	ID   string        `json:"id"` // ev_…
	Kind string        `json:"kind"`
	Text string        `json:"text,omitempty"`
	File *EvidenceFile `json:"file,omitempty"`
	At   int64         `json:"at"` // microseconds UTC
	// Shut is the text as it is stored, where it cannot be opened: so it is kept.
	Shut string `json:"-"`
}

// EvidenceFile tells of a file; its content is a row of its own.
type EvidenceFile struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hex
	Shut   string `json:"-"`      // the name as it is stored, where it cannot be opened
}

// File is the content of a piece of evidence.
type File struct {
	ID string // of the evidence
	Scope
	Claim   string
	Name    string
	Type    string
	Content []byte
	At      time.Time
	// Sealed is the content as it is stored, once the store has made it.
	Sealed string
}

// Limits of evidence.
const (
	// MaxEvidenceFile is the largest file, in bytes.
	MaxEvidenceFile = 10 << 20
	// maxEvidence is how many pieces a claim takes.
	maxEvidence = 20
)

// Submit adds evidence, with the content of its file where it has one. It moves
// a claim that needs evidence to review; more may follow until it is resolved.
//
// Errors: claim_already_resolved, conflict_state, invalid_request above the
// number of pieces that a claim takes.
func (c Claim) Submit(e Evidence, content []byte, now time.Time) (Claim, Change, error) {
	to, err := c.After(Submit)
	if err != nil {
		return c, Change{}, err
	}
	if len(c.Evidence) >= maxEvidence {
		return c, Change{}, NewError(CodeInvalidRequest, "a claim takes at most 20 pieces of evidence")
	}
	from := c.Status
	e.At = now.UnixMicro()
	c = c.written(now)
	c.Status, c.DueAt = to, time.Time{}
	if c.Kind == ChargebackClaim {
		c.DueAt = c.lookAgain(now) // the provider is asked what becomes of it
	}
	c.Evidence = append(slices.Clip(c.Evidence), e)
	if from != to {
		c = c.step(PartyMerchant, "", now)
	}
	change := Change{Claims: []Claim{c}}
	if e.File != nil {
		change.Files = []File{{ID: e.ID, Scope: c.Scope, Claim: c.ID, Name: e.File.Name, Type: e.File.Type, Content: content, At: now}}
	}
	return c, change, nil
}
