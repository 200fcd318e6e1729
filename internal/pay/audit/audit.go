package audit

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Prefix begins the id of an audit entry.
const Prefix = "aud_"

// Entry records who did what. It is written in the same Change as the act, and never changed. It
// holds no secret.
type Entry struct {
	ID string // aud_…, ordered by time
	// Scope is the owner. Shop is empty if the act concerns the whole merchant. An act that
	// concerns both environments is written with production.
	merchants.Scope
	By      Actor
	Act     Act
	Object  string // id of the object of the act
	Details map[string]string
	// Salt keeps the commitment to By.IP from being guessed: see Commitment.
	Salt string
	// Note is what an operator wrote; readers get it as a detail. It is erased with the person whom
	// it is about: the entry keeps a commitment to it.
	Note string
	// At is the service's clock, also in a sandbox whose test clock was moved: it is the real time
	// of the act.
	At time.Time
}

// Filter says which entries are listed. Empty fields match everything.
type Filter struct {
	Merchant string
	Object   string // id
	Act      Act
	Before   string // the id of the entry before which the list begins
}

// Actor is who did something, and from where.
type Actor struct {
	Kind    ActorKind
	ID      string // the key's or the user's id, the operator's user@host or name, the provider account's id
	IP      string // of the request; "" if there is none
	Request string // req_…; "" if there is none
	Agent   string // the browser of a user, as it calls itself; the audit log does not keep it
}

// Decisions lists the acts by which operators decide what waits for a person.
func Decisions() []Act {
	return []Act{WithdrawalApproved, WithdrawalResolved, ClaimResolved, EvidenceCarried, RefundBooked, NotificationClosed, VerificationMoved, PaymentResolved, AdjustmentApproved, AdjustmentRejected}
}

// MerchantFilter selects entries of one merchant. Empty fields select everything.
type MerchantFilter struct {
	Kind     ActorKind
	Actor    string    // the id of who did it
	From, To time.Time // To is exclusive
	After    string    // the entry before the page: it begins with the next older one
	Limit    int
}

// ActorKind is the type of an actor.
type ActorKind string

// ActorKinds lists them all.
func ActorKinds() []ActorKind { return []ActorKind{ByUser, ByKey, ByOperator, ByProvider, BySystem} }

// Kinds of actors.
const (
	ByKey      ActorKind = "key"      // a merchant's program with an API key
	ByUser     ActorKind = "user"     // a person who is signed in to the dashboard
	ByOperator ActorKind = "operator" // a person at the command line or with an admin API token
	BySystem   ActorKind = "system"   // the service itself
	ByProvider ActorKind = "provider" // a provider's notification or answer
)

// Act names what was done: object.verb.
type Act string

// Shared lists the objects whose acts concern both environments. They are written with production, and a sandbox's
// readers see them too.
func Shared() []string { return []string{"link", "merchant", "shop", "user"} }

