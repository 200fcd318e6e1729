package sender_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

const (
	secret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	earlier = "whsec_b2xkIHNlY3JldCBvZiB0aGUgc2hvcA=="
	foreign = "whsec_c29tZWJvZHkgZWxzZSdzIHNlY3JldA=="
)

var (
	midnight = time.Date(2026, 10, 18, 0, 0, 0, 0, time.UTC)
	body     = []byte(`{"id":"evt_1","amount":12.50}` + "\n")
)

// The values come from another implementation of HMAC, over "<t>.<body>" with the
// whole secret as the key. Receivers copy them into their own tests.
func TestSignMatchesThePublishedVectors(t *testing.T) {
	const (
		v1 = "t=1792281600,v1=32510af1e2b472edf85c608654fc827de55cb50c35d733c06d45e1c947d80604"
		v0 = ",v0=05cd6f9738f42ebdefc4f4cd83604afc435a4174aa16f47ddf98d05b88f779a3"
	)
	if got := sender.Sign(midnight, body, secret, ""); got != v1 {
		t.Errorf("the signature is %q, want %q", got, v1)
	}
	if got := sender.Sign(midnight, body, secret, earlier); got != v1+v0 {
		t.Errorf("during a rotation the signature is %q, want %q", got, v1+v0)
	}
}

// The vector is the Standard Webhooks project's own: its libraries test with it.
func TestSignStandardMatchesTheVectorOfTheSpecification(t *testing.T) {
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	got := sender.SignStandard("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`), secret, "")
	if got != want {
		t.Errorf("the signature is %q, want %q", got, want)
	}
}

func TestVerifyTakesItsOwnSecretOnly(t *testing.T) {
	plain := sender.Sign(midnight, body, secret, "")
	rotating := sender.Sign(midnight, body, secret, earlier)
	digest, _ := strings.CutPrefix(plain, "t=1792281600,")
	cases := []struct {
		what, header, body, secret string
		want                       error
	}{
		{"a genuine delivery", plain, string(body), secret, nil},
		{"a delivery to somebody else", plain, string(body), foreign, sender.ErrSignature},
		{"a secret that was rotated away", plain, string(body), earlier, sender.ErrSignature},
		{"a rotation, to a receiver with the new secret", rotating, string(body), secret, nil},
		{"a rotation, to a receiver with the previous secret", rotating, string(body), earlier, nil},
		{"a rotation, to somebody else", rotating, string(body), foreign, sender.ErrSignature},
		{"no secret at all", plain, string(body), "", sender.ErrSignature},
		{"a changed body", plain, strings.Replace(string(body), "12.50", "92.50", 1), secret, sender.ErrSignature},
		{"a body written anew", plain, strings.TrimSpace(string(body)), secret, sender.ErrSignature},
		{"an empty body", plain, "", secret, sender.ErrSignature},
		{"a changed time", strings.Replace(plain, "t=1792281600", "t=1792281601", 1), string(body), secret, sender.ErrSignature},
		{"a changed signature", plain[:len(plain)-1] + "5", string(body), secret, sender.ErrSignature},
		{"a signature cut short", plain[:len(plain)-2], string(body), secret, sender.ErrSignature},
		{"an empty signature", "t=1792281600,v1=", string(body), secret, sender.ErrSignature},
		{"upper-case hex and spaces", "t=1792281600, v1=" + strings.ToUpper(digest[3:]), string(body), secret, nil},
		{"another order", digest + ",t=1792281600", string(body), secret, nil},
		{"a scheme of the future", plain + ",v2=abc,more", string(body), secret, nil},
		{"only a scheme of the future", "t=1792281600,v2=" + digest[3:], string(body), secret, sender.ErrSignature},
		{"two times", "t=1," + plain, string(body), secret, sender.ErrSignature},
		{"no time", digest, string(body), secret, sender.ErrSignature},
		{"a time that is no number", "t=noon," + digest, string(body), secret, sender.ErrSignature},
		{"a time past 64 bits", "t=99999999999999999999," + digest, string(body), secret, sender.ErrSignature},
		{"no header", "", string(body), secret, sender.ErrSignature},
		{"separators only", ",=,,==,", string(body), secret, sender.ErrSignature},
		{"a header without end", plain + strings.Repeat(",v1=00", 1000), string(body), secret, sender.ErrSignature},
	}
	for _, c := range cases {
		err := sender.Verify(c.header, []byte(c.body), c.secret, midnight, sender.Tolerance)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: Verify is %v, want %v", c.what, err, c.want)
		}
	}
}

