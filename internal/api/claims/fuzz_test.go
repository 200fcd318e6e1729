package claims

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/api/calltest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
)

// FuzzQuery: the list of claims reads any query string, or refuses it.
func FuzzQuery(f *testing.F) {
	l := calltest.NewLists()
	calltest.Add(l, "claims", func(in *claimsIn) calltest.Query {
		return calltest.Query{Page: in.Rows(), Texts: []string{string(in.Status), string(in.Type), in.TransactionID}}
	})
	l.Fuzz(f)
}

// A file of evidence that is taken is of the type that it is said to be, and its name leads
// nowhere.
func FuzzEvidence(f *testing.F) {
	for _, c := range [][3]string{
		{"receipt.pdf", "application/pdf", "%PDF-1.7\n"}, {"a.png", "image/png", "\x89PNG\r\n\x1a\n"}, {"a.jpg", "image/jpeg", "\xff\xd8\xff"}, {"a.txt", "text/plain", "caf\u00e9\n"},
		{"../a.txt", "text/plain", "x"}, {`C:\a.txt`, "text/plain", "x"}, {"a\x00.txt", "text/plain", "\x00"}, {"a.txt", "text/plain", "\x1b[31m"}, {"a.html", "image/png", "<script>"}, {"a.txt", "text/plain", "\xff"},
	} {
		f.Add(c[0], c[1], base64.StdEncoding.EncodeToString([]byte(c[2])))
	}
	f.Add("a.txt", "text/plain", "eA")
	f.Add("a.txt", "text/plain", "e\nA==")
	f.Fuzz(func(t *testing.T, name, kind, content string) {
		known := slices.Contains(evidence.Types(), kind)
		file := EvidenceUpload{Name: name, ContentType: kind, Content: content}
		if issues := file.check("file"); len(issues) > 0 || content == "" || !known {
			return
		}
		if strings.ContainsAny(name, "/\\\x00\r\n") {
			t.Errorf("the name %q is taken", name)
		}
		bytes, err := base64.StdEncoding.DecodeString(content)
		if err != nil || string(bytes) != string(file.content) || len(bytes) > pay.MaxEvidenceFile || !evidence.Is(kind, bytes) {
			t.Errorf("%q is taken as %s: %q, %v", content, kind, file.content, err)
		}
		if kind == "text/plain" && strings.ContainsAny(string(bytes), "\x00\x1b\x7f") {
			t.Errorf("%q is taken as text", bytes)
		}
		if d := file.described(); d.Size != int64(len(bytes)) || d.Type != kind || len(d.SHA256) != 64 {
			t.Errorf("%q is described as %+v", content, d)
		}
	})
}
