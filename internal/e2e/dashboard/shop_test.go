package dashboard

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/chromedp"
)

var inviteLink = regexp.MustCompile(`<code>[^<]*(/dashboard/link/[^<]+)</code>`)

// invite invites somebody and returns the path of the link.
func invite(t *testing.T, by harness.Staff, email string, role people.Role) string {
	t.Helper()
	a := by.Ask(t, http.MethodPost, "/team/invite", url.Values{"email": {email}, "role": {string(role)}, "language": {"en"}})
	found := inviteLink.FindStringSubmatch(a.Body)
	if a.Status != http.StatusOK || found == nil {
		t.Fatalf("the invitation of %s answers %d without a link: %s", email, a.Status, a.Text())
	}
	return found[1]
}

// An owner invites; the invitation can be withdrawn, or accepted; the role changes and the member goes.
func TestTeamIsManaged(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		owner := s.NewShop(t).Staff(t, people.Owner)
		first := invite(t, owner, "bea@acme.example", people.Support)
		page := owner.Page(t, "/team")
		if !strings.Contains(page, "bea@acme.example") || !strings.Contains(page, "You are the only owner") {
			t.Errorf("the team does not show the invitation, or that there is one owner: %s", page)
		}
		withdraw := regexp.MustCompile(`/team/invitations/(lnk_\w+)/withdraw`).FindStringSubmatch(page)
		if sure := owner.Page(t, "/team/invitations/"+withdraw[1]); !strings.Contains(sure, "bea@acme.example") {
			t.Error("without a script nothing asks before the invitation is withdrawn")
		}
		owner.Do(t, "/team/invitations/"+withdraw[1]+"/withdraw")
		if a := stranger(owner).Ask(t, http.MethodGet, first, nil); a.Status != http.StatusNotFound {
			t.Errorf("the withdrawn link answers %d", a.Status)
		}
		link := invite(t, owner, "bea@acme.example", people.Developer)
		twin := people.Link{ // as two clicks at once make it
			ID: s.App.NewID(people.LinkPrefix, s.Clock.Now()), Version: 1, Kind: people.Invitation, Hash: s.App.Vault.Hash("ln_twin"), Email: "bea@acme.example",
			Merchant: owner.Merchant.ID, Role: people.Developer, By: owner.User.ID, CreatedAt: s.Clock.Now(), EndsAt: s.Clock.Now().Add(people.InvitationLife),
		}
		harness.Must(t, s.App.Store.Commit(ctx, pay.Change{Links: []people.Link{twin}}))
		stranger(owner).Do(t, link, "name", "Bea", "password", harness.StaffPassword)
		if a := stranger(owner).Ask(t, http.MethodGet, "/dashboard/link/ln_twin", nil); a.Status != http.StatusNotFound {
			t.Errorf("another invitation of who has joined answers %d: who is removed would come back by it", a.Status)
		}
		page = owner.Page(t, "/team")
		member := regexp.MustCompile(`/team/members/(usr_\w+)">Edit<span class="hidden"> Bea`).FindStringSubmatch(page)
		if member == nil || strings.Contains(page, "Invitations that wait") {
			t.Fatalf("Bea is not in the team: %s", page)
		}
		path := "/team/members/" + member[1]
		owner.Do(t, path, "role", "finance")
		if page := owner.Page(t, path); !strings.Contains(page, `value="finance" checked`) {
			t.Error("the role is not finance")
		}
		owner.Page(t, path+"/remove")
		owner.Do(t, path+"/remove")
		if a := owner.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusNotFound {
			t.Errorf("the page of who left answers %d", a.Status)
		}
		for _, act := range []audit.Act{audit.LinkCreated, audit.LinkWithdrawn, audit.UserCreated, audit.UserRoleChanged, audit.UserRemoved} {
			if !audited(t, owner, act) {
				t.Errorf("%s is not in the audit log", act)
			}
		}
	})
}

