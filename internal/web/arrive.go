package web

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// SmallForm is the most bytes of a form on a page that strangers may open, and of any form whose sender was not asked
	// who he is before it is read.
	SmallForm = 16 << 10
	// BodyWithin is how long a body of an API may take to arrive.
	BodyWithin = 5 * time.Second
	// moment is how long a body may take to arrive before its sender is asked again who he is.
	moment = 100 * time.Millisecond
	// The buffers of a body hold as many bytes again as have arrived, between these.
	leastPart, mostPart = 4 << 10, 64 << 10
)

// Arrival is how a body may arrive.
type Arrival struct {
	Most   int64         // bytes that are kept; a reader gets an http.MaxBytesError after them
	Beyond int64         // bytes after these that are read and dropped, so that the sender reads what was wrong
	Within time.Duration // how long it may take; 0: as the server has it
}

// Arrive waits for a request's body and keeps it in memory. Every edge calls it before it decides who the caller is and
// what the caller may do, and before it takes a turn or a lock. So nobody acts with rights that ended while the body was
// on its way, and a slow sender holds nobody up. An edge that must ask before, because only some callers may send a large
// body, asks again afterwards if late. The bytes are counted by whoever counts r.Body: see gate.StrangersBody.
//
// It returns why the body is not whole. A reader of r.Body learns the same after what did arrive.
func Arrive(w http.ResponseWriter, r *http.Request, how Arrival) (late bool, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return false, nil
	}
	if how.Within > 0 {
		Await(w, how.Within)
	}
	begun, from, body, size := time.Now(), r.Body, &arrived{}, 0
	r.Body = body
	bounded, least := http.MaxBytesReader(w, from, how.Most), leastPart
	if r.ContentLength >= 0 && r.ContentLength < leastPart {
		least = int(r.ContentLength) + 1
	}
	for body.end == nil {
		part, n := make([]byte, min(max(size, least), mostPart)), 0
		for n < len(part) && body.end == nil {
			var more int
			more, body.end = bounded.Read(part[n:])
			n += more
		}
		body.parts = append(body.parts, part[:n])
		size += n
	}
	if _, over := errors.AsType[*http.MaxBytesError](body.end); over && how.Beyond > 0 {
		_, _ = io.CopyN(io.Discard, from, how.Beyond) // it is too large, whatever else is wrong with it
	}
	if late = time.Since(begun) > moment; errors.Is(body.end, io.EOF) {
		if how.Within > 0 { // the server reads on, to learn whether the client leaves: the time for the body must not end the request
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		}
		return late, nil
	}
	w.Header().Set("Connection", "close") // or the server waits for the rest of the body before it answers
	return late, body.end
}

// Read waits for a body and returns it.
func Read(w http.ResponseWriter, r *http.Request, how Arrival) ([]byte, error) {
	if _, err := Arrive(w, r, how); err != nil || r.Body == nil {
		return nil, err
	}
	return io.ReadAll(r.Body)
}

// arrived is a body in memory. What has been read is let go.
type arrived struct {
	parts [][]byte
	end   error // after the parts: io.EOF, or why the body is not whole
}

// Read implements io.Reader.
func (a *arrived) Read(p []byte) (int, error) {
	for len(a.parts) > 0 && len(a.parts[0]) == 0 {
		a.parts = a.parts[1:]
	}
	if len(a.parts) == 0 {
		return 0, a.end
	}
	n := copy(p, a.parts[0])
	a.parts[0] = a.parts[0][n:]
	return n, nil
}

// Close implements io.Closer. The server closes the connection's own body.
func (a *arrived) Close() error { return nil }

// Arrived returns the parts of a body that has arrived (Arrive) and was not read yet. They belong to the body: nobody may change them.
func Arrived(r *http.Request) [][]byte {
	if body, ok := r.Body.(*arrived); ok {
		return body.parts
	}
	return nil
}
