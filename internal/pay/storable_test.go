package pay

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
)

// Whatever a provider tells, what is kept of it can be stored, and an id is kept whole or not at all.
func TestWhatProvidersTellCanBeStored(t *testing.T) {
	for _, bad := range []string{"a\x00", "a\xff", strings.Repeat("a", longestID+1)} {
		told := Outcome{ProviderRef: bad, MoneyRef: bad, Decline: bad, Message: bad, FormURL: bad, Data: PaymentData{QRCode: bad},
			Also: []Money{{Ref: bad, ProviderRef: "fine"}}, Back: &Reversal{Refunds: []ProviderRefund{{ID: bad}}}}
		n, unread := Notice{ID: bad, DisputeID: bad, Stage: bad, Network: bad, Body: []byte(bad), Outcome: told}.Storable()
		p, lost := PayoutNotice{ID: bad, ProviderRef: bad, Body: []byte(bad), Outcome: PayoutOutcome{ProviderRef: bad, Code: bad, Message: bad}}.Storable()
		o := n.Outcome
		if !unread || !lost || o.ProviderRef+o.MoneyRef+o.Also[0].Ref+o.Back.Refunds[0].ID+n.DisputeID+p.ProviderRef+p.Outcome.ProviderRef != "" || o.Also[0].ProviderRef != "fine" {
			t.Errorf("%q: %+v, %+v", bad, n, p)
		}
		if n.ID == "" || n.ID != p.ID || len(n.ID) > longestID || told.Also[0].Ref != bad || told.Back.Refunds[0].ID != bad {
			t.Errorf("%q: the ids %q and %q; or what was told has changed", bad, n.ID, p.ID)
		}
		text := string(n.Body) + string(p.Body) + o.Message + o.Decline + o.FormURL + o.Data.QRCode + n.Stage + n.Network + p.Outcome.Code + p.Outcome.Message
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			t.Errorf("%q is kept as %q", bad, text)
		}
		if kept := n.stored("TXN-1", Ignored, noon); kept.Verdict != Mismatched {
			t.Errorf("a notice without its id is %s", kept.Verdict)
		}
	}
	fine := Notice{ID: "n", DisputeID: "d", Body: []byte("{}"), Outcome: Outcome{MoneyRef: "m", Local: money.New(1, money.USD), Message: "não"}}
	same, unread := fine.Storable()
	was, _ := json.Marshal(fine)
	is, _ := json.Marshal(same)
	if unread || string(was) != string(is) {
		t.Errorf("%s became %s", was, is)
	}
}

// What an adapter does not understand waits for the operator if nothing else comes of it.
func TestANoticeThatIsNotUnderstoodIsForTheOperator(t *testing.T) {
	p := completed(t).p
	for unread, want := range map[bool]Verdict{true: Mismatched, false: Ignored} {
		n, left := Notice{ID: "1", Account: "one", Reference: p.Reference(1), Outcome: Outcome{Kind: Unknown, Decline: "unknown_status"}, Unread: unread}.Storable()
		next, change := p.ApplyNotice(n, routes, "CLM-1", noon)
		if left || len(change.Notices) != 1 || change.Notices[0].Verdict != want || next.Status != Completed {
			t.Errorf("unread %t: %+v, the payment is %s; want %s", unread, change.Notices, next.Status, want)
		}
	}
}
