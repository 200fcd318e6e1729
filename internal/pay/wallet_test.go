package pay_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// written is the time of this test's wallet.
var written = time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)

func TestOnlyProductionWalletsCauseMail(t *testing.T) {
	merchant := merchants.Merchant{ID: "mer_1", Name: "Acme", Email: " ops@acme.example ", Language: merchants.Spanish}
	w := pay.Wallet{ID: "wal_abc", Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1", Live: true}, Network: "spei", Currency: "MXN", Masked: "032****9719"}
	w, _ = w.Open(24*time.Hour, nil, nil, written)
	m, tell := w.Mail(merchant, "sk_live_…1234", "")
	if !tell || m.ID != "mail_abc" || m.Scope != w.Scope || m.Object != w.ID || m.Status != mails.Waiting || m.DueAt != written || m.Wallet != (mails.Wallet{
		To: "ops@acme.example", Language: merchants.Spanish, Merchant: "Acme", Wallet: "wal_abc", Network: "spei", Currency: "MXN",
		Destination: "032****9719", Shop: "shp_1", Key: "sk_live_…1234", AddedAt: written, ActiveAt: written.Add(24 * time.Hour),
	}) {
		t.Errorf("told %t: %+v", tell, m)
	}
	if m, _ := w.Mail(merchant, "", "ana@acme.example"); m.Wallet.User != "ana@acme.example" || m.Wallet.Key != "" {
		t.Errorf("a user's wallet tells of %+v", m.Wallet)
	}
	sandbox, silent := w, merchant
	sandbox.Live, silent.Email = false, " "
	if m, tell := sandbox.Mail(merchant, "", ""); tell {
		t.Errorf("a sandbox wallet causes an e-mail: %+v", m)
	}
	if m, tell := w.Mail(silent, "", ""); tell {
		t.Errorf("a merchant without an address gets an e-mail: %+v", m)
	}
}
