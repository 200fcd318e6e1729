package sender_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

// signatures are the two headers that a vector gives.
type signatures struct {
	Service  string `json:"service"`
	Standard string `json:"webhook-signature"`
}

// vectors are the published ones.
type vectors struct {
	Secret         string
	PreviousSecret string
	Timestamp      int64
	EventID        string
	Body           string
	signatures
	Rotation signatures `json:"during a rotation"`
	Refused  map[string]struct {
		Secret string
		Body   *string
		Header string `json:"service"`
		Now    int64
	} `json:"must be refused"`
}

// Receivers copy the vectors of the documentation into their own tests.
func TestTheDocumentedVectorsAreOurs(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/WEBHOOKS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "### Test vectors")
	_, after, fenced := strings.Cut(after, "```json\n")
	block, _, closed := strings.Cut(after, "```")
	block = strings.ReplaceAll(block, strconv.Quote(sender.SignatureHeader), `"service"`) // a tag is no constant
	if !found || !fenced || !closed {
		t.Fatal("docs/WEBHOOKS.md has no test vectors")
	}
	var v vectors
	decoder := json.NewDecoder(strings.NewReader(block))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil {
		t.Fatal(err)
	}
	// The embedded type is not exported, and so not read by the decoder.
	if err := json.Unmarshal([]byte(block), &v.signatures); err != nil {
		t.Fatal(err)
	}
	at, body := time.Unix(v.Timestamp, 0), []byte(v.Body)
	for what, pair := range map[string][2]string{
		sender.SignatureHeader:                  {sender.Sign(at, body, v.Secret, ""), v.Service},
		"webhook-signature":                     {sender.SignStandard(v.EventID, at, body, v.Secret, ""), v.Standard},
		sender.SignatureHeader + ", a rotation": {sender.Sign(at, body, v.Secret, v.PreviousSecret), v.Rotation.Service},
		"webhook-signature, a rotation":         {sender.SignStandard(v.EventID, at, body, v.Secret, v.PreviousSecret), v.Rotation.Standard},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, the page says %q", what, pair[0], pair[1])
		}
	}
	for _, secret := range []string{v.Secret, v.PreviousSecret} {
		if err := sender.Verify(v.Rotation.Service, body, secret, at, sender.Tolerance); err != nil {
			t.Errorf("during the rotation %s does not verify: %v", secret, err)
		}
	}
	if len(v.Refused) != 4 {
		t.Errorf("the page has %d deliveries to refuse, want 4", len(v.Refused))
	}
	for what, change := range v.Refused {
		secret, header, sent, now := v.Secret, v.Service, body, at
		if change.Secret != "" {
			secret = change.Secret
		}
		if change.Header != "" {
			header = change.Header
		}
		if change.Body != nil {
			sent = []byte(*change.Body)
		}
		if change.Now != 0 {
			now = time.Unix(change.Now, 0)
		}
		if sender.Verify(header, sent, secret, now, sender.Tolerance) == nil {
			t.Errorf("%s is not refused", what)
		}
	}
}

func TestNewSecretsAreOfStandardWebhooks(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		secret := sender.NewSecret()
		key, ok := strings.CutPrefix(secret, sender.SecretPrefix)
		if !ok || len(key) != 44 || strings.ContainsAny(key, "-_=") || seen[secret] {
			t.Fatalf("%q is not whsec_ and 33 bytes of chance in standard base64", secret)
		}
		seen[secret] = true
	}
}
