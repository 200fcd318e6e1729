package dashboard

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// device keeps a passkey, and answers challenges as a browser on it does. It can also lie.
type device struct {
	origin  string // of the page
	host    string // that the passkey is for
	key     *ecdsa.PrivateKey
	id      []byte
	user    string         // as the service called the user
	counter uint32         // 0: it does not count, as keys that are copied to other devices
	unsure  bool           // it does not ask for finger or PIN
	absent  bool           // nobody touches it
	tail    []byte         // that it signs behind its data
	lies    map[string]any // of the browser, in place of what it knows
}

func newDevice(t *testing.T, u harness.Staff) *device {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	harness.Must(t, err)
	_, port, _ := strings.Cut(strings.TrimPrefix(u.URL, "http://"), ":")
	return &device{origin: "http://localhost:" + port, host: "localhost", key: key, id: []byte(rand.Text())}
}

// b64 is base64url.
var b64 = base64.RawURLEncoding.EncodeToString

// flags of the authenticator's data: somebody was there, was verified, and a key follows.
const (
	present  = 1
	verified = 4
	withKey  = 64
)

// data is what the device signs about itself.
func (d *device) data(flags byte) []byte {
	sum := sha256.Sum256([]byte(d.host))
	if !d.unsure {
		flags |= verified
	}
	if d.absent {
		flags &^= present
	}
	return append(binary.BigEndian.AppendUint32(append(sum[:], flags), d.counter), d.tail...)
}

// client is what the browser adds.
func (d *device) client(kind, challenge string) []byte {
	says := map[string]any{"type": kind, "challenge": challenge, "origin": d.origin, "crossOrigin": false}
	maps.Copy(says, d.lies)
	text, _ := json.Marshal(says) // strings can always be written
	return text
}

func (d *device) answer(response map[string]any) string {
	text, _ := json.Marshal(map[string]any{"id": b64(d.id), "rawId": b64(d.id), "type": "public-key", "clientExtensionResults": map[string]any{}, "response": response})
	return string(text)
}

// create answers the challenge to add a passkey.
func (d *device) create(challenge, user string) string {
	d.user = user
	point, _ := d.key.PublicKey.Bytes() // 4, then x and y
	key := append([]byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32}, point[1:33]...)
	key = append(append(key, 0x22, 0x58, 32), point[33:]...)
	data := append(d.data(present|withKey), make([]byte, 16)...) // no model
	data = binary.BigEndian.AppendUint16(data, uint16(len(d.id)))
	data = append(append(data, d.id...), key...)
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	return d.answer(map[string]any{
		"clientDataJSON": b64(d.client("webauthn.create", challenge)), "attestationObject": b64(append(object, data...)), "transports": []string{"internal"},
	})
}

// get answers a challenge of a sign-in.
func (d *device) get(t *testing.T, challenge string) string {
	t.Helper()
	if d.counter > 0 {
		d.counter++
	}
	data, client := d.data(present), d.client("webauthn.get", challenge)
	of := sha256.Sum256(client)
	sum := sha256.Sum256(append(append([]byte(nil), data...), of[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, d.key, sum[:])
	harness.Must(t, err)
	return d.answer(map[string]any{
		"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(signature), "userHandle": b64([]byte(d.user)),
	})
}

// asked is a challenge as the script of a page gets it, with the cookie.
type asked struct {
	challenge, user, cookie string
	keys                    int // that the user has
}

// askPasskey gets a challenge.
func askPasskey(t *testing.T, u harness.Staff, path string) asked {
	t.Helper()
	a := u.Ask(t, http.MethodPost, path, nil)
	var options struct {
		PublicKey struct {
			Challenge string
			User      struct{ ID string }
			Allow     []any  `json:"allowCredentials"`
			UV        string `json:"userVerification"`
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &options); err != nil || a.Status != http.StatusOK || options.PublicKey.Challenge == "" {
		t.Fatalf("POST %s answers %d: %s (%v)", path, a.Status, a.Text(), err)
	}
	got := asked{challenge: options.PublicKey.Challenge, keys: len(options.PublicKey.Allow)}
	if raw, err := base64.RawURLEncoding.DecodeString(options.PublicKey.User.ID); err == nil {
		got.user = string(raw)
	}
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name != "cascada_passkey" {
			continue
		}
		got.cookie = c.Value
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge > 300 {
			t.Errorf("the cookie of a challenge is %s", c)
		}
	}
	return got
}

// answerPasskey sends a form with the answer to a challenge.
func answerPasskey(t *testing.T, u harness.Staff, path string, q asked, answer string, more ...string) harness.Answer {
	t.Helper()
	form := url.Values{"answer": {answer}}
	for i := 0; i+1 < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	cookies := "Cookie: cascada_passkey=" + q.cookie
	if u.Cookie != "" {
		cookies += "; cascada=" + u.Cookie
	}
	return u.Ask(t, http.MethodPost, path, form, cookies)
}

// addPasskey gives a user a passkey on a device.
func addPasskey(t *testing.T, u harness.Staff, d *device, name string) harness.Answer {
	t.Helper()
	q := askPasskey(t, u, "/dashboard/profile/passkeys/challenge")
	return answerPasskey(t, u, "/dashboard/profile/passkeys", q, d.create(q.challenge, q.user), "name", name, "old", harness.StaffPassword)
}

// enterBy signs in with a device alone.
func enterBy(t *testing.T, u harness.Staff, d *device) harness.Answer {
	t.Helper()
	q := askPasskey(t, stranger(u), "/dashboard/sign-in/passkey/challenge")
	return answerPasskey(t, stranger(u), "/dashboard/sign-in/passkey", q, d.get(t, q.challenge))
}
