package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// A passkey signs in with nothing typed, as both factors; it is a second factor after the password, and proves again
// who it is. The first one brings recovery codes. A removed one is refused.
func TestPasskeySignsIn(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		u := s.NewShop(t).Staff(t, people.Finance)
		d := newDevice(t, u)
		d.counter = 1
		if a := addPasskey(t, u, d, "  "); a.Status != http.StatusBadRequest {
			t.Errorf("a passkey without a name gets %d", a.Status)
		}
		a := addPasskey(t, u, d, "My phone")
		if a.Status != http.StatusOK || !strings.Contains(a.Text(), "Recovery codes") {
			t.Fatalf("the first passkey gets %d: %s", a.Status, a.Text())
		}
		if page := u.Page(t, "/dashboard/profile"); !strings.Contains(page, "My phone") || !strings.Contains(page, "Recovery codes left: 10") {
			t.Error("the profile does not show the passkey and the recovery codes")
		}
		a = enterBy(t, u, d)
		if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/dashboard" {
			t.Fatalf("the passkey gets %d %s: %s", a.Status, a.Header.Get("Location"), a.Text())
		}
		whole := u
		whole.Cookie = cookieOf(a)
		if sign, _, err := s.App.People.Known(ctx, whole.Cookie); err != nil || sign.Waiting || !sign.Fresh(s.Clock.Now()) {
			t.Errorf("after the passkey the sign-in waits: %t; its factor is fresh: %t (%v)", sign.Waiting, sign.Fresh(s.Clock.Now()), err)
		}
		cookie, a := signIn(t, u, harness.StaffPassword)
		if a.Header.Get("Location") != "/dashboard/sign-in/code" {
			t.Errorf("the password alone leads to %s", a.Header.Get("Location"))
		}
		half := u
		half.Cookie = cookie
		q := askPasskey(t, half, "/dashboard/sign-in/code/challenge")
		if q.keys != 1 {
			t.Errorf("the challenge is for %d passkeys", q.keys)
		}
		a = answerPasskey(t, half, "/dashboard/sign-in/code/passkey", q, d.get(t, q.challenge))
		if a.Status != http.StatusSeeOther || cookieOf(a) == "" || cookieOf(a) == cookie {
			t.Fatalf("the passkey as second factor gets %d: %s", a.Status, a.Text())
		}
		half.Cookie = cookieOf(a)
		s.Clock.Advance(people.FactorFresh + time.Second)
		if a := half.Ask(t, http.MethodPost, "/dashboard/profile/passkeys/challenge", nil); a.Status != http.StatusSeeOther {
			t.Errorf("without a fresh factor a passkey can be added: %d", a.Status)
		}
		if to := half.Do(t, "/dashboard/profile/passkeys/remove", "id", b64(d.id)); !strings.HasPrefix(to, "/dashboard/again") {
			t.Errorf("without a fresh factor the removal leads to %s", to)
		}
		q = askPasskey(t, half, "/dashboard/again/challenge")
		a = answerPasskey(t, half, "/dashboard/again/passkey", q, d.get(t, q.challenge), "next", "/dashboard/profile")
		if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/dashboard/profile" {
			t.Fatalf("the passkey on again gets %d: %s", a.Status, a.Text())
		}
		half.Cookie = cookieOf(a)
		half.Do(t, "/dashboard/profile/passkeys/remove", "id", b64(d.id))
		if page := half.Page(t, "/dashboard/profile"); strings.Contains(page, "My phone") || strings.Contains(page, "Recovery codes left") {
			t.Error("the profile shows the removed passkey, or recovery codes for nothing")
		}
		if a := enterBy(t, u, d); a.Status != http.StatusUnauthorized || cookieOf(a) != "" {
			t.Errorf("a removed passkey gets %d", a.Status)
		}
		for _, act := range []audit.Act{audit.UserFactorAdded, audit.UserFactorRemoved, audit.UserSignedIn, audit.UserSignInRefused} {
			if !audited(t, u, act) {
				t.Errorf("%s is not in the merchant's audit log", act)
			}
		}
	})
}

