package web_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cascadapay/cascada/internal/web"
)

// A body that has arrived reads as it was sent, and ends as it ended.
func TestArrivedBodyReadsAsItWasSent(t *testing.T) {
	const most = 100 << 10
	broken := errors.New("the connection broke off")
	for _, size := range []int{0, 1, 4095, 4096, 4097, 70 << 10, most, most + 1, 2 * most} {
		for name, from := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with its end": iotest.DataErrReader,
			"broken": func(r io.Reader) io.Reader { return io.MultiReader(r, iotest.ErrReader(broken)) },
		} {
			sent := strings.Repeat("abcdefg", size/7+1)[:size]
			r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(from(strings.NewReader(sent))))
			if r.ContentLength = -1; name == "at once" {
				r.ContentLength = int64(size)
			}
			_, err := web.Arrive(httptest.NewRecorder(), r, web.Arrival{Most: most, Beyond: most})
			got, again := io.ReadAll(r.Body)
			if string(got) != sent[:min(size, most)] {
				t.Errorf("%d bytes %s: %d arrived", size, name, len(got))
			}
			_, long := errors.AsType[*http.MaxBytesError](again)
			if want := size > most; long != want || !want && name == "broken" != errors.Is(again, broken) || !errors.Is(err, again) {
				t.Errorf("%d bytes %s: the body ends with %v, and it was told %v", size, name, again, err)
			}
		}
	}
}
