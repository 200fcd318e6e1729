package dbtest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// session is a session of PostgreSQL that one client after another uses. What an earlier client prepared
// stays prepared. PostgreSQL's documentation describes the messages:
// https://www.postgresql.org/docs/current/protocol-message-formats.html
type session struct {
	conn       *net.UnixConn
	in         *bufio.Reader
	parameters string        // of its clients' first messages
	reply      []byte        // what the server said to the first of them
	over       chan struct{} // closed when it has ended

	resting bool // owned by the database

	mu       sync.Mutex
	client   *bufio.Writer     // nil: nobody uses it
	prepared map[string]string // the messages that prepared statements, by name
	sent     []*batch          // what the server has not answered
	writing  bool              // the last of them has not ended
	idle     bool              // no transaction is open
	spoiled  bool              // what the next client would find is not known
	rested   chan struct{}     // closed when the client's settings are reset
}

// batch is what is sent until the server says that it is ready again.
type batch struct {
	prepares map[string]string // statements that it prepares
	closes   []bool            // its Close messages, in order: true for our own, each in place of a message that prepares
	removes  bool              // it removes a statement
	failed   bool
}

// refusal is PostgreSQL's message that it makes no session.
type refusal []byte

func (r refusal) Error() string { return fmt.Sprintf("PostgreSQL refuses a session: %q", []byte(r)) }

// ended reports whether the session has ended.
func (se *session) ended() bool {
	select {
	case <-se.over:
		return true
	default:
		return false
	}
}

// end ends the session. First PostgreSQL does what it was sent.
func (se *session) end() {
	_ = se.conn.CloseWrite() // if it fails, the session has ended
	<-se.over
}

// dialSession opens a session.
func dialSession(server *instance, hello []byte) (*session, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: filepath.Join(server.dir, socket)})
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, in: bufio.NewReaderSize(conn, 1<<14), parameters: parameters(hello), over: make(chan struct{}), prepared: map[string]string{}, idle: true}
	if _, err := conn.Write(hello); err != nil {
		conn.Close()
		return nil, err
	}
	for {
		kind, message, err := readMessage(s.in)
		if err == nil && kind == 'E' {
			err = refusal(message)
		}
		if err != nil {
			conn.Close()
			return nil, err
		}
		s.reply = append(s.reply, message...)
		if kind == 'Z' {
			return s, nil
		}
	}
}

// readMessage reads a message, with its head.
func readMessage(in *bufio.Reader) (kind byte, message []byte, err error) {
	head, err := in.Peek(5)
	if err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size < 4 || size > 1<<30 {
		return 0, nil, errMessage
	}
	kind, message = head[0], make([]byte, size+1)
	_, err = io.ReadFull(in, message)
	return kind, message, err
}

// closeNothing closes a portal that does not exist, which PostgreSQL answers as if it existed.
var closeNothing = []byte("C\x00\x00\x00\x0ePcascada.\x00")

// parsed is the answer to a message that prepares a statement.
var parsed = []byte("1\x00\x00\x00\x04")

// reset is what a session does between two clients.
const reset = "RESET SESSION AUTHORIZATION; RESET ALL; CLOSE ALL; SELECT pg_advisory_unlock_all(); UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES"

// restGrace bounds how long that takes.
const restGrace = 5 * time.Second

// carry carries a client's messages to the server until the client ends, and reports whether the session is
// at rest for the next one.
func (se *session) carry(client net.Conn, in *bufio.Reader) (rest bool) {
	se.mu.Lock()
	se.client = bufio.NewWriterSize(client, 1<<14)
	_, _ = se.client.Write(se.reply)
	_ = se.client.Flush() // if it fails, the client has gone, and reading from it ends
	se.mu.Unlock()
	gone := make(chan struct{})
	defer close(gone)
	go func() {
		select {
		case <-se.over:
			_ = client.Close()
		case <-gone:
		}
	}()
	out := bufio.NewWriterSize(se.conn, 1<<14)
	for {
		kind, message, err := readMessage(in)
		if err != nil || kind == 'X' {
			break
		}
		if _, err := out.Write(se.rewrite(kind, message)); err != nil {
			break
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			break
		}
	}
	_ = out.Flush() // if it fails, the session has ended
	return se.rest()
}