// What a passkey answered works once, on every node, for what it was asked for, from our pages, for five minutes, and
// only if the device has asked who it is.
func TestPasskeyAnswersWorkOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		shop := s.NewShop(t)
		u, other := shop.Staff(t, people.Owner), shop.Staff(t, people.Viewer)
		mine, theirs := newDevice(t, u), newDevice(t, other) // they do not count, so nothing but the challenge stops a copy of an answer
		for user, d := range map[*harness.Staff]*device{&u: mine, &other: theirs} {
			if a := addPasskey(t, *user, d, "Key"); a.Status != http.StatusOK {
				t.Fatalf("a passkey gets %d: %s", a.Status, a.Text())
			}
		}
		const asking, path = "/dashboard/sign-in/passkey/challenge", "/dashboard/sign-in/passkey"
		nobody := stranger(u)
		refused := func(what string, a harness.Answer) {
			t.Helper()
			if a.Status != http.StatusUnauthorized || cookieOf(a) != "" || !strings.Contains(a.Text(), "try again") {
				t.Errorf("%s gets %d: %s", what, a.Status, a.Text())
			}
		}
		q := askPasskey(t, nobody, asking)
		answer := mine.get(t, q.challenge)
		refused("an answer without its challenge", answerPasskey(t, nobody, path, asked{}, answer))
		refused("an answer to another challenge", answerPasskey(t, nobody, path, askPasskey(t, nobody, asking), answer))
		if a := answerPasskey(t, nobody, path, q, answer); a.Status != http.StatusSeeOther {
			t.Fatalf("the answer gets %d: %s", a.Status, a.Text())
		}
		refused("the same answer again", answerPasskey(t, nobody, path, q, answer))
		if a := enterBy(t, u, mine); a.Status != http.StatusSeeOther {
			t.Errorf("the next answer gets %d: %s", a.Status, a.Text())
		}
		q = askPasskey(t, nobody, asking)
		lie := *mine
		lie.origin = "https://evil.example"
		refused("another origin", answerPasskey(t, nobody, path, q, lie.get(t, q.challenge)))
		lie = *mine
		lie.host = "evil.example"
		refused("another host", answerPasskey(t, nobody, path, q, lie.get(t, q.challenge)))
		lie = *mine
		lie.unsure = true
		refused("a device that asks nobody", answerPasskey(t, nobody, path, q, lie.get(t, q.challenge)))
		lie = *mine
		lie.absent = true
		refused("a device that nobody touches", answerPasskey(t, nobody, path, q, lie.get(t, q.challenge)))
		lie = *mine
		lie.tail = []byte{1, 2, 3}
		refused("data with more behind it", answerPasskey(t, nobody, path, q, lie.get(t, q.challenge)))
		for what, lies := range map[string]map[string]any{
			"an answer of another kind":            {"type": "webauthn.create"},
			"a page in another site's":             {"crossOrigin": true, "topOrigin": "https://evil.example"},
			"a site that begins like ours":         {"origin": mine.origin + ".evil.example"},
			"a site that has our name as a user's": {"origin": mine.origin + "@evil.example"},
			"no site":                              {"origin": nil},
			"a challenge of another spelling":      {"challenge": q.challenge + "="},
		} {
			lie = *mine
			lie.lies = lies
			refused(what, answerPasskey(t, nobody, path, q, lie.get(t, q.challenge)))
		}
		lie = *theirs
		lie.user = mine.user
		refused("another user's passkey with my name", answerPasskey(t, nobody, path, q, lie.get(t, q.challenge)))
		lie = *theirs
		lie.id, lie.user = mine.id, mine.user
		refused("another key with my passkey's id", answerPasskey(t, nobody, path, q, lie.get(t, q.challenge)))
		lie = *mine
		lie.user = "usr_\x00"
		refused("a name that is none", answerPasskey(t, nobody, path, q, lie.get(t, q.challenge)))
		refused("no JSON", answerPasskey(t, nobody, path, q, "{"))
		cookie, _ := signIn(t, u, harness.StaffPassword)
		half := u
		half.Cookie = cookie
		refused("a challenge to sign in as second factor", answerPasskey(t, half, "/dashboard/sign-in/code/passkey", q, mine.get(t, q.challenge)))
		q = askPasskey(t, half, "/dashboard/sign-in/code/challenge")
		refused("another user's passkey as second factor", answerPasskey(t, half, "/dashboard/sign-in/code/passkey", q, theirs.get(t, q.challenge)))
		refused("a challenge of the second factor to sign in", answerPasskey(t, nobody, path, q, mine.get(t, q.challenge)))
		second := u
		second.Cookie, _ = signIn(t, u, harness.StaffPassword)
		refused("a challenge of another sign-in", answerPasskey(t, second, "/dashboard/sign-in/code/passkey", q, mine.get(t, q.challenge)))
		s.Clock.Advance(people.ChallengeLife)
		refused("a late answer", answerPasskey(t, half, "/dashboard/sign-in/code/passkey", q, mine.get(t, q.challenge)))
	})
}

