package pay

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Evidence is a merchant's answer to a claim.
type Evidence struct {
	ID   string        `json:"id"` // ev_…
	Kind string        `json:"kind"`
	Text string        `json:"text,omitempty"`
	File *EvidenceFile `json:"file,omitempty"`
	At   int64         `json:"at"` // microseconds UTC
	// Shut is the text as it is stored, if it cannot be decrypted: it is written back unchanged.
	Shut string `json:"-"`
}

// Same reports whether two pieces of evidence are the same: a text of a kind, or the content of a file of a kind.
func (e Evidence) Same(o Evidence) bool {
	if e.Kind != o.Kind || (e.File == nil) != (o.File == nil) {
		return false
	}
	if e.File != nil {
		return e.File.SHA256 == o.File.SHA256
	}
	return e.Text == o.Text
}

// EvidenceFile describes a file. Its content is a row of its own.
type EvidenceFile struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hex
	Shut   string `json:"-"`      // the name as it is stored, if it cannot be decrypted
}

// File is the content of a piece of evidence.
type File struct {
	ID string // of the evidence
	merchants.Scope
	Claim   string
	Name    string
	Type    string
	Content []byte
	At      time.Time
	// Stored is the content as it is stored. The store sets it.
	Stored string
}

// Limits of evidence.
const (
	// MaxEvidenceFile is the largest file, in bytes. MaxEvidenceText is the same for people.
	MaxEvidenceFile = 10 << 20
	MaxEvidenceText = "10 MiB"
	// MaxEvidenceAtOnce is how many bytes of files one answer of a form may have.
	MaxEvidenceAtOnce = 25 << 20
	// MaxEvidence is the largest number of pieces of evidence on a claim.
	MaxEvidence = 20
)

// Submit adds evidence, with the content of its file if it has one. A claim that needs evidence
// goes to review, and a dispute's state changes on its payment. More evidence may follow until the claim is resolved.
//
// Errors: claim_already_resolved, conflict_state, invalid_request above MaxEvidence pieces.
func (c Claim) Submit(p Payment, e Evidence, content []byte, now time.Time) (Claim, Change, error) {
	to, err := c.After(Submit)
	if err != nil {
		return c, Change{}, err
	}
	if len(c.Evidence) >= MaxEvidence {
		return c, Change{}, problem.New(problem.InvalidRequest, tooMuchEvidence.With(MaxEvidence))
	}
	from := c.Status
	e.At = now.UnixMicro()
	c = c.written(now)
	c.Status, c.DueAt = to, time.Time{}
	c.Evidence = append(slices.Clip(c.Evidence), e)
	if c.Kind == ChargebackClaim {
		c.Defense = c.gather(now)
		c.DueAt = c.lookAgain(now) // the provider is queried about the outcome
	}
	if from != to {
		c = c.step(PartyMerchant, "", now)
	}
	change := Change{Claims: []Claim{c}}
	if next, staged := p.stage(c); staged {
		next.written(&p, now)
		change.Payments = []Payment{next}
	}
	if e.File != nil {
		change.Files = []File{{ID: e.ID, Scope: c.Scope, Claim: c.ID, Name: e.File.Name, Type: e.File.Type, Content: content, At: now}}
	}
	return c, change, nil
}

// Limits on sending evidence. It is several calls, with files.
const (
	// DefenseTimeout bounds all calls of one try, from the first byte to the last.
	DefenseTimeout = 2 * time.Minute
	// defenseSlack is for a node's error about the database's clock.
	defenseSlack = 7 * time.Second
	// defenseTime is the longest time that a try may be under way, counted from its beginning. After defenseLease its node is
	// dead, and the try is repeated.
	defenseTime  = callStart + DefenseTimeout + defenseSlack
	defenseLease = defenseTime + 30*time.Second
	// defenseQuiet is how long no more evidence has come when it is sent. With less than defenseMargin until the deadline it is
	// sent at once.
	defenseQuiet  = 15 * time.Minute
	defenseMargin = time.Hour
	// defenseGrace is for how long evidence is sent that came after the deadline: the provider says whether it is too late.
	defenseGrace = 24 * time.Hour
)

// defensePauses are between tries. Nobody waits at a page for it, and there are days.
var defensePauses = backoff{first: time.Minute, most: time.Hour}

// MayStart reports whether the try that was begun last may still begin, at a time of the database's clock.
func (de Defense) MayStart(now time.Time) bool {
	return now.UnixMicro() <= de.Until-(defenseTime-callStart).Microseconds()
}