// Keys outlive the role of who made them. The page after a removal names those that still work, with their pages.
func TestKeysOfWhoLeftAreNamed(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		owner, developer, admin := o.Staff(t, people.Owner), o.Staff(t, people.Developer), o.Staff(t, people.Admin)
		made := func(u harness.Staff) merchants.Key {
			if a := u.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"restricted"}, "rights": {"read"}}); a.Status != http.StatusOK {
				t.Fatalf("the key is not made: %d", a.Status)
			}
			list, _, err := s.App.Keys.List(ctx, o.Merchant.ID)
			harness.Must(t, err)
			return list[len(list)-1]
		}
		revoked, left, others := made(developer), made(developer), made(admin)
		developer.Do(t, "/keys/"+revoked.ID+"/revoke")
		to := owner.Do(t, "/team/members/"+developer.User.ID+"/remove")
		page := owner.Page(t, to)
		if !strings.Contains(page, owner.Home()+"/keys/"+left.ID+`"`) || strings.Contains(page, revoked.ID) || strings.Contains(page, others.ID) {
			t.Errorf("%s shows: %s", to, harness.Answer{Body: page}.Text())
		}
		owner.Page(t, "/keys/"+left.ID)
		owner.Do(t, "/keys/"+left.ID+"/revoke")
		if page := owner.Page(t, to); !strings.Contains(page, "no key that still works") {
			t.Errorf("after the revocation %s shows: %s", to, harness.Answer{Body: page}.Text())
		}
		made(admin)
		owner.Do(t, "/team/members/"+admin.User.ID, "role", "viewer")
		if to := owner.Do(t, "/team/members/"+admin.User.ID+"/remove"); !strings.HasSuffix(to, "/keys") {
			t.Errorf("the removal of who was an admin leads to %s", to)
		}
	})
}

// What is wrong is told at its field, and what was typed stays.
func TestTeamRefusals(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	shop := s.NewShop(t)
	owner, admin, foreign := shop.Staff(t, people.Owner), shop.Staff(t, people.Admin), s.NewShop(t).Staff(t, people.Owner)
	post := func(u harness.Staff, path string, pairs ...string) harness.Answer {
		form := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		return u.Ask(t, http.MethodPost, path, form)
	}
	for name, c := range map[string]struct {
		by     harness.Staff
		path   string
		pairs  []string
		status int
		says   string
	}{
		"no address":                 {owner, "/team/invite", []string{"email", "bea at acme", "role", "viewer"}, 400, "This is not an e-mail address"},
		"what was typed":             {owner, "/team/invite", []string{"email", "bea at acme", "role", "viewer"}, 400, `value="bea at acme"`},
		"no role":                    {owner, "/team/invite", []string{"email", "bea@acme.example"}, 400, "Choose one of the roles"},
		"a member":                   {owner, "/team/invite", []string{"email", admin.User.Email, "role", "viewer"}, 409, "in the team already"},
		"an admin invites an owner":  {admin, "/team/invite", []string{"email", "bea@acme.example", "role", "owner"}, 403, "rights that you do not have"},
		"an admin becomes an owner":  {admin, "/team/members/" + admin.User.ID, []string{"role", "owner"}, 403, "rights that you do not have"},
		"an admin removes the owner": {admin, "/team/members/" + owner.User.ID + "/remove", nil, 403, "Only an owner can change"},
		"the last owner steps down":  {owner, "/team/members/" + owner.User.ID, []string{"role", "viewer"}, 409, "make somebody else an owner first"},
		"the last owner leaves":      {owner, "/team/members/" + owner.User.ID + "/remove", nil, 409, "make somebody else an owner first"},
		"a role that is none":        {owner, "/team/members/" + admin.User.ID, []string{"role", ""}, 400, "Choose one of the roles"},
		"another merchant's user":    {owner, "/team/members/" + foreign.User.ID, []string{"role", "viewer"}, 404, "There is nothing here"},
		"no such invitation":         {owner, "/team/invitations/lnk_1/withdraw", nil, 404, "There is nothing here"},
	} {
		if a := post(c.by, c.path, c.pairs...); a.Status != c.status || !strings.Contains(a.Body, c.says) {
			t.Errorf("%s: %d without %q: %s", name, a.Status, c.says, a.Text())
		}
	}
	if a := shop.Staff(t, people.Developer).Ask(t, http.MethodGet, "/team", nil); a.Status != http.StatusForbidden {
		t.Errorf("a developer opens the team: %d", a.Status)
	}
	if page := admin.Page(t, "/team/invite"); strings.Contains(page, `value="owner"`) || strings.Contains(page, `value="finance"`) || !strings.Contains(page, `value="developer"`) {
		t.Error("an admin is offered other roles than those that admins give")
	}
}

