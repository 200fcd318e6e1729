package background

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	nodeStops = problem.Define("job.node_stops")
	jobRuns   = problem.Define("job.runs_already")
)
