package check

import (
	"strings"

	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/table"
)

// How says what finds a value that somebody changed.
type How string

const (
	// ByHash: the hash of its row, which the service makes with a key. It covers the whole text of a column, and so every
	// field of a JSON document.
	ByHash How = "hash"
	// ByChain: the chain of blocks, which also finds rows that are gone.
	ByChain How = "chain"
	// ByInvariant: an invariant compares it with what it is made of.
	ByInvariant How = "invariant"
	// ByBound: an invariant bounds it. A lease changes it at any time, so any time within the bound is right.
	ByBound How = "bound"
	// Free: nothing. It moves no money, and says nothing about money.
	Free How = "free"
)

// Answer is what finds a changed value, and by what or why not.
type Answer struct {
	How How
	Why string
}

// answers are those of columns that no row's hash covers, by table and column; "*" are the other columns of a table. A
// column of a table with hashes needs none.
var answers = map[string]Answer{
	"*.due_at":   {ByBound, invariantSleeps},
	"*.row_hash": {ByInvariant, invariantRowHash},

	"receipts.body": {Free, "erased when its time is over; encrypted for its row, and read by the operator alone. Plain text in it is found"},

	"balances.*":  {ByInvariant, invariantBalance},
	"blocks.*":    {ByChain, invariantBlock},
	"unsealed.*":  {ByInvariant, invariantMark},
	"unsealed.at": {Free, "orders the marks until they are sealed, within seconds"},

	"counters.*":                {ByInvariant, "counters count the payments, day by day"},
	"counters.rolled":           {ByInvariant, "counters of all days have what was rolled up of each"},
	"delivery_counters.*":       {ByInvariant, "counters count the deliveries"},
	"delivery_counters.last_at": {Free, "when an endpoint was last tried, for its page"},
	"rollups.*":                 {ByInvariant, "analytics of all shops are the sum of each shop's; " + "analytics have the amounts and the fees of the payments that ended"},
	"facts.*":                   {Free, "names and orders what is not added up yet, for seconds"},
	"facts.doc":                 {ByInvariant, "analytics have the amounts and the fees of the payments that ended"},
	"recounts.*":                {Free, "how far a recount for analytics has come"},
	"watermarks.id":             {Free, "names a mark; without it the service rolls up again, and old rows without hashes are let pass"},
	"watermarks.day":            {Free, "from when on totals are rolled up and rows must have hashes: it moves no total and no hash"},

	"audit_addresses.*":  {ByInvariant, invariantAddresses},
	"audit_notes.*":      {ByInvariant, invariantAddresses},
	"audit_notes.object": {Free, "finds the notes of an object that is erased; the entry says what it is about"},
	"misfits.*":          {ByInvariant, invariantMisfits},

	"deliveries.*":          {ByInvariant, "a delivery stays with its event's shop and environment; a delivery is named after its event and its endpoint, and is of the event's type"},
	"deliveries.status":     {ByInvariant, "counters count the deliveries"},
	"deliveries.parked":     {Free, "waits for an endpoint's circuit: it is sent later, or at once"},
	"deliveries.version":    {Free, "guards against two writers"},
	"deliveries.attempts":   {Free, "how often it was tried"},
	"deliveries.budget":     {Free, "how often it is tried"},
	"deliveries.created_at": {Free, "orders the log of an endpoint"},
	"deliveries.doc":        {Free, "what the endpoint answered"},
	"fanouts.*":             {Free, "is there for seconds; then each endpoint must have its delivery"},

	"key_uses.*":    {Free, "where a key was used last, for its page"},
	"secrets.*":     {Free, "keys that are encrypted for their names, without which neither the service nor the check starts; and marks of work that was done"},
	"rail_ids.*":    {Free, "the number that stands for a rail in lists; a payment has the rail's own name"},
	"rate_feeds.id": {Free, "finds the time of the next reading; without it a rate is read at once"},

	"committers.*":       {Free, "who writes now: a wrong row stops a node, which begins anew"},
	"nodes.*":            {Free, "which nodes live now"},
	"processes.*":        {Free, "which programs run now"},
	"quarantined.*":      {Free, "rows that cannot be read: each is a finding by itself"},
	"quarantined.due_at": {Free, "rows that cannot be read: each is a finding by itself"},
	"schema_version.*":   {Free, "the service and the check do not start with another version"},
}

// AnswerOf returns what finds a changed value of a column; false if the table below has none.
func AnswerOf(of, column string) (Answer, bool) {
	for _, t := range []chain.Sealed{chain.SealedTransfers, chain.SealedAudit} {
		if t.Name == of {
			return Answer{ByChain, invariantRow}, true
		}
	}
	for _, s := range table.Hashings() {
		if s.Table == of && s.Covers(column) {
			return Answer{ByHash, invariantRowHash}, true
		}
	}
	for _, key := range []string{of + "." + column, "*." + column, of + ".*"} {
		if a, ok := answers[key]; ok {
			return a, true
		}
	}
	return Answer{}, false
}

// AnswersWithout returns the answers that no column of a schema uses. columns are those of each table.
func AnswersWithout(columns map[string][]string) (list []string) {
	for key := range answers {
		of, column, _ := strings.Cut(key, ".")
		used := false
		for name, has := range columns {
			for _, c := range has {
				used = used || (of == "*" || of == name) && (column == "*" || column == c)
			}
		}
		if !used {
			list = append(list, key)
		}
	}
	return list
}
