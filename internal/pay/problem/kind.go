package problem

// Kind is the class of an error: the envelope's type (ERR-3).
type Kind string

// The kinds.
const (
	KindInvalidRequest Kind = "invalid_request_error"
	KindAuthentication Kind = "authentication_error"
	KindPermission     Kind = "permission_error"
	KindCard           Kind = "card_error"
	KindRouting        Kind = "routing_error"
	KindConflict       Kind = "conflict_error"
	KindIdempotency    Kind = "idempotency_error"
	KindBalance        Kind = "balance_error"
	KindRateLimit      Kind = "rate_limit_error"
	KindAPI            Kind = "api_error"
)