// The table of what each role may do is what the server allows: each cell is tried with a page or an action.
func TestRolesTableIsTheTruth(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	shop := s.NewShop(t)
	page := shop.Staff(t, people.Owner).Page(t, "/team/roles")
	cells := regexp.MustCompile(`data-right="(\w+)" data-role="(\w+)" data-may="(\w+)"`).FindAllStringSubmatch(page, -1)
	if want := len(merchants.PeopleRights()) * len(people.Roles()); len(cells) != want {
		t.Fatalf("the table has %d cells, want %d", len(cells), want)
	}
	asks := map[merchants.Right]frame.Route{}
	for _, r := range routes(t, s) {
		if r.Kind == frame.OfShop && r.Path != "/shop/export" { // which is for owners alone: TestAnOwnerExportsWhatIsTheMerchants
			asks[r.Right] = r
		}
	}
	users := map[string]harness.Staff{}
	for _, role := range people.Roles() {
		users[string(role)] = shop.Staff(t, role)
	}
	for _, cell := range cells {
		right, role, may := merchants.Right(cell[1]), cell[2], cell[3]
		for _, live := range []bool{false, true} {
			want := may == "yes" || may == "sandbox" && !live
			if r, known := asks[right]; known {
				u := users[role]
				u.Live = live
				if a := open(t, u, r); (a.Status != http.StatusForbidden) != want {
					t.Errorf("%s and %s (live: %t): the table says %s, %s %s answers %d", role, right, live, may, r.Method, r.Path, a.Status)
				}
			} else if people.Role(role).May(right, live) != want {
				t.Errorf("%s and %s (live: %t): the table says %s", role, right, live, may)
			}
		}
	}
}

// The audit log shows who did what, in the environment that is looked at; filters, pages and the file agree.
func TestAuditLogIsRead(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		owner, other := s.NewShop(t).Staff(t, people.Owner), s.NewShop(t).Staff(t, people.Owner)
		owner.Do(t, "/shop/name", "name", "Acme Norte")
		invite(t, owner, "bea@acme.example", people.Viewer)
		for _, live := range []bool{false, true} {
			owner.Live = live
			page := owner.Ask(t, http.MethodGet, "/audit", nil)
			for _, says := range []string{"Renamed the shop", "Made a one-time link", owner.User.Email, "Created an API key", "127.0.0.1", "name: Acme Norte"} {
				if !strings.Contains(page.Text(), says) {
					t.Errorf("live %t: the log does not say %q: %s", live, says, page.Text())
				}
			}
			if strings.Contains(page.Body, other.User.Email) {
				t.Error("the log shows another merchant's user")
			}
		}
		owner.Live = false
		mine := owner.Ask(t, http.MethodGet, "/audit?who=user:"+owner.User.ID, nil).Text()
		if !strings.Contains(mine, "Renamed the shop") || strings.Contains(mine, "Created an API key") {
			t.Errorf("the filter by person shows %s", mine)
		}
		if none := owner.Ask(t, http.MethodGet, "/audit?to=2001-01-01", nil).Text(); !strings.Contains(none, "Nothing matches the filters") {
			t.Errorf("a time without entries shows %s", none)
		}
		for _, bad := range []string{"?from=yesterday", "?who=nobody", "?cursor=x"} {
			if a := owner.Ask(t, http.MethodGet, "/audit"+bad, nil); a.Status != http.StatusBadRequest {
				t.Errorf("%s answers %d", bad, a.Status)
			}
		}
		for i := range 60 {
			owner.Do(t, "/shop/name", "name", fmt.Sprint("Acme ", i))
		}
		rows, path := 0, "/audit"
		for path != "" {
			page := owner.Page(t, path)
			rows += strings.Count(page, `<tr id="aud_`)
			next := regexp.MustCompile(`rel="next" href="[^"]*(/audit\?[^"]+)"`).FindStringSubmatch(page)
			if path = ""; next != nil {
				path = next[1]
			}
		}
		file := owner.Ask(t, http.MethodGet, "/audit.csv", nil)
		lines, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file.Body, "\ufeff"))).ReadAll()
		harness.Must(t, err)
		if len(lines)-1 != rows || rows < 62 {
			t.Errorf("the pages have %d rows, the file %d", rows, len(lines)-1)
		}
	})
}

