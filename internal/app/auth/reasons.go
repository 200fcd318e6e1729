package auth

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	keyEnded                = problem.Define1("key.ended", "key")
	keyEndsInThePast        = problem.Define("key.ends_in_the_past")
	graceTooShort           = problem.Define1("key.grace_too_short", "least")
	keyMissing              = problem.Define("key.none")
	publishableHasNone      = problem.Define("key.publishable_has_no_rights")
	restrictedNeedsRights   = problem.Define1("key.restricted_needs_rights", "rights")
	rightsBeyondRole        = problem.Define1("key.rights_beyond_role", "rights")
	keyRotated              = problem.Define2("key.rotated", "key", "successor")
	secretHasAll            = problem.Define("key.secret_has_all_rights")
	severalKeys             = problem.Define2("key.several", "preview", "keys")
	unknownKeyKind          = problem.Define("key.unknown_kind")
	accessTokenExpired      = problem.Define("login.access_token_expired")
	accessTokenInvalid      = problem.Define("login.access_token_invalid")
	loginEnded              = problem.Define("login.ended")
	keyIsNoLogin            = problem.Define("login.key_is_none")
	keyUnknown              = problem.Define("login.key_unknown")
	noLoginSent             = problem.Define("login.none_sent")
	notAPair                = problem.Define("login.not_a_pair")
	pairOfTwoEnvironments   = problem.Define("login.pair_of_two_environments")
	pairSwapped             = problem.Define("login.pair_swapped")
	refreshTokenInvalid     = problem.Define("login.refresh_token_invalid")
	refreshTokenSent        = problem.Define("login.refresh_token_sent")
	tokenOfOtherEnvironment = problem.Define("login.token_of_other_environment")
	masterKeyCurrent        = problem.Define1("machine.master_key_current", "key")
	operatorTokenExpired    = problem.Define("operator.token_expired")
	operatorTokenInvalid    = problem.Define("operator.token_invalid")
)
