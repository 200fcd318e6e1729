package wire

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// What a body is that is no JSON, or is in another encoding, is said in its own words.
func TestForeignBodiesAreNamed(t *testing.T) {
	for body, want := range map[string]string{
		"\x1f\x8b\x08\x00": "gzip", "\xff\xfe{\x00\"\x00": "UTF-16", "\xfe\xff\x00{\x00\"": "UTF-16", "{\x00\"\x00": "UTF-16", "\x00{\x00\"": "UTF-16",
		`{"amount":100.}`: "a digit on either side of the point", `{"amount":100.,"b":1}`: "a digit on either side of the point",
	} {
		var v any
		if err := unmarshal([]byte(body), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want …%s…", body, err, want)
		}
	}
}

// A byte order mark in front means nothing: who reads the body never sees it. Compressed bodies are refused with the reason.
func TestBodyIsReadWithoutItsMark(t *testing.T) {
	op := &huma.Operation{RequestBody: &huma.RequestBody{Required: true}}
	request := func(body, encoding string) *http.Request {
		r := &http.Request{Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)), Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(body)))}
		if encoding != "" {
			r.Header.Set("Content-Encoding", encoding)
		}
		return r
	}
	for body, want := range map[string]string{
		"\xef\xbb\xbf{}": "{}", "{}": "{}", "": "", "\xef": "\xef", "\xef\xbb\xbf": "", "\xef\xbb\xbf\xef\xbb\xbf{}": "\xef\xbb\xbf{}", `{"a":1}`: `{"a":1}`,
	} {
		r := request(body, "identity")
		if err := CheckContentType(op, r); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r.Body); err != nil || string(got) != want {
			t.Errorf("%q is read as %q, %v", body, got, err)
		}
	}
	for _, encoding := range []string{"gzip", "GZIP", "br", "gzip, identity"} {
		refused, ok := errors.AsType[*problem.Error](CheckContentType(op, request("{}", encoding)))
		if !ok || refused.Code != problem.ContentTypeRequired || !strings.Contains(message.API(refused), "Content-Encoding") {
			t.Errorf("%s: %v", encoding, refused)
		}
	}
	broken := request("", "")
	broken.Body = io.NopCloser(iotest.ErrReader(io.ErrNoProgress))
	if err := CheckContentType(op, broken); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(broken.Body); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a body that breaks off ends with %v", err)
	}
}
