package pay

// Status is where a payment stands (PAY-22).
type Status string

// The seven statuses.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Expired    Status = "expired"
	Refunded   Status = "refunded"
	Chargeback Status = "chargeback"
)

// Statuses lists all statuses in the order of a payment's life.
func Statuses() []Status {
	return []Status{Processing, Pending, Completed, Failed, Expired, Refunded, Chargeback}
}

// Verb is something that happens to a payment.
type Verb string

// The verbs of the life cycle.
const (
	Await     Verb = "await"    // the provider took it; the customer has to act
	Complete  Verb = "complete" // the customer paid
	Fail      Verb = "fail"     // declined, exhausted or abandoned
	Expire    Verb = "expire"   // the window has passed
	Refunding Verb = "refund"   // money goes back, in full or in part
	Dispute   Verb = "dispute"  // the issuer takes the money back
)

// Verbs lists all verbs.
func Verbs() []Verb { return []Verb{Await, Complete, Fail, Expire, Refunding, Dispute} }

// moves is the life cycle: status × verb → the next status. What is not in
// it is not allowed. Processing does not expire: its outcome is unknown, and
// only the provider's answer may end it (UNK-1).
var moves = map[Status]map[Verb]Status{
	Processing: {Await: Pending, Complete: Completed, Fail: Failed},
	Pending:    {Complete: Completed, Fail: Failed, Expire: Expired},
	Completed:  {Refunding: Refunded, Dispute: Chargeback},
	Refunded:   {Refunding: Refunded, Dispute: Chargeback},
	Failed:     {},
	Expired:    {},
	Chargeback: {},
}

// After returns the status that verb leads to from s, and whether the move is
// allowed.
func (s Status) After(v Verb) (Status, bool) {
	next, ok := moves[s][v]
	return next, ok
}

// Valid reports whether s is one of the seven.
func (s Status) Valid() bool { _, ok := moves[s]; return ok }

// Open reports whether the payment still waits for its outcome.
func (s Status) Open() bool { return s == Pending || s == Processing }
