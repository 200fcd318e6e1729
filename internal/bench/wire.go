package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// apiPath is the API's root below the service's address.
const apiPath = "/api/v1"

// An order id is "b" and hex digits: eight of the run, four of the connection and eight of
// its request: b6560c1a0-003f-0000002a. It is unique, so it serves as the idempotency key
// too.
const (
	orderRun        = 1
	orderConnection = 10
	orderRequest    = 15
	orderLength     = 23
)

func runName(t time.Time) uint64 { return uint64(t.UnixMilli()/10) & 0xffffffff }

func newOrder(run uint64, connection int) []byte {
	return fmt.Appendf(nil, "b%08xc%04xr%08x", run, connection, 0)
}

// putHex writes the low digits of n.
func putHex(into []byte, n uint64) {
	for i := len(into) - 1; i >= 0; i-- {
		into[i] = "0123456789abcdef"[n&15]
		n >>= 4
	}
}

// template is the bytes of a shop's request. Only the order id differs between requests;
// marks are its places.
type template struct {
	text  []byte
	marks []int
}

// mark is an order id that no request has.
const mark = "b________c____r________"

// document holds documents for the sandbox methods that require the buyer's.
var document = map[string]string{"sbx_pix": "52998224725", "sbx_spei": "GODE561231GR8"}

func newTemplate(c Config, bearer string) template {
	fields := map[string]any{"amount": json.Number(c.Amount), "paymentMethodId": c.Method, "merchantOrderId": mark}
	if d, ok := document[c.Method]; ok {
		fields["documentId"] = d
	}
	body, err := json.Marshal(fields)
	if err != nil {
		// An amount that is not a number is sent as it is: the service refuses it.
		body = fmt.Appendf(nil, `{"amount":%q,"paymentMethodId":%q,"merchantOrderId":%q}`, c.Amount, c.Method, mark)
	}
	head := "POST " + apiPath + "/payments HTTP/1.1\r\n" +
		"Host: " + strings.TrimPrefix(c.URL, "http://") + "\r\n" +
		"Authorization: Bearer " + bearer + "\r\n" +
		"Content-Type: application/json\r\n" +
		"Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	if c.Idempotency {
		head += "Idempotency-Key: " + mark + "\r\n"
	}
	t := template{text: append([]byte(head+"\r\n"), body...)}
	for from := 0; ; {
		i := bytes.Index(t.text[from:], []byte(mark))
		if i < 0 {
			return t
		}
		t.marks = append(t.marks, from+i)
		from += i + len(mark)
	}
}

// fill writes the request of an order into buffer and returns it.
func (t template) fill(buffer, order []byte) []byte {
	buffer = append(buffer[:0], t.text...)
	for _, at := range t.marks {
		copy(buffer[at:], order)
	}
	return buffer
}

const (
	// readerSize holds a whole reply of about 1.5 KB.
	readerSize = 8 << 10
	// maxBody is the most bytes that are read of a reply.
	maxBody = 1 << 20
)

var errMalformed = errors.New("the reply is not HTTP as we know it")

// reply is the part of a reply that we look at.
type reply struct {
	status   int
	body     []byte // its first bytes; valid until the next read
	size     int    // all of it on the wire
	replayed bool   // Idempotency-Replayed: true
	last     bool   // the server closes the connection
}

// readReply reads one reply. scratch holds bodies that come in chunks.
func readReply(r *bufio.Reader, scratch []byte) (reply, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return reply{}, err
	}
	if len(line) < len("HTTP/1.1 200\r\n") || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return reply{}, errMalformed
	}
	out := reply{size: len(line)}
	if out.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return reply{}, errMalformed
	}
	length, chunked := -1, false
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return reply{}, err
		}
		out.size += len(line)
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if value, ok := header(line, "Content-Length"); ok {
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 || length > maxBody {
				return reply{}, errMalformed
			}
		} else if value, ok := header(line, "Transfer-Encoding"); ok {
			chunked = bytes.EqualFold(value, []byte("chunked"))
		} else if value, ok := header(line, "Idempotency-Replayed"); ok {
			out.replayed = string(value) == "true"
		} else if value, ok := header(line, "Connection"); ok {
			out.last = bytes.EqualFold(value, []byte("close"))
		}
	}
	switch {
	case chunked:
		return out, out.readChunks(r, scratch)
	case length < 0:
		return reply{}, errMalformed
	}
	return out, out.readBody(r, length)
}

// header returns a header line's value if it has the name.
func header(line []byte, name string) ([]byte, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name)+1:]), true
}

// readBody shows the body where it lies in the reader's buffer.
func (re *reply) readBody(r *bufio.Reader, length int) error {
	shown, err := r.Peek(min(length, r.Size()))
	if err != nil {
		return err
	}
	re.body = shown
	re.size += length
	if length <= r.Size() {
		_, err = r.Discard(length) // leaves the bytes where they are
		return err
	}
	re.body = bytes.Clone(shown)
	_, err = r.Discard(length)
	return err
}

// readChunks gathers the body in scratch, up to its capacity.
func (re *reply) readChunks(r *bufio.Reader, scratch []byte) error {
	re.body = scratch[:0]
	for total := 0; ; {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		re.size += len(line)
		digits, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(";"))
		length, err := strconv.ParseUint(string(digits), 16, 31)
		if total += int(length); err != nil || total > maxBody {
			return errMalformed
		}
		if length == 0 {
			// We send no TE header, so there are no trailers.
			end, err := r.ReadSlice('\n')
			re.size += len(end)
			return err
		}
		n := min(int(length), cap(re.body)-len(re.body))
		kept := re.body[len(re.body) : len(re.body)+n]
		if _, err := io.ReadFull(r, kept); err != nil {
			return err
		}
		re.body = re.body[:len(re.body)+n]
		if _, err := r.Discard(int(length) - n + len("\r\n")); err != nil {
			return err
		}
		re.size += int(length) + len("\r\n")
	}
}

// text returns the string after key in JSON, without its quotes, or nil. It is not a
// parser: it finds the first such key at any depth, and knows no escapes, which ids, codes
// and times do not have.
func text(body []byte, key string) []byte {
	i := bytes.Index(body, []byte(key))
	if i < 0 {
		return nil
	}
	value := body[i+len(key):]
	end := bytes.IndexByte(value, '"')
	if end < 0 {
		return nil
	}
	return value[:end]
}
