package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRequestsDifferInTheirOrderOnly(t *testing.T) {
	c := Config{URL: "http://127.0.0.1:8080", Method: "sbx_pix", Amount: "25.50", Idempotency: true}
	shop := newTemplate(c, "sk_test_x")
	order := newOrder(0xb00c1a05, 0x3f)
	if len(order) != orderLength || len(mark) != orderLength {
		t.Fatalf("an order has %d characters and its mark %d, want %d", len(order), len(mark), orderLength)
	}
	seen := map[string]bool{}
	var buffer []byte
	for i := range 3 {
		putHex(order[orderRequest:], uint64(i+0xfffe))
		buffer = shop.fill(buffer, order)
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(buffer)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		if err != nil || int64(len(text)) != r.ContentLength {
			t.Fatalf("the body has %d bytes of %d, %v", len(text), r.ContentLength, err)
		}
		var body map[string]any
		if err := json.Unmarshal(text, &body); err != nil {
			t.Fatal(err)
		}
		key := r.Header.Get("Idempotency-Key")
		if seen[key] || body["merchantOrderId"] != key || key != string(order) || r.RequestURI != "/api/v1/payments" ||
			r.Header.Get("Authorization") != "Bearer sk_test_x" || body["amount"] != 25.5 || body["documentId"] == "" {
			t.Errorf("request %d is %s", i, buffer)
		}
		seen[key] = true
	}
	c.Idempotency = false
	if got := newTemplate(c, "k"); len(got.marks) != 1 || bytes.Contains(got.text, []byte("Idempotency-Key")) {
		t.Errorf("without keys the request is %s", got.text)
	}
}

func TestOrdersNameRunConnectionAndRequest(t *testing.T) {
	order := newOrder(0xb00c1a05, 0x3f)
	putHex(order[orderRequest:], 0x2a)
	if got, want := string(order), "bb00c1a05c003fr0000002a"; got != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
	if a, b := runName(time.UnixMilli(1000)), runName(time.UnixMilli(1010)); a == b {
		t.Errorf("two runs have the name %x", a)
	}
}

func TestRepliesAreReadWholeAndNoFurther(t *testing.T) {
	long := strings.Repeat("x", 3*readerSize)
	cases := []struct {
		what, wire string
		want       reply // with the part of the body that is compared
	}{
		{"a short reply", "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}", reply{status: 201, body: []byte(`{"a":1}`)}},
		{"names in lower case", "HTTP/1.1 402 \r\ncontent-length:2\r\nconnection: Close\r\n\r\n{}", reply{status: 402, body: []byte("{}"), last: true}},
		{"a replay", "HTTP/1.1 201 Created\r\nIdempotency-Replayed: true\r\nContent-Length: 0\r\n\r\n", reply{status: 201, replayed: true}},
		{"bare line ends", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", reply{status: 200, body: []byte("x")}},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", reply{status: 200, body: []byte("abc0123456789")}},
		{"a body larger than the buffer", "HTTP/1.1 200 OK\r\nContent-Length: 24576\r\n\r\n" + long, reply{status: 200, body: []byte(long[:readerSize])}},
		{"chunks larger than the buffer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n6000\r\n" + long + "\r\n0\r\n\r\n", reply{status: 200, body: []byte(long[:readerSize])}},
	}
	for _, c := range cases {
		const next = "HTTP/1.1 599 Next\r\nContent-Length: 0\r\n\r\n"
		r := bufio.NewReaderSize(strings.NewReader(c.wire+next), readerSize)
		got, err := readReply(r, make([]byte, readerSize))
		if err != nil || got.status != c.want.status || got.replayed != c.want.replayed || got.last != c.want.last ||
			!bytes.Equal(got.body, c.want.body) || got.size != len(c.wire) {
			t.Errorf("%s was read as %d, %d bytes, %.60q, %v; want %d bytes", c.what, got.status, got.size, got.body, err, len(c.wire))
		}
		if after, err := readReply(r, nil); err != nil || after.status != 599 {
			t.Errorf("after %s the next reply is %d, %v, want 599", c.what, after.status, err)
		}
	}
}

func TestWhatIsNotHTTPIsAnError(t *testing.T) {
	for _, wire := range []string{
		"", "HTTP/1.1", "HTTP/2 200\r\n\r\n", "HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n", "<html>\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n",
	} {
		if got, err := readReply(bufio.NewReaderSize(strings.NewReader(wire), readerSize), make([]byte, 16)); err == nil {
			t.Errorf("%q was read as %+v, want an error", wire, got)
		}
	}
}

func FuzzReadReply(f *testing.F) {
	f.Add([]byte("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		p, err := readReply(bufio.NewReaderSize(bytes.NewReader(wire), 16), make([]byte, 8))
		if err == nil && p.size > len(wire) {
			t.Errorf("a reply of %d bytes was read from %d", p.size, len(wire))
		}
	})
}