// rewrite records a client's message, and returns what is sent in its place.
func (se *session) rewrite(kind byte, message []byte) []byte {
	se.mu.Lock()
	defer se.mu.Unlock()
	if !se.writing {
		se.sent, se.writing = append(se.sent, &batch{prepares: map[string]string{}}), true
	}
	b := se.sent[len(se.sent)-1]
	se.spoiled = se.spoiled || (kind == 'P' || kind == 'Q') && hidden.Match(message)
	switch kind {
	case 'P':
		if name := texts(message[5:])[0]; name != "" {
			if se.prepared[name] == string(message) {
				b.closes = append(b.closes, true)
				return closeNothing
			}
			b.prepares[name] = string(message)
		}
	case 'C':
		b.closes = append(b.closes, false)
		if message[5] == 'S' {
			se.remove(b, string(message[6:len(message)-1]))
		}
	case 'Q', 'S', 'F':
		se.writing = false
	}
	return message
}

// hidden finds texts that prepare or remove statements without a message of their own.
var hidden = regexp.MustCompile(`(?i)\b(PREPARE|DEALLOCATE|DISCARD)\b`)

// remove notes that a batch removes a statement.
func (se *session) remove(b *batch, name string) {
	b.removes = true
	delete(se.prepared, name)
	for _, sent := range se.sent {
		delete(sent.prepares, name)
	}
}

// rest resets what the client set, if the client ended between two transactions.
func (se *session) rest() bool {
	se.mu.Lock()
	se.client = nil
	if !se.idle || se.spoiled || len(se.sent) > 0 {
		se.mu.Unlock()
		return false
	}
	se.sent, se.rested = append(se.sent, &batch{}), make(chan struct{})
	rested := se.rested
	se.mu.Unlock()
	message := append([]byte("Q\x00\x00\x00\x00"+reset), 0)
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-1))
	if _, err := se.conn.Write(message); err != nil {
		return false
	}
	late := time.NewTimer(restGrace)
	defer late.Stop()
	select {
	case <-rested:
		se.mu.Lock()
		defer se.mu.Unlock()
		return !se.spoiled
	case <-se.over:
	case <-late.C:
	}
	return false
}

// read carries the server's messages to the client of the moment until the session ends.
func (se *session) read() {
	defer close(se.over)
	defer se.conn.Close()
	for {
		kind, message, err := readMessage(se.in)
		if err != nil {
			return
		}
		se.observe(kind, message)
	}
}

func (se *session) observe(kind byte, message []byte) {
	se.mu.Lock()
	defer se.mu.Unlock()
	switch kind {
	case '3':
		if len(se.sent) > 0 && len(se.sent[0].closes) > 0 {
			if se.sent[0].closes[0] {
				message = parsed
			}
			se.sent[0].closes = se.sent[0].closes[1:]
		}
	case 'E':
		if len(se.sent) > 0 {
			se.sent[0].failed = true
		}
	case 'Z':
		se.ready(message[5] == 'I')
	}
	if se.client == nil {
		return
	}
	_, _ = se.client.Write(message)
	if se.in.Buffered() == 0 {
		_ = se.client.Flush() // if it fails, the client has gone
	}
}

// ready ends the batch that the server has answered.
func (se *session) ready(idle bool) {
	se.idle = idle
	if len(se.sent) == 0 {
		se.spoiled = true
		return
	}
	b := se.sent[0]
	se.sent = se.sent[1:]
	switch {
	case !b.failed:
		for name, message := range b.prepares {
			se.prepared[name] = message
		}
	case len(b.prepares) > 0 || b.removes: // only what came before the mistake was done, and where it was is not known
		se.spoiled = true
	}
	if se.client == nil && se.rested != nil {
		close(se.rested)
		se.rested, se.spoiled = nil, se.spoiled || b.failed
	}
}