// The merchant does not learn which operator did something, nor from where.
func TestAuditLogHidesOperators(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	owner := s.NewShop(t).Staff(t, people.Owner)
	operator := harness.OperatorUser(t, owner.Client)
	harness.Must(t, s.App.People.Visit(ctx, usersFrom, operator.Cookie, owner.Merchant.ID))
	harness.Must(t, s.App.Onboarding.SetEmail(ctx, audit.Actor{Kind: audit.ByOperator, ID: "root@host17", IP: "10.1.2.3"}, owner.Merchant.ID, "new@acme.example"))
	page := owner.Page(t, "/audit")
	for _, secret := range []string{"root@host17", "10.1.2.3", operator.User.Email, operator.User.ID} {
		if strings.Contains(page, secret) || strings.Contains(owner.Ask(t, http.MethodGet, "/audit.csv", nil).Body, secret) {
			t.Errorf("the log tells %s", secret)
		}
	}
	if strings.Count(page, "Operator of the service") < 2 {
		t.Errorf("the log does not tell what operators did: %s", page)
	}
}

// The settings are changed by who may, with messages at the fields; others only read them.
func TestShopSettings(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		shop := s.NewShop(t)
		admin, viewer := shop.Staff(t, people.Admin), shop.Staff(t, people.Viewer)
		admin.Do(t, "/shop/name", "name", "  Acme   Sur ")
		admin.Do(t, "/shop/merchant", "email", "pay@acme.example", "language", "pt")
		// A colleague saves a page from before, with another language: the address stays.
		admin.Do(t, "/shop/merchant", "email", shop.Merchant.Email, "emailBefore", shop.Merchant.Email, "language", "es", "languageBefore", "en")
		admin.Do(t, "/shop/merchant", "email", "pay@acme.example", "emailBefore", "ops@acme.example", "language", "pt", "languageBefore", "pt")
		if m, err := s.App.AnyMerchant(ctx, shop.Merchant.ID); err != nil || m.Email != "pay@acme.example" || m.Language != merchants.Spanish {
			t.Errorf("the merchant has %s and %s (%v)", m.Email, m.Language, err)
		}
		admin.Do(t, "/shop/schemes", "schemes", "MyApp://\r\ncom.acme.pay\nmyapp")
		page := viewer.Ask(t, http.MethodGet, "/shop", nil)
		for _, says := range []string{"Acme Sur", "myapp", "com.acme.pay", "pay@acme.example", shop.Shop.ID, shop.Merchant.ID, shop.Shop.Slug, "1.2%", "5%", "48 hours", "3.00 USD", "20.00 USD", "Given back in proportion"} {
			if !strings.Contains(strings.ReplaceAll(page.Text(), "\u00a0", " "), says) {
				t.Errorf("the settings do not say %q: %s", says, page.Text())
			}
		}
		if strings.Contains(page.Body, `method="post" action="/dashboard/shp`) {
			t.Error("a viewer gets a form")
		}
		for says, form := range map[string][]string{
			"A name has 1 to 80": {"/shop/name", "name", strings.Repeat("x", 81)},
			"not an e-mail":      {"/shop/merchant", "email", "pay at acme", "language", "en"},
			"such as https, int": {"/shop/schemes", "schemes", "javascript"},
			"one of the lang":    {"/shop/merchant", "email", "pay@acme.example", "language", "fr"},
		} {
			values := url.Values{}
			for i := 1; i < len(form); i += 2 {
				values.Set(form[i], form[i+1])
			}
			if a := admin.Ask(t, http.MethodPost, form[0], values); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, says) || !strings.Contains(a.Body, `value="`+form[2]+`"`) && !strings.Contains(a.Body, ">"+form[2]+"</textarea>") {
				t.Errorf("%v: %d without %q, or without what was typed", form, a.Status, says)
			}
		}
		for _, act := range []audit.Act{audit.ShopRenamed, audit.ShopSchemes, audit.MerchantMoved, audit.MerchantSpeaks} {
			for _, e := range harness.AuditActs(t, shop) {
				if e.Act == act && e.By.ID != admin.User.ID {
					t.Errorf("%s is by %+v", act, e.By)
				}
			}
			if !audited(t, admin, act) {
				t.Errorf("%s is not in the audit log", act)
			}
		}
	})
}

// picture is a logo of one colour.
func picture(t *testing.T, side int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, side*3, side))
	for x := range side * 3 {
		for y := range side {
			img.Set(x, y, color.RGBA{0xc2, 0x41, 0x0c, 0xff})
		}
	}
	var b bytes.Buffer
	harness.Must(t, png.Encode(&b, img))
	return b.Bytes()
}

