package console

import (
	"archive/zip"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// An owner downloads what is the merchant's, and nobody else does (LEAVE-5).
func TestAnOwnerExportsWhatIsTheMerchants(t *testing.T) {
	eachLeaver(t, func(t *testing.T, l leaver) {
		op, other := harness.OperatorUser(t, l.Client), l.NewShop(t)
		mine, theirs := l.Create(t, harness.Card), other.Create(t, harness.Card)
		stranger := other.Staff(t, people.Owner)
		const path = "/shop/export"
		for role, who := range map[string]harness.Staff{"an admin": l.Staff(t, people.Admin), "a developer": l.Staff(t, people.Developer), "an accountant": l.Staff(t, people.Finance)} {
			if a := who.Ask(t, http.MethodPost, path, nil); a.Status != http.StatusForbidden {
				t.Errorf("%s gets %d", role, a.Status)
			}
		}
		op.Do(t, "/dashboard/console/merchants/"+l.Merchant.ID+"/visit")
		if a := op.Ask(t, http.MethodPost, path, nil); a.Status != http.StatusForbidden {
			t.Errorf("an operator who looks at the merchant gets %d", a.Status)
		}
		if a := stranger.Ask(t, http.MethodPost, l.owner.Home()+path, nil); a.Status != http.StatusNotFound {
			t.Errorf("the owner of another merchant gets %d", a.Status)
		}
		if a := l.owner.Ask(t, http.MethodPost, path, nil, "Sec-Fetch-Site: cross-site"); a.Status != http.StatusForbidden {
			t.Errorf("a page of another site gets %d", a.Status)
		}
		if page := l.owner.Page(t, "/shop"); !strings.Contains(page, "Download everything") {
			t.Error("the owner does not find the export")
		}
		a := l.owner.Ask(t, http.MethodPost, path, nil)
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/zip" || !strings.HasSuffix(a.Header.Get("Content-Disposition"), `.zip"`) {
			t.Fatalf("the export answers %d %v", a.Status, a.Header)
		}
		l.owner.Did(t, audit.MerchantExport, l.Merchant.ID)
		archived(t, l, mine, theirs, op.User.Email)

		l.Clock.Advance(time.Hour)
		if a := l.owner.Ask(t, http.MethodPost, path, nil); a.Status != http.StatusSeeOther || !strings.Contains(a.Header.Get("Location"), "/again") {
			t.Errorf("an owner who signed in long ago gets %d", a.Status)
		}
		l.Clock.Advance(aDay)
		bounded(t, l, path)
	})
}

// archived checks that an owner's archive has the merchant's payments, and neither another merchant's nor an operator's name.
func archived(t *testing.T, l leaver, mine, theirs, operator string) {
	t.Helper()
	pipe, into := io.Pipe()
	go func() {
		_, err := l.App.Leaving.ExportOwn(ctx, audit.Actor{Kind: audit.ByUser, ID: l.owner.User.ID}, l.Merchant.ID, into)
		into.CloseWithError(err)
	}()
	content, err := io.ReadAll(pipe)
	harness.Must(t, err)
	z, err := zip.NewReader(strings.NewReader(string(content)), int64(len(content)))
	harness.Must(t, err)
	found := false
	for _, f := range z.File {
		r, err := f.Open()
		harness.Must(t, err)
		text, err := io.ReadAll(r)
		harness.Must(t, err)
		found = found || strings.Contains(string(text), mine)
		for _, alien := range []string{theirs, operator, l.Credential} {
			if strings.Contains(string(text), alien) {
				t.Errorf("%s has %s", f.Name, alien)
			}
		}
	}
	if !found {
		t.Error("the export lacks the merchant's payment")
	}
}

// bounded checks how often the owners export within a day, also at once.
func bounded(t *testing.T, l leaver, path string) {
	t.Helper()
	fresh := l.Staff(t, people.Owner)
	var made sync.Map
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			a := fresh.Ask(t, http.MethodPost, path, nil)
			made.Store(i, a.Status)
		})
	}
	all.Wait()
	n := 0
	made.Range(func(_, status any) bool {
		if status == http.StatusOK {
			n++
		} else if status != http.StatusTooManyRequests {
			t.Errorf("an export at once with others answers %v", status)
		}
		return true
	})
	for n < leaving.ExportsADay && !t.Failed() {
		if a := fresh.Ask(t, http.MethodPost, path, nil); a.Status != http.StatusOK {
			t.Fatalf("export %d answers %d: %s", n+1, a.Status, a.Text())
		}
		n++
	}
	if a := fresh.Ask(t, http.MethodPost, path, nil); a.Status != http.StatusTooManyRequests {
		t.Errorf("export %d within a day answers %d", n+1, a.Status)
	}
}
