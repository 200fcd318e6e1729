package settlements

import (
	"log/slog"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
)

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
	var want []string
	for _, one := range pay.MovementTypes() {
		want = append(want, "moved_"+string(one))
	}
	for _, one := range pay.Buckets() {
		want = append(want, "bucket_"+string(one), "bucket_"+string(one)+"_about")
	}
	for _, one := range pay.SettlementStatuses() {
		want = append(want, "settlement_"+string(one), "settlement_"+string(one)+"_about")
	}
	for _, one := range pay.PayoutStates() {
		want = append(want, "payout_"+string(one))
	}
	for _, one := range pay.WithdrawalStatuses() {
		want = append(want, "withdrawal_"+string(one))
	}
	for _, one := range pay.LineTypes() {
		want = append(want, "line_"+string(one))
	}
	for _, key := range want {
		if room.Text(nil, key) == key {
			t.Errorf("there is no text %q", key)
		}
	}
}