// The brand is saved with a logo, and shown to shoppers; bad input is told at its field.
func TestBrandIsSaved(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	admin := s.NewShop(t).Staff(t, people.Admin)
	send := func(path string, logo []byte, pairs ...string) harness.Answer {
		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		for i := 0; i < len(pairs); i += 2 {
			harness.Must(t, form.WriteField(pairs[i], pairs[i+1]))
		}
		if logo != nil {
			part, err := form.CreateFormFile("logo", "logo.png")
			harness.Must(t, err)
			_, err = part.Write(logo)
			harness.Must(t, err)
		}
		harness.Must(t, form.Close())
		return admin.Send(t, http.MethodPost, path, form.FormDataContentType(), b.Bytes())
	}
	for says, c := range map[string]struct {
		logo  []byte
		pairs []string
	}{
		"Write the colour as":     {nil, []string{"color", "red", "frames", "https://a.example"}},
		"Write each site as":      {nil, []string{"color", "#c2410c", "frames", "https://a.example/x"}},
		"at most 24 KB and 1024":  {picture(t, 400), []string{"color", "#c2410c"}},
		"must be a PNG or JPEG":   {[]byte("GIF89a"), []string{"color", "#c2410c"}},
		"at most 24 KB and 1024 ": {make([]byte, 2<<20), []string{"color", "#c2410c"}},
	} {
		if a := send("/shop/brand", c.logo, c.pairs...); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, says) || len(c.logo) < 1<<20 && !strings.Contains(a.Body, `value="`+c.pairs[1]+`"`) {
			t.Errorf("%v: %d without %q, or without what was typed", c.pairs, a.Status, says)
		}
	}
	if a := send("/shop/brand", picture(t, 40), "color", "#C2410C", "frames", "https://a.example\nhttps://b.example", "pass_fee", "true"); a.Status != http.StatusSeeOther {
		t.Fatalf("the brand is not saved: %d %s", a.Status, a.Text())
	}
	_, shop, err := s.App.Tenant(ctx, principal(admin))
	harness.Must(t, err)
	b := shop.Brand
	if b.Color != "#c2410c" || len(b.Frames) != 2 || !b.PassFee || b.Logo == "" {
		t.Errorf("the brand is %+v", b)
	}
	if e := harness.AuditEntry(t, admin.Client, audit.ShopRebranded, shop.ID); e.By.ID != admin.User.ID {
		t.Errorf("the brand was changed by %+v", e.By)
	}
	page := admin.Ask(t, http.MethodGet, "/shop/brand/preview", nil)
	if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'self'") || !strings.Contains(policy, "form-action 'none'") || page.Header.Get("X-Frame-Options") != "SAMEORIGIN" {
		t.Errorf("the preview's policy is %q", policy)
	}
	if !strings.Contains(page.Body, "/checkout/brand/c2410c.css") || !strings.Contains(page.Body, b.Logo) || strings.Contains(page.Body, "Fee ") {
		t.Errorf("the preview has not the saved brand: %s", page.Body)
	}
	typed := send("/shop/brand/preview", picture(t, 20), "color", "#0f766e")
	if !strings.Contains(typed.Body, "/checkout/brand/0f766e.css") || !strings.Contains(typed.Body, "data:image/png;base64,"+base64.StdEncoding.EncodeToString(picture(t, 20))[:20]) {
		t.Errorf("the preview has not the typed brand: %d %s", typed.Status, typed.Body)
	}
	send("/shop/brand", nil, "color", "", "no_logo", "true")
	if _, shop, err = s.App.Tenant(ctx, principal(admin)); err != nil || shop.Brand.Logo != "" || shop.Brand.Color != "" || len(shop.Brand.Frames) > 0 {
		t.Errorf("the brand is not taken back: %+v %v", shop.Brand, err)
	}
}