// MayGoOn reports whether a call of the try may still leave.
func (de Defense) MayGoOn(now time.Time) bool {
	return now.UnixMicro() <= de.Until-defenseSlack.Microseconds()
}

// gather is the record once more evidence has come. A call that is under way goes on without it.
func (c Claim) gather(now time.Time) Defense {
	d := c.Defense
	d.Since = 0
	if d.State == DefenseSending || d.State == DefenseUnknown {
		return d
	}
	if d.State != DefenseDelayed {
		d.State, d.Tries = DefenseWaiting, 0
	}
	at := now.Add(defenseQuiet)
	if last := c.DueBy.Add(-defenseMargin); at.After(last) {
		at = now
		if last.After(now) {
			at = last
		}
	}
	d.Next = at.UnixMicro()
	return d
}

// DefenseAnswer is the answer of a provider that gets evidence.
type DefenseAnswer struct {
	// Kind is DefenseSubmitted; DefenseRefused: it will never take this; DefenseDelayed: it proved that it has not taken it, and
	// may later; or DefenseUnknown. Any other word counts as unknown.
	Kind    DefenseState
	Reason  string    // of refused: why, for people; never the provider's own name
	Code    string    // the provider's word for it, for the log
	CheckAt time.Time // when to try again, if the provider says so; else zero
}

// Storable returns an answer as it can be stored.
func (a DefenseAnswer) Storable() DefenseAnswer {
	a.Reason, a.Code = storableText(a.Reason, longestText), storableText(a.Code, longestCode)
	switch a.Kind {
	case DefenseSubmitted, DefenseRefused, DefenseDelayed:
	default:
		a.Kind = DefenseUnknown
	}
	return a
}

// Filing decides about sending a dispute's evidence. Nothing of it moves money.
type Filing struct {
	Claim Claim
	By    Caller // who makes the next call
	Now   time.Time
}

// Due reports whether the evidence has to be sent now.
func (f Filing) Due() bool {
	d := f.Claim.Defense
	return !f.Claim.Status.Terminal() && d.State.UnderWay() && d.Next != 0 && d.Next <= f.Now.UnixMicro() && !d.OnItsWay(f.By.At)
}

// Reference is our name of the submission at the provider: if it is sent twice, the provider takes it once. Another submission has more
// pieces, and so the same name always has the same contents.
func (f Filing) Reference() string { return f.Claim.submission() }

// end is until when the evidence is sent.
func (f Filing) end() time.Time {
	c := f.Claim
	last := time.UnixMicro(c.Evidence[len(c.Evidence)-1].At)
	if last.Before(c.DueBy) {
		return c.DueBy
	}
	return last.Add(defenseGrace)
}

// Begin is the intent of one try. begun is false if there is nothing to send now: another node was first, or the time is over, which
// is then the operator's task. At least one try is made, however late.
func (f Filing) Begin() (c Claim, change Change, begun bool) {
	c = f.Claim
	if !f.Due() {
		return c, Change{}, false
	}
	if c.Defense.Tries > 0 && !f.Now.Before(f.end()) {
		c, change = f.missed()
		return c, change, false
	}
	c = c.written(f.Now)
	d := &c.Defense
	switch {
	case d.State == DefenseWaiting, d.State == DefenseDelayed && d.Pieces < len(c.Evidence):
		d.Pieces, d.Unsure, d.Flight = len(c.Evidence), false, Flight{}
	case d.State == DefenseSending, d.State == DefenseUnknown:
		d.Unsure = true
	}
	d.State, d.Tries, d.Next = DefenseSending, d.Tries+1, f.Now.Add(defenseLease).UnixMicro()
	if d.Calls++; !f.By.At.IsZero() {
		d.Until = f.By.At.Add(defenseTime).UnixMicro()
	}
	return f.put(c)
}

// put is the Change that writes a claim whose evidence is sent now.
func (f Filing) put(c Claim) (Claim, Change, bool) {
	c.DueAt = c.lookAgain(f.Now)
	return c, Change{Claims: []Claim{c}}, true
}

