package routing

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	daysOutOfRange   = problem.Define("console.days_out_of_range")
	fileHasAccounts  = problem.Define("console.file_has_accounts")
	noReplayRuns     = problem.Define("console.no_replay_runs")
	notAWholeNumber  = problem.Define1("console.not_a_whole_number", "text")
	railTwice        = problem.Define1("console.rail_twice", "rail")
	ruleNeedsRail    = problem.Define("console.rule_needs_rail")
	weightUnreadable = problem.Define1("console.weight_unreadable", "text")
)
