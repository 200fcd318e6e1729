package audit

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// AuditPrefix begins the id of an audit entry.
const AuditPrefix = "aud_"

// Entry says who did what. It is written with what it tells of, in the
// same Change, and never changed. It holds no secret.
type Entry struct {
	ID string // aud_…, ordered by time
	// Scope is whose it is. Shop is empty where it is about the whole merchant;
	// what is about both environments stands with production's.
	tenant.Scope
	By      Actor
	Act     Act
	Object  string // id of what it was done to
	Details map[string]string
	// Salt makes the commitment to By.IP one that nobody can guess: see Commitment.
	Salt string
	// Note is what an operator wrote; where it is read it is a detail. It goes with the person whom
	// it is about: the entry has a commitment to it.
	Note string
	// At is the service's clock, also in a sandbox whose test clock was moved:
	// it says when somebody did it.
	At time.Time
}

// Actor is who did something, and from where.
type Actor struct {
	Kind    ActorKind
	ID      string // the key's id, the operator's user@host or name, the provider's account
	IP      string // of the request, "" without one
	Request string // req_…, "" without one
}

// ActorKind says what an actor is.
type ActorKind string

// Kinds of actors.
const (
	ByKey      ActorKind = "key"      // a merchant's program, with an API key
	ByOperator ActorKind = "operator" // a person at the command line, or one with a token of the admin API
	BySystem   ActorKind = "system"   // the service by itself
	ByProvider ActorKind = "provider" // a notification or an answer
)

// Act names what was done: object.verb.
type Act string

// The acts of the audit log.
const (
	MerchantCreated Act = "merchant.created"
	MerchantTermed  Act = "merchant.terms_changed"
	MerchantMoved   Act = "merchant.email_changed"
	ShopCreated     Act = "shop.created"
	ShopRebranded   Act = "shop.rebranded"
	KeyCreated      Act = "key.created"
	KeyRevoked      Act = "key.revoked"
	KeyUsedAnew     Act = "key.new_address" // it was used from one that it was not used from before
	LoginCreated    Act = "login.created"
	LoginRefused    Act = "login.refused" // the key is known, and the secret is not its own
	LoginRevoked    Act = "login.revoked" // logged out, by the operator, or a refresh token was used twice
	LoginsRevoked   Act = "logins.revoked"
	WebhookCreated  Act = "webhook.created"
	WebhookDeleted  Act = "webhook.deleted"
	WebhookDisabled Act = "webhook.disabled"

	WebhookUpdated    Act = "webhook.updated"
	WebhookRotated    Act = "webhook.rotated"
	DeliveryReplayed  Act = "delivery.replayed"
	SandboxChanged    Act = "sandbox.changed"
	EventsReplayed    Act = "webhook.replayed" // the events of a time
	ReplayCutShort    Act = "webhook.replay_stopped"
	RefundOpened      Act = "refund.opened"
	EvidenceSubmitted Act = "claim.evidence_submitted"
	ClaimAccepted     Act = "claim.accepted" // the merchant gave in
	ClaimRuled        Act = "claim.ruled"    // the operator's word

	WalletCreated       Act = "wallet.created"
	WalletDeleted       Act = "wallet.deleted"
	WalletRevealed      Act = "wallet.revealed" // an operator read where it pays to
	WithdrawalCreated   Act = "withdrawal.created"
	WithdrawalGivenUp   Act = "withdrawal.canceled"
	VerificationStarted Act = "verification.started"
	VerificationMoved   Act = "verification.moved" // decided, or played in the sandbox
	SettlementPaid      Act = "settlement.paid"

	ProviderAdded    Act = "provider.added"
	ProviderChanged  Act = "provider.changed"
	ProviderRotated  Act = "provider.rotated"
	ProviderEnabled  Act = "provider.enabled"
	ProviderDisabled Act = "provider.disabled"
	ProviderRemoved  Act = "provider.removed"
	ProviderForgot   Act = "provider.credentials_forgotten" // those that had been rotated out

	ShopperErased   Act = "shopper.erased" // from a payment or a checkout session
	ShopperExported Act = "shopper.exported"

	PaymentRuled    Act = "payment.ruled"    // the operator's word on its outcome
	WithdrawalRuled Act = "withdrawal.ruled" // the same

	PayoutsLimited     Act = "payouts.limited" // stopped, too, and let go on
	FloatEntered       Act = "payout_float.entered"
	WithdrawalApproved Act = "withdrawal.approved"

	BatchCreated Act = "payout_batch.created"
	BatchAgreed  Act = "payout_batch.approved"
	BatchTaken   Act = "payout_batch.exported" // each time
	BatchGivenUp Act = "payout_batch.dissolved"
	AnswersRead  Act = "payout_answers.imported"

	NotificationClosed Act = "notification.closed" // one that did not fit its payment
	ProviderReconciled Act = "provider.reconciled" // its report was compared with the books
	OperatorAdded      Act = "operator.added"      // to the admin API
	OperatorRemoved    Act = "operator.removed"

	RoutingApplied Act = "routing.applied"
	RoutingReset   Act = "routing.reset"

	RecoveryBegun   Act = "recovery.begun"   // the database was put back from a copy
	RecoveryCovered Act = "recovery.covered" // what an account did in the window is known
	FoundClosed     Act = "found.closed"     // what was found there, and nothing stands for
	RecoveryEnded   Act = "recovery.ended"

	MasterKeyRotated Act = "master_key.rotated" // it took over; its fingerprint
)