func TestSignaturesGoStaleAfterFiveMinutesEitherWay(t *testing.T) {
	genuine := sender.Sign(midnight, body, secret, "")
	cases := []struct {
		now  time.Time
		want error
	}{
		{midnight.Add(299 * time.Second), nil},
		{midnight.Add(300 * time.Second), nil},
		{midnight.Add(300*time.Second + 999*time.Millisecond), nil},
		{midnight.Add(301 * time.Second), sender.ErrStale},
		{midnight.Add(48 * time.Hour), sender.ErrStale},
		{midnight.Add(-300 * time.Second), nil},
		{midnight.Add(-301 * time.Second), sender.ErrStale},
		{time.Time{}, sender.ErrStale},
	}
	for _, c := range cases {
		if err := sender.Verify(genuine, body, secret, c.now, sender.Tolerance); !errors.Is(err, c.want) {
			t.Errorf("at %v, signed at %v, Verify is %v, want %v", c.now, midnight, err, c.want)
		}
	}
	// A forger learns nothing about the clock.
	late := midnight.Add(time.Hour)
	if err := sender.Verify(genuine, body, foreign, late, sender.Tolerance); !errors.Is(err, sender.ErrSignature) {
		t.Errorf("a stale forgery is %v, want ErrSignature", err)
	}
	// Milliseconds in place of seconds are some fifty thousand years ahead.
	millis := sender.Sign(time.Unix(midnight.UnixMilli(), 0), body, secret, "")
	if err := sender.Verify(millis, body, secret, midnight, sender.Tolerance); !errors.Is(err, sender.ErrStale) {
		t.Errorf("a time in milliseconds is %v, want ErrStale", err)
	}
	most := sender.Sign(time.Unix(1<<62, 0), body, secret, "")
	if err := sender.Verify(most, body, secret, midnight, sender.Tolerance); !errors.Is(err, sender.ErrStale) {
		t.Errorf("a time at the end of time is %v, want ErrStale", err)
	}
}

func TestStandardSignatureCoversIDTimeAndBody(t *testing.T) {
	rotating := sender.SignStandard("evt_1", midnight, body, secret, earlier)
	cases := []struct {
		what, id string
		at       time.Time
		body     []byte
		secret   string
		want     bool
	}{
		{"the new secret", "evt_1", midnight, body, secret, true},
		{"the previous secret", "evt_1", midnight, body, earlier, true},
		{"a foreign secret", "evt_1", midnight, body, foreign, false},
		{"another id", "evt_2", midnight, body, secret, false},
		{"another time", "evt_1", midnight.Add(time.Second), body, secret, false},
		{"another body", "evt_1", midnight, append([]byte(" "), body...), secret, false},
	}
	for _, c := range cases {
		if got := standardVerifies(t, rotating, c.id, c.at.Unix(), c.body, c.secret); got != c.want {
			t.Errorf("%s: the standard signature verifies: %t, want %t", c.what, got, c.want)
		}
	}
	if alone := sender.SignStandard("evt_1", midnight, body, secret, ""); strings.Contains(alone, " ") {
		t.Errorf("outside a rotation the standard signature is %q, want one only", alone)
	}
}

// standardVerifies does what the Standard Webhooks libraries do: any one signature of
// the space-separated list will do, keyed with the decoded secret.
func standardVerifies(t *testing.T, header, id string, unix int64, body []byte, secret string) bool {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, sender.SecretPrefix))
	if err != nil {
		t.Fatalf("the secret %q does not decode: %v", secret, err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(unix, 10) + "."))
	mac.Write(body)
	want := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for signature := range strings.FieldsSeq(header) {
		if version, value, _ := strings.Cut(signature, ","); version == "v1" && value == want {
			return true
		}
	}
	return false
}