// A device whose counter does not rise may be a copy: it is refused, and the merchant's audit log says so.
func TestCopiedPasskeyIsRefused(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	u := s.NewShop(t).Staff(t, people.Owner)
	d := newDevice(t, u)
	d.counter = 5
	addPasskey(t, u, d, "Key")
	copied := *d
	for range 2 {
		if a := enterBy(t, u, d); a.Status != http.StatusSeeOther {
			t.Fatalf("the passkey gets %d: %s", a.Status, a.Text())
		}
	}
	if a := enterBy(t, u, &copied); a.Status != http.StatusUnauthorized || !strings.Contains(a.Text(), "counter") {
		t.Errorf("the copy gets %d: %s", a.Status, a.Text())
	}
	if a := enterBy(t, u, d); a.Status != http.StatusSeeOther {
		t.Errorf("after the copy the passkey gets %d: %s", a.Status, a.Text())
	}
	told := 0
	for _, e := range harness.AuditActs(t, u.Client) {
		if e.Act == audit.UserSignInRefused && e.Details["wrong"] == "passkey_counter" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the audit log tells %d times of the copy", told)
	}
}

// A user has ten passkeys at most, and none twice. Adding is bound to the sign-in that asked.
func TestPasskeysAreFew(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	shop := s.NewShop(t)
	u, other := shop.Staff(t, people.Owner), shop.Staff(t, people.Owner)
	q := askPasskey(t, u, "/dashboard/profile/passkeys/challenge")
	d := newDevice(t, u)
	if a := answerPasskey(t, other, "/dashboard/profile/passkeys", q, d.create(q.challenge, q.user), "name", "Key", "old", harness.StaffPassword); a.Status != http.StatusUnauthorized {
		t.Errorf("another user adds the passkey: %d %s", a.Status, a.Text())
	}
	lie := *d
	lie.origin = "https://evil.example"
	if a := answerPasskey(t, u, "/dashboard/profile/passkeys", q, lie.create(q.challenge, q.user), "name", "Key", "old", harness.StaffPassword); a.Status != http.StatusUnauthorized {
		t.Errorf("another origin adds a passkey: %d %s", a.Status, a.Text())
	}
	a := addPasskey(t, u, d, "Key 0")
	recovery := regexp.MustCompile(`<code>(\S+)\n`).FindStringSubmatch(a.Body)[1]
	a = u.Ask(t, http.MethodPost, "/dashboard/again", map[string][]string{"code": {recovery}})
	if u.Cookie = cookieOf(a); a.Status != http.StatusSeeOther {
		t.Fatalf("a recovery code gets %d: %s", a.Status, a.Text())
	}
	if a := addPasskey(t, u, d, "Again"); a.Status != http.StatusConflict {
		t.Errorf("the same passkey again gets %d: %s", a.Status, a.Text())
	}
	for i := range people.MostPasskeys - 1 {
		if a := addPasskey(t, u, newDevice(t, u), fmt.Sprint("Key ", i+1)); a.Status != http.StatusSeeOther {
			t.Fatalf("passkey %d gets %d: %s", i+2, a.Status, a.Text())
		}
	}
	if a := u.Ask(t, http.MethodPost, "/dashboard/profile/passkeys/challenge", nil); a.Status != http.StatusConflict {
		t.Errorf("an eleventh passkey gets %d", a.Status)
	}
	if page := u.Page(t, "/dashboard/profile"); strings.Contains(page, "Add a passkey") || !strings.Contains(page, "Key 9") {
		t.Error("the profile offers an eleventh passkey, or lacks the tenth")
	}
}

