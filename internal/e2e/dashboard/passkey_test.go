package dashboard

import (
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
