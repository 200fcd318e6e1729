package pay

import "testing"

// The whole life cycle: status × verb (PAY-31, REF-6, CLAIM-14).
func TestLifeCycle(t *testing.T) {
	const no = Status("")
	want := map[Status][7]Status{
		//            await    retry      complete   fail    expire   refund    dispute
		Processing: {Pending, no, Completed, Failed, no, no, no},
		Pending:    {no, Processing, Completed, Failed, Expired, no, no},
		Completed:  {no, no, no, no, no, Refunded, Chargeback},
		Refunded:   {no, no, no, no, no, Refunded, Chargeback},
		Failed:     {},
		Expired:    {},
		Chargeback: {no, no, no, no, no, Chargeback, no}, // the rest can be refunded (REF-13)
	}
	if len(want) != len(Statuses()) {
		t.Fatalf("the table has %d statuses, want %d", len(want), len(Statuses()))
	}
	for _, s := range Statuses() {
		for i, v := range Verbs() {
			got, ok := s.After(v)
			if got != want[s][i] || ok != (want[s][i] != no) {
				t.Errorf("%s.After(%s) = %q, %v; want %q", s, v, got, ok, want[s][i])
			}
		}
	}
}