// In a browser an owner invites a person, who accepts; the owner then changes the role and removes the person.
func TestOwnerManagesTheTeamInABrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	owner := s.NewShop(t).Staff(t, people.Owner)
	tab := owner.Tab(t, "/team")
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		harness.Must(t, chromedp.Do(tab, actions...))
	}
	harness.Accessible(t, tab, "the team")
	do(chromedp.Click(`.head .actions a.primary`), chromedp.WaitVisible(`#f-email`))
	harness.Accessible(t, tab, "an invitation")
	do(chromedp.SendKeys(`#f-email`, "bea@acme.example"), chromedp.Click(`input[value="support"]`), chromedp.Click(`main form .primary`), chromedp.WaitVisible(`main pre code`))
	harness.Accessible(t, tab, "the invitation's link")
	harness.Shoot(t, tab, "invited")
	link, err := chromedp.Run(tab, chromedp.Text(`main pre code`))
	harness.Must(t, err)
	guest := harness.Browser(t)
	harness.Must(t, chromedp.Do(guest, chromedp.Navigate(strings.TrimSpace(link)), chromedp.WaitVisible(`#f-name`), chromedp.SendKeys(`#f-name`, "Bea"),
		chromedp.SendKeys(`#f-password`, harness.StaffPassword), chromedp.Click(`main form .primary`), chromedp.WaitVisible(`.bar`)))
	do(chromedp.Click(`main .primary`), chromedp.WaitVisible(`//strong[.="Bea"]`))
	harness.Shoot(t, tab, "team")
	do(chromedp.Click(`//a[contains(., "Edit") and contains(., "Bea")]`), chromedp.WaitVisible(`input[value="developer"]`))
	harness.Accessible(t, tab, "a member")
	harness.Shoot(t, tab, "member")
	do(chromedp.Click(`input[value="developer"]`), chromedp.Click(`main form .primary`), chromedp.WaitVisible(`//*[@role="status"][contains(., "the role is now Developer")]`))
	do(chromedp.Click(`//a[contains(., "Edit") and contains(., "Bea")]`), chromedp.WaitVisible(`a[data-dialog="remove"]`),
		chromedp.Click(`a[data-dialog="remove"]`), chromedp.WaitVisible(`#remove button.bad`))
	harness.Shoot(t, tab, "remove")
	do(chromedp.Click(`#remove button.bad`), chromedp.WaitVisible(`//*[@role="status"][contains(., "Bea is not in the team any more")]`))
	for path, name := range map[string]string{"/team/roles": "roles", "/audit": "audit", "/shop": "settings"} {
		do(chromedp.Navigate(owner.URL+owner.At(path)), chromedp.WaitVisible(`main h1`))
		harness.Accessible(t, tab, name)
		harness.Shoot(t, tab, name)
	}
}

// The preview in the phone follows what is typed, with a picture that is not saved; a faint colour is told.
func TestPreviewFollowsTheForm(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	owner := s.NewShop(t).Staff(t, people.Owner)
	tab := owner.Tab(t, "/shop/brand")
	inFrame := func(what, script string) {
		t.Helper()
		harness.Eventually(t, "the preview shows "+what, func() bool {
			shown, err := chromedp.Run(tab, chromedp.Evaluate[bool](`(() => { const d = document.querySelector('iframe').contentDocument; return Boolean(d && d.readyState === 'complete' && (`+script+`)); })()`))
			harness.Must(t, err)
			return shown
		})
	}
	inFrame("the sample", `d.querySelector('button.primary')`)
	harness.Accessible(t, tab, "the brand")
	colour := func(rgb string) string {
		return `d.querySelector('button.primary') && getComputedStyle(d.querySelector('button.primary')).backgroundColor === 'rgb(` + rgb + `)'`
	}
	harness.Must(t, chromedp.Do(tab, chromedp.SendKeys(`#f-color`, "#0f766e")))
	inFrame("the typed colour", colour("15, 118, 110"))
	file := filepath.Join(t.TempDir(), "logo.png")
	harness.Must(t, os.WriteFile(file, picture(t, 40), 0o600))
	harness.Must(t, chromedp.Do(tab, chromedp.SetUploadFiles(`#f-logo`, []string{file})))
	inFrame("the chosen picture", `d.querySelector('img.logo')?.naturalWidth === 120`)
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`#f-pass_fee`)))
	inFrame("no fees", `!d.body.textContent.includes('Fee')`)
	harness.Shoot(t, tab, "brand")
	_, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.querySelector('#f-color').value = ''; true`))
	harness.Must(t, err)
	harness.Must(t, chromedp.Do(tab, chromedp.SendKeys(`#f-color`, "#fff7d6"), chromedp.WaitVisible(`#contrast .notice`)))
	harness.Accessible(t, tab, "a faint colour")
	harness.Shoot(t, tab, "brand-faint")
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`main form .primary`), chromedp.WaitVisible(`//*[@role="status"][contains(., "The brand was saved")]`)))
	inFrame("the saved brand", colour("255, 247, 214")+` && d.querySelector('img.logo')?.naturalWidth === 120`)
}

// principal is a user at the own shop, as use cases get it.
func principal(u harness.Staff) base.Principal {
	return base.Principal{Scope: merchants.Scope{Merchant: u.Merchant.ID, Shop: u.Shop.ID, Live: u.Live}, User: u.User.ID}
}
