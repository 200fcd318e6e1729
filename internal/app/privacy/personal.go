package privacy

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

const (
	// personalID is written once all personal data is encrypted.
	personalID = auth.ReencryptedID + "personal"
	// upgradeTime is how long nodes of the previous version may write beside newer ones.
	upgradeTime = 24 * time.Hour
)

// EncryptPersonal encrypts the evidence and notices of a database from before they were encrypted, and
// returns their number. It can be interrupted at any time. A day after it is done it looks again:
// nodes of the previous version may have written meanwhile.
func (pv *Privacy) EncryptPersonal(ctx context.Context) (int, error) {
	list, err := pv.Store.Secrets().List(ctx)
	if err != nil {
		return 0, err
	}
	done, looked := auth.Find(list, personalID)
	if looked && (done.Version > 1 || pv.Now().Before(done.CreatedAt.Add(upgradeTime))) {
		return 0, nil
	}
	n, err := pv.Store.EncryptPersonal(ctx)
	if n > 0 {
		pv.Log.InfoContext(ctx, "personal data was encrypted", "texts", n)
	}
	if err != nil || n > 0 { // a second look finds what other nodes wrote meanwhile
		return n, err
	}
	next := pv.secrets.NewEncrypted(personalID, []byte("done"))
	if looked {
		next = done.Replace(done.Text)
	}
	return 0, base.UnlessStale(pv.Store.Commit(ctx, pay.Change{Secrets: []tenant.Encrypted{next}}))
}