// ApplyEvidenceAnswer applies the answer to a try; before is the record as it was at the call. If the try was repeated meanwhile, or the operator has
// submitted the evidence, only "submitted" counts.
func (f Filing) ApplyEvidenceAnswer(before Defense, a DefenseAnswer) (Claim, Change) {
	c, d := f.Claim, f.Claim.Defense
	current := d.State == DefenseSending && d.Pieces == before.Pieces && d.Calls == before.Calls
	if c.Status.Terminal() || !current && (a.Kind != DefenseSubmitted || d.Sent >= before.Pieces) {
		return c, Change{}
	}
	c = c.written(f.Now)
	switch a.Kind {
	case DefenseSubmitted:
		c = f.settle(c, before.Pieces)
	case DefenseRefused:
		c.Defense.State, c.Defense.Next, c.Defense.Since = DefenseRefused, 0, f.Now.UnixMicro()
		note := "the evidence was refused"
		if a.Reason != "" {
			note += ": " + a.Reason
		}
		c = c.step(PartyProvider, note, f.Now)
		if c.Defense.Pieces < len(c.Evidence) { // what came since may be taken
			c.Defense = c.gather(f.Now)
		}
	case DefenseDelayed:
		if c.Defense.State = DefenseDelayed; d.Unsure {
			c.Defense.State = DefenseUnknown
		}
		c.Defense.Next = f.again(a.CheckAt)
	default:
		c.Defense.State, c.Defense.Unsure = DefenseUnknown, true
		c.Defense.Next = f.again(a.CheckAt)
	}
	c, change, _ := f.put(c)
	return c, change
}

// settle records that the provider has the first pieces. More may have come since.
func (f Filing) settle(c Claim, pieces int) Claim {
	carried := c.Defense.State == DefenseByHand
	c.Defense.Sent = max(c.Defense.Sent, pieces)
	if !carried {
		c.Defense.State, c.Defense.Next, c.Defense.Since = DefenseSubmitted, 0, 0
		c = c.step(PartyProvider, "the evidence was submitted", f.Now)
	}
	if c.Defense.Sent < len(c.Evidence) {
		c.Defense = c.gather(f.Now)
	}
	return c
}

// again is when to try again: with growing pauses, which become shorter before the end.
func (f Filing) again(asked time.Time) int64 {
	left := f.end().Sub(f.Now)
	at := f.Now.Add(min(defensePauses.after(f.Claim.Defense.Tries), max(defensePauses.first, left/2)))
	if asked.After(at) && asked.Before(f.end()) {
		at = asked
	}
	return at.UnixMicro()
}

// Postpone records that no call could be made: the account is not there or not asked now, or a piece of evidence cannot be read.
func (f Filing) Postpone() (Claim, Change) {
	c := f.Claim
	if !f.Due() {
		return c, Change{}
	}
	if !f.Now.Before(f.end()) {
		return f.missed()
	}
	c = c.written(f.Now)
	d := &c.Defense
	if d.State == DefenseSending {
		d.State, d.Unsure = DefenseUnknown, true
	}
	d.Tries++
	d.Next = f.again(time.Time{})
	c, change, _ := f.put(c)
	return c, change
}

// missed gives the evidence to the operator: the time is over.
func (f Filing) missed() (Claim, Change) {
	c := f.Claim.written(f.Now)
	note := "the evidence could not be submitted in time"
	if d := c.Defense; d.Unsure || d.State == DefenseSending || d.State == DefenseUnknown {
		note = "it is not known whether the evidence was submitted in time"
		c.Defense.Unsure = true
	}
	c.Defense.State, c.Defense.Next, c.Defense.Since = DefenseMissed, 0, f.Now.UnixMicro()
	c = c.step(PartySystem, note, f.Now)
	c, change, _ := f.put(c)
	return c, change
}

// Manual gives the evidence to the operator: the provider has no call for it.
func (f Filing) Manual() (Claim, Change) {
	if !f.Due() {
		return f.Claim, Change{}
	}
	c := f.Claim.written(f.Now)
	c.Defense.State, c.Defense.Next, c.Defense.Since = DefenseManual, 0, f.Now.UnixMicro()
	c, change, _ := f.put(c)
	return c, change
}

// Carried records that the operator has submitted the evidence.
//
// Errors: claim_already_resolved; conflict_state if the claim is no dispute, or has no evidence.
func (f Filing) Carried(note string) (Claim, Change, error) {
	c := f.Claim
	switch _, err := c.After(Submit); {
	case err != nil:
		return c, Change{}, err
	case c.Kind != ChargebackClaim || len(c.Evidence) == 0:
		return c, Change{}, &problem.Error{Code: problem.ConflictState, Reason: onlyDisputeEvidence,
			Details: problem.Details{From: string(c.Status), Action: "carried"}}
	}
	c = c.written(f.Now)
	c.Defense.State, c.Defense.Sent, c.Defense.Next, c.Defense.Since = DefenseByHand, len(c.Evidence), 0, 0
	c = c.step(PartyOperator, note, f.Now)
	c, change, _ := f.put(c)
	return c, change, nil
}
