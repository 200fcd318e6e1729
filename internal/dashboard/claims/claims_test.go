package claims

import (
	"log/slog"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
)

// The pages can be read, and every reason, state and kind has its texts.
func TestTextsAreComplete(t *testing.T) {
	f, err := frame.New(frame.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	room, err := f.NewPages(files)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, why := range evidence.Reasons() {
		want = append(want, "says_"+string(why), "tell_"+string(why), "short_"+string(why))
		for _, kind := range why.Wanted() {
			want = append(want, "why_"+string(why)+"_"+kind)
		}
	}
	for _, kind := range pay.EvidenceKinds() {
		want = append(want, "kind_"+kind)
	}
	for _, kind := range pay.ClaimKinds() {
		want = append(want, "opened_"+string(kind))
		for _, status := range pay.ClaimStatuses() {
			for _, actor := range []string{pay.PartyMerchant, pay.PartyIssuer} {
				s := stateOf(pay.Claim{Kind: kind, Status: status, Timeline: []pay.ClaimStep{{Status: status, Actor: actor}}}).Text
				want = append(want, s, "about_"+s, "now_"+s)
			}
		}
	}
	for _, party := range []string{pay.PartyMerchant, pay.PartyIssuer, pay.PartyProvider, pay.PartyOperator, pay.PartySystem} {
		want = append(want, "party_"+party)
	}
	for _, key := range want {
		if room.Text(nil, key) == key {
			t.Errorf("there is no text %q", key)
		}
	}
}