// The acts of the audit log.
const (
	MerchantCreated Act = "merchant.created"
	MerchantTermed  Act = "merchant.terms_changed"
	MerchantMoved   Act = "merchant.email_changed"
	MerchantPaused  Act = "merchant.paused"
	MerchantResumed Act = "merchant.resumed"
	MerchantClosed  Act = "merchant.closed"
	MerchantReopen  Act = "merchant.reopened"
	MerchantErased  Act = "merchant.erased"
	MerchantExport  Act = "merchant.exported"
	SandboxSwitched Act = "merchant.sandbox_switched"
	ShopCreated     Act = "shop.created"
	MerchantSpeaks  Act = "merchant.language_changed"
	ShopRebranded   Act = "shop.rebranded"
	ShopRenamed     Act = "shop.renamed"
	ShopSchemes     Act = "shop.schemes_changed"
	KeyCreated      Act = "key.created"
	KeyRevoked      Act = "key.revoked"
	KeyUsedAnew     Act = "key.new_address" // the key was used from a new address
	LoginCreated    Act = "login.created"
	LoginRefused    Act = "login.refused" // the key is known, but the secret is wrong
	LoginRevoked    Act = "login.revoked" // logout, by the operator, or because a refresh token was used twice
	LoginsRevoked   Act = "logins.revoked"
	WebhookCreated  Act = "webhook.created"
	WebhookDeleted  Act = "webhook.deleted"
	WebhookDisabled Act = "webhook.disabled"

	WebhookUpdated    Act = "webhook.updated"
	WebhookRotated    Act = "webhook.rotated"
	DeliveryReplayed  Act = "delivery.replayed"
	SandboxChanged    Act = "sandbox.changed"
	ClockMoved        Act = "sandbox.clock_moved" // the test clock
	SandboxReset      Act = "sandbox.reset"       // somebody began to empty it
	SandboxEmptied    Act = "sandbox.emptied"     // that is done
	EventsReplayed    Act = "webhook.replayed"    // the events of a span of time were sent again
	ReplayCutShort    Act = "webhook.replay_stopped"
	RefundOpened      Act = "refund.opened"
	RefundBooked      Act = "refund.booked" // the operator booked one that was made already
	EvidenceSubmitted Act = "claim.evidence_submitted"
	EvidenceCarried   Act = "claim.evidence_carried" // the operator submitted it at the provider
	ClaimAccepted     Act = "claim.accepted"         // the merchant accepted the claim
	ClaimResolved     Act = "claim.ruled"            // the operator resolved it

	WalletCreated       Act = "wallet.created"
	WalletDeleted       Act = "wallet.deleted"
	WalletRevealed      Act = "wallet.revealed" // an operator read the unmasked destination
	WithdrawalCreated   Act = "withdrawal.created"
	WithdrawalGivenUp   Act = "withdrawal.canceled"
	VerificationStarted Act = "verification.started"
	VerificationMoved   Act = "verification.moved" // decided, or simulated in the sandbox
	SettlementPaid      Act = "settlement.paid"
	AdjustmentMade      Act = "adjustment.created"
	AdjustmentApproved  Act = "adjustment.approved"
	AdjustmentRejected  Act = "adjustment.rejected"

	ProviderAdded    Act = "provider.added"
	ProviderChanged  Act = "provider.changed"
	ProviderRotated  Act = "provider.rotated"
	ProviderEnabled  Act = "provider.enabled"
	ProviderDisabled Act = "provider.disabled"
	ProviderRemoved  Act = "provider.removed"
	ProviderForgot   Act = "provider.credentials_forgotten" // the previous credentials, after a rotation

	ShopperErased   Act = "shopper.erased" // from a payment or a checkout session
	ShopperExported Act = "shopper.exported"

	PaymentCreated     Act = "payment.created"  // by a person; what programs do is not noted
	PaymentCanceled    Act = "payment.canceled" // by a person
	ReceiptSent        Act = "receipt.sent"     // by a person, to the shopper
	LinkOpened         Act = "payment_link.created"
	LinkEnded          Act = "payment_link.closed"
	LinkReopened       Act = "payment_link.reopened"
	LinkProlonged      Act = "payment_link.prolonged" // an open one got another end
	PaymentResolved    Act = "payment.ruled"          // the operator resolved it
	WithdrawalResolved Act = "withdrawal.ruled"       // the operator resolved it

	PayoutsLimited     Act = "payouts.limited" // limits changed, or payouts stopped or resumed
	FloatEntered       Act = "payout_float.entered"
	WithdrawalApproved Act = "withdrawal.approved"

	BatchCreated Act = "payout_batch.created"
	BatchAgreed  Act = "payout_batch.approved"
	BatchTaken   Act = "payout_batch.exported" // every export is logged
	BatchGivenUp Act = "payout_batch.dissolved"
	AnswersRead  Act = "payout_answers.imported"

	NotificationClosed Act = "notification.closed" // a notification that did not fit its payment
	ProviderReconciled Act = "provider.reconciled" // the provider's report was compared with the books
	OperatorAdded      Act = "operator.added"      // a new admin API operator
	OperatorRemoved    Act = "operator.removed"
	OperatorChanged    Act = "operator.changed" // another role

	DualControlChanged Act = "dual_control.changed" // what needs two operators
	ProposalMade       Act = "proposal.made"        // an operator waits for a second one
	ProposalApproved   Act = "proposal.approved"
	ProposalApplied    Act = "proposal.applied"
	ProposalRejected   Act = "proposal.rejected"

	RateSet Act = "rate.set" // an exchange rate, by the operator; a feed's are in the history of rates

	PlanApplied  Act = "plan.applied"  // a price plan was made or changed
	PlanAssigned Act = "plan.assigned" // to a merchant

	RoutingApplied Act = "routing.applied"
	RoutingReset   Act = "routing.reset"

	RecoveryBegun   Act = "recovery.begun"   // the database was restored from a copy
	RecoveryCovered Act = "recovery.covered" // an account's activity in the window is known
	FoundClosed     Act = "found.closed"     // the operator closed a found entry that has no object in the books
	RecoveryEnded   Act = "recovery.ended"

	UserCreated         Act = "user.created"
	UserRemoved         Act = "user.removed" // from the merchant, or altogether
	UserRoleChanged     Act = "user.role_changed"
	UserPasswordChanged Act = "user.password_changed"
	UserFactorAdded     Act = "user.factor_added" // a second factor: an app for codes, a passkey
	UserFactorRemoved   Act = "user.factor_removed"
	UserSignedIn        Act = "user.signed_in"
	UserSignInRefused   Act = "user.sign_in_refused" // the user is known, but what was sent is wrong
	UserSignInEnded     Act = "user.sign_in_ended"   // signed out, by the user or by somebody with the right to do it
	UserIdentityLinked  Act = "user.identity_linked" // to an account at the company's identity provider
	LinkCreated         Act = "link.created"         // an invitation, or a link to sign in or to choose a password
	LinkWithdrawn       Act = "link.withdrawn"
	LinkConfirmed       Act = "link.confirmed"   // by a second operator
	MerchantVisited     Act = "merchant.visited" // an operator looks at the merchant's pages

	BooksChecked Act = "books.checked" // the check of the books ended, or was stopped

	MasterKeyRotated Act = "master_key.rotated" // a new master key is in use; its fingerprint is logged
)

// ForMerchants are the details of an act that its merchant sees, in the order of pages. Others may name providers or limits, are notes of
// operators, or are for programs.
var ForMerchants = []string{
	"role", "name", "before", "kind", "preview", "rights", "amount", "netAmount", "url", "status", "color", "frames", "schemes", "payment", "withdrawal", "level", "from", "to",
	"network", "destination", "language", "refundFees", "installments", "stopped",
}
