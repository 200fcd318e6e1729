package payouts

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/store"
)

// Where nobody knows whether a withdrawal was made, the page does not say that it was not.
func TestUnknownOutcomeIsTold(t *testing.T) {
	f, err := frame.New(frame.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	room, err := f.NewPages(files)
	if err != nil {
		t.Fatal(err)
	}
	p := &pages{Pages: room}
	if _, whole, err := p.wrong(nil, store.ErrUnknown); err != nil || !strings.Contains(whole, "not known") || strings.Contains(whole, "cannot pay") {
		t.Errorf("the page says %q (%v)", whole, err)
	}
}

// What the pages name by what they show has its texts.
func TestTextsAreComplete(t *testing.T) {
	f, err := frame.New(frame.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	room, err := f.NewPages(files)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"why_kyc_required", "why_no_payout_account", "why_beneficiary_incomplete", "why_no_rate"}
	for _, network := range destination.Networks() {
		for _, text := range []string{"choose_", "network_", "destination_", "hint_", "wrong_"} {
			want = append(want, text+network)
		}
	}
	for _, one := range []pay.MovementType{pay.MovedWithdrawal, pay.MovedReversal} { // of a withdrawal
		want = append(want, "moved_"+string(one))
	}
	for _, one := range pay.SettlementStatuses() {
		want = append(want, "settlement_"+string(one))
	}
	want = append(want, "withdrawal_part_about", "withdrawal_returned_about")
	for _, one := range pay.WithdrawalStatuses() {
		want = append(want, "withdrawal_"+string(one), "withdrawal_"+string(one)+"_about")
	}
	for _, one := range (pay.Beneficiary{Name: "a", Document: "a", Bank: "a", Branch: "a", AccountType: "a", Email: "a", Country: "a"}).Has() {
		want = append(want, string(one))
	}
	for _, key := range want {
		if room.Text(nil, key) == key {
			t.Errorf("there is no text %q", key)
		}
	}
}
