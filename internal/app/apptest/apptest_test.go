package apptest_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/app/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// A shopper's payment becomes the merchant's money.
func TestPaymentIsPaid(t *testing.T) {
	s := apptest.Open(t)
	if p := s.Paid(t, "10.03"); p.Status != "completed" {
		t.Errorf("it is %s", p.Status)
	}
}
