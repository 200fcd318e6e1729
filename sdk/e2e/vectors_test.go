package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// vectors are the test vectors for receivers in docs/WEBHOOKS.md.
type vectors struct {
	Secret, PreviousSecret, Body, Header string
	Timestamp                            int64
	Rotation                             struct{ Header string } `json:"during a rotation"`
}

// attempt is one delivery that the programs verify, and what each must print.
type attempt struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
	Header string `json:"header"`
	Body   string `json:"body"`
	Now    int64  `json:"now"`
	want   string
}

// The SDKs accept and refuse what docs/WEBHOOKS.md says.
func TestDeliveriesAreVerifiedAsDocumented(t *testing.T) {
	var want []string
	list := attempts(t, readVectors(t))
	for _, a := range list {
		want = append(want, a.Name+" "+a.want)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CASCADA_VECTORS", string(text))
	for name, command := range programs(t) {
		compare(t, name, run(t, command, "vectors", "http://127.0.0.1:9", keys{"pk_test_a", "sk_test_b"}), want)
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	page, err := os.ReadFile("../../docs/WEBHOOKS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "### Test vectors")
	_, after, fenced := strings.Cut(after, "```json\n")
	block, _, closed := strings.Cut(after, "```")
	if !found || !fenced || !closed {
		t.Fatal("docs/WEBHOOKS.md has no test vectors")
	}
	var v vectors
	if err := json.Unmarshal([]byte(strings.ReplaceAll(block, `"X-Service-Signature"`, `"Header"`)), &v); err != nil || v.Header == "" || v.Rotation.Header == "" {
		t.Fatalf("the vectors are %+v, %v", v, err)
	}
	return v
}

// sign makes the header of a body.
func sign(secret, stamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "." + body))
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

func attempts(t *testing.T, v vectors) []attempt {
	t.Helper()
	at, stamp := v.Timestamp, strconv.FormatInt(v.Timestamp, 10)
	return []attempt{
		{"plain", v.Secret, v.Header, v.Body, at, "accepted"},
		{"rotation, new", v.Secret, v.Rotation.Header, v.Body, at, "accepted"},
		{"rotation, old", v.PreviousSecret, v.Rotation.Header, v.Body, at, "accepted"},
		{"later scheme", v.Secret, "v2=00, " + strings.ReplaceAll(v.Header, ",", " , "), v.Body, at, "accepted"},
		{"on time", v.Secret, v.Header, v.Body, at + 300, "accepted"},
		{"old", v.Secret, v.Header, v.Body, at + 301, "stale"},
		{"from the future", v.Secret, v.Header, v.Body, at - 301, "stale"},
		{"old and foreign", v.PreviousSecret, v.Header, v.Body, at + 301, "signature"},
		{"changed body", v.Secret, v.Header, "{}", at, "signature"},
		{"changed time", v.Secret, strings.Replace(v.Header, stamp, strconv.FormatInt(at+1, 10), 1), v.Body, at, "signature"},
		{"foreign secret", v.PreviousSecret, v.Header, v.Body, at, "signature"},
		{"two times", v.Secret, "t=1," + v.Header, v.Body, at, "signature"},
		{"no time", v.Secret, strings.Replace(v.Header, "t=", "s=", 1), v.Body, at, "signature"},
		{"no signature", v.Secret, "t=" + stamp, v.Body, at, "signature"},
		{"half a signature", v.Secret, v.Header[:len(v.Header)-2], v.Body, at, "signature"},
		{"no hex", v.Secret, "t=" + stamp + ",v1=" + strings.Repeat("é", 32), v.Body, at, "signature"},
		{"no header", v.Secret, "", v.Body, at, "signature"},
		{"long header", v.Secret, v.Header + strings.Repeat(",v1=00", 200), v.Body, at, "signature"},
		{"empty secret", "", sign("", stamp, v.Body), v.Body, at, "signature"},
		{"no event", v.Secret, sign(v.Secret, stamp, "[]"), "[]", at, "unreadable"},
		{"no JSON", v.Secret, sign(v.Secret, stamp, "{"), "{", at, "unreadable"},
	}
}
