package dashboard

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

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
