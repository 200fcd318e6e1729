package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Failure is why an e-mail is not known to be accepted.
type Failure struct {
	Step string // the step: address, connect, greeting, login, sender, recipient, text, answer
	Code int    // the server's reply, 0 if there was none
	// Final means that it was refused for good: another try would fail too. A refused login or
	// sender is not final, because the operator can fix it.
	Final bool
	cause error
}

// Error names the step and the server's code. It omits the server's text if that may repeat
// the password or the recipient's address.
func (f *Failure) Error() string {
	text := "e-mail: " + f.Step
	if f.Code != 0 {
		text += fmt.Sprintf(": the server answered %d", f.Code)
	}
	if f.cause != nil && (f.Code == 0 || !about[f.Step] && f.Step != "login") {
		text += ": " + f.cause.Error()
	}
	return text
}

func (f *Failure) Unwrap() error { return f.cause }

// about are the steps in which the server knows the recipient.
var about = map[string]bool{"recipient": true, "text": true, "answer": true}

// failed makes the Failure of a step.
func failed(step string, err error) *Failure {
	f := &Failure{Step: step, cause: err}
	var reply *smtp.SMTPError
	if errors.As(err, &reply) {
		f.Code = reply.Code
		f.Final = about[step] && reply.Code >= 500
	}
	return f
}

// Send sends an e-mail, and returns when the server has confirmed that it keeps it.
//
// Errors: *Failure. After one in the step "answer" without a code, it is not known whether
// the server accepted the e-mail.
func (s *Sender) Send(ctx context.Context, m Message) error {
	to, text, err := s.write(m)
	if err != nil {
		return &Failure{Step: "address", Final: true, cause: err}
	}
	ctx, done := context.WithTimeout(ctx, s.timeout)
	defer done()
	conn, err := s.connect(ctx)
	if err != nil {
		return failed("connect", err)
	}
	// Writing to a stalled server has no deadline of its own.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	if err := s.talk(conn, to, text); err != nil {
		return err
	}
	return nil
}

func (s *Sender) connect(ctx context.Context) (net.Conn, error) {
	conn, err := s.dial(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	conn = &limitedConn{Conn: conn, left: mostHeard}
	// If the name leads to another machine after all, it would get the password in clear text.
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); s.plain && ok && !tcp.IP.IsLoopback() {
		conn.Close()
		return nil, fmt.Errorf("%s is not on this machine", s.host)
	}
	if !s.implicit {
		return conn, nil
	}
	secure := tls.Client(conn, s.tls())
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// mostHeard is the most bytes that a server may send for one e-mail: certificates, and a
// few lines.
const mostHeard = 256 << 10

// limitedConn is a connection that limits how much the other side may send, because an attacker
// in between could send without end.
type limitedConn struct {
	net.Conn
	left int
}

// Read implements net.Conn.
func (l *limitedConn) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("the server sends too much")
	}
	n, err := l.Conn.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// talk is the dialog with a connected server.
func (s *Sender) talk(conn net.Conn, to string, text []byte) error {
	client, err := s.greet(conn)
	if err != nil {
		return failed("greeting", err)
	}
	if s.user != "" {
		if err := s.login(client); err != nil {
			return failed("login", err)
		}
	}
	if err := client.Mail(s.from.Address, nil); err != nil {
		return failed("sender", err)
	}
	if err := client.Rcpt(to, nil); err != nil {
		return failed("recipient", err)
	}
	data, err := client.Data()
	if err != nil {
		return failed("text", err)
	}
	if _, err := data.Write(text); err != nil {
		return failed("text", err)
	}
	if err := data.Close(); err != nil {
		return failed("answer", err)
	}
	// The e-mail is accepted, whatever the answer to QUIT.
	_ = client.Quit()
	return nil
}

// greet starts the dialog, over an encrypted connection unless the server is on this
// machine.
func (s *Sender) greet(conn net.Conn) (*smtp.Client, error) {
	if s.implicit || s.plain {
		client := smtp.NewClient(conn)
		s.bound(client)
		return client, client.Hello(s.domain)
	}
	client, err := smtp.NewClientStartTLS(conn, s.tls())
	if err != nil {
		return nil, err
	}
	s.bound(client)
	return client, client.Hello(s.domain)
}

// bound allows each answer as much time as the whole e-mail.
func (s *Sender) bound(client *smtp.Client) {
	client.CommandTimeout, client.SubmissionTimeout = s.timeout, s.timeout
}

func (s *Sender) login(client *smtp.Client) error {
	switch {
	case client.SupportsAuth(sasl.Plain):
		return client.Auth(sasl.NewPlainClient("", s.user, s.password))
	case client.SupportsAuth(sasl.Login):
		return client.Auth(sasl.NewLoginClient(s.user, s.password))
	}
	return errors.New("the server offers neither AUTH PLAIN nor AUTH LOGIN")
}