// withKeys gives a tab a device that keeps passkeys, and asks for a finger that is always there.
func withKeys(t *testing.T, tab context.Context) webauthn.AuthenticatorID {
	t.Helper()
	_, focus := chromedp.Call(tab, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	harness.Must(t, focus) // a browser asks for no passkey on a page behind another one, and other tests have pages too
	_, err := chromedp.Call(tab, webauthn.Enable, webauthn.EnableParams{})
	harness.Must(t, err)
	made, err := chromedp.Call(tab, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: "internal", HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}})
	harness.Must(t, err)
	return made.AuthenticatorID
}

// shows waits until an expression of the page is what is wanted.
func shows(t *testing.T, tab context.Context, what, script, want string) {
	t.Helper()
	got, err := "", error(nil)
	for deadline := time.Now().Add(harness.Patience / 3); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got, err = chromedp.Run(tab, chromedp.Evaluate[string]("String("+script+")")); err == nil && got == want { // a page may be on its way
			return
		}
	}
	t.Fatalf("%s is %q, want %q (%v)", what, got, want, err)
}

func do(t *testing.T, tab context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	harness.Must(t, chromedp.Do(tab, steps...))
}

// A user adds a passkey with a few clicks, signs out, and in again with one click, or without any; uses it after the
// password; and proves with it again who it is.
func TestPasskeyInABrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	u := s.NewShop(t).Staff(t, people.Finance)
	at := strings.Replace(u.URL, "127.0.0.1", "localhost", 1)
	tab := harness.Browser(t)
	_, err := chromedp.Call(tab, network.SetCookie, network.SetCookieParams{Name: "cascada", Value: u.Cookie, URL: at})
	harness.Must(t, err)
	device := withKeys(t, tab)
	noOffer := page.AddScriptToEvaluateOnNewDocumentParams{Source: "if (window.PublicKeyCredential) PublicKeyCredential.isConditionalMediationAvailable = async () => false"}
	quiet, err := chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, noOffer)
	harness.Must(t, err) // the page offers nothing by itself: the click is tried first

	do(t, tab, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(at+"/dashboard/profile"), chromedp.Click(`a[href$="/passkeys/new"]`), chromedp.WaitVisible(`#f-name`))
	harness.Accessible(t, tab, "the page to add a passkey")
	harness.Shoot(t, tab, "passkey-new")
	do(t, tab, chromedp.SendKeys(`#f-name`, "My laptop"), chromedp.SendKeys(`#f-old`, harness.StaffPassword), chromedp.Click(`form[data-passkey] button.primary`), chromedp.WaitVisible(`pre`))
	shows(t, tab, "the page", "document.querySelector('h1').textContent", "Recovery codes")
	do(t, tab, chromedp.Click(`a.button.primary`), chromedp.WaitVisible(`[data-dialog="passkey-remove-0"]`))
	harness.Accessible(t, tab, "the profile with a passkey")
	harness.Shoot(t, tab, "profile")

	out := func() {
		t.Helper()
		do(t, tab, chromedp.Navigate(at+"/dashboard/profile"), chromedp.Click(`[aria-label="Your account"]`), chromedp.Click(`form[action$="/sign-out"] button`))
		shows(t, tab, "the page", "document.querySelector('h1').textContent", "Sign in")
	}
	out()
	do(t, tab, chromedp.WaitVisible(`form[data-passkey="sign-in"] button`))
	harness.Accessible(t, tab, "the page to sign in")
	harness.Shoot(t, tab, "sign-in")
	do(t, tab, chromedp.Click(`form[data-passkey="sign-in"] button`), chromedp.WaitVisible(`.side, h1`))
	shows(t, tab, "the page", "location.pathname.startsWith('/dashboard/sign-in')", "false")

	out()
	do(t, tab, chromedp.SendKeys(`#f-email`, u.User.Email), chromedp.SendKeys(`#f-password`, harness.StaffPassword), chromedp.Click(`button.primary`), chromedp.WaitVisible(`form[data-passkey="prove"] button`))
	harness.Accessible(t, tab, "the second factor")
	harness.Shoot(t, tab, "code")
	do(t, tab, chromedp.Click(`form[data-passkey="prove"] button`))
	shows(t, tab, "the page", "location.pathname.startsWith('/dashboard/sign-in')", "false")

	do(t, tab, chromedp.Navigate(at+"/dashboard/again?next=/dashboard/profile"), chromedp.WaitVisible(`form[data-passkey="prove"] button`))
	harness.Accessible(t, tab, "the second factor once more")
	harness.Shoot(t, tab, "again")
	do(t, tab, chromedp.Click(`form[data-passkey="prove"] button`))
	shows(t, tab, "the page", "location.pathname", "/dashboard/profile")

	out()
	_, err = chromedp.Call(tab, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: device})
	harness.Must(t, err)
	do(t, tab, chromedp.Navigate(at+"/dashboard/sign-in"), chromedp.Click(`form[data-passkey="sign-in"] button`))
	shows(t, tab, "what it says of a wrong finger", "document.querySelector('form[data-passkey] [role=alert]').textContent", "No passkey was chosen. Try again, or use another way.")
	_, err = chromedp.Call(tab, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: device, IsUserVerified: true})
	harness.Must(t, err)
	_, err = chromedp.Call(tab, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(quiet))
	harness.Must(t, err)
	do(t, tab, chromedp.Navigate(at+"/dashboard/sign-in?next=/dashboard/profile")) // the browser offers the passkey beside the e-mail field, and the device takes it
	shows(t, tab, "the page", "location.pathname", "/dashboard/profile")

	do(t, tab, chromedp.Click(`[data-dialog="passkey-remove-0"]`), chromedp.WaitVisible(`#passkey-remove-0 .button.bad`))
	harness.Accessible(t, tab, "the question before a passkey is removed")
	harness.Shoot(t, tab, "passkey-remove")
	do(t, tab, chromedp.Click(`#passkey-remove-0 .button.bad`))
	shows(t, tab, "the message", "document.querySelector('.notice.good')?.textContent.trim() ?? ''", "The passkey was removed.")
	_, err = chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, noOffer) // the device would take each offer at once
	harness.Must(t, err)
	out()
	do(t, tab, chromedp.Click(`form[data-passkey="sign-in"] button`))
	shows(t, tab, "the page after the removal", "document.querySelector('.notice.bad')?.textContent.trim() ?? ''", "This passkey was not accepted: try again, or use another way")
}

// On an IP address there is no button, but a link to where there is one.
func TestPasskeyNeedsAName(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	u := s.NewShop(t).Staff(t, people.Owner)
	tab := u.Tab(t, "/dashboard/profile/passkeys/new")
	do(t, tab, chromedp.WaitVisible(`[data-passkey-elsewhere] a`))
	shows(t, tab, "the form's absence", "document.querySelector('form[data-passkey]').hidden", "true")
	shows(t, tab, "the link", "document.querySelector('[data-passkey-elsewhere] a').href", strings.Replace(u.URL, "127.0.0.1", "localhost", 1)+"/dashboard/profile/passkeys/new")
	harness.Accessible(t, tab, "the page to add a passkey on an IP address")
	harness.Shoot(t, tab, "passkey-elsewhere")
}
