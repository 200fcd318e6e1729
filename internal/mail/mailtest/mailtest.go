// Package mailtest is a real SMTP server on loopback that tests send to: it answers as the test says, and
// keeps the e-mails that it receives. It is used by tests only.
package mailtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Host is the name in the server's certificate.
const Host = "mail.example.com"

// Options configure a server.
type Options struct {
	Implicit       bool   // TLS from the first byte
	StartTLS       bool   // TLS is offered
	User, Password string // who may send; "" for all
}

// Mail is an e-mail as it arrived.
type Mail struct {
	From, To  string // of the envelope
	Encrypted bool
	Login     string // who sent it
	Raw       string
	Header    netmail.Header
	Subject   string // decoded
	Text      string // decoded
}

// Server is the receiver.
type Server struct {
	Address string         // host:port
	Roots   *x509.CertPool // the roots that prove its certificate

	options  Options
	ended    chan struct{}
	mu       sync.Mutex // owns what follows
	answer   func(Mail) error
	refuse   func(recipient string) error
	came     []Mail
	accepted []Mail
}

// Start starts a server that accepts everything. It ends with the test.
func Start(t *testing.T, o Options) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	certificate, roots := certify(t)
	s := &Server{Address: listener.Addr().String(), Roots: roots, options: o, ended: make(chan struct{})}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{server: s, conn: c}, nil }))
	server.Domain, server.AllowInsecureAuth, server.MaxMessageBytes = Host, true, 1<<20
	server.ErrorLog = log.New(io.Discard, "", 0) // clients leave when they like
	if o.StartTLS {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	if o.Implicit {
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}})
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("the mail server ended: %v", err)
		}
	})
	t.Cleanup(func() {
		close(s.ended)
		server.Close()
		_ = listener.Close() // of a test that ended before the server knew of it
		serving.Wait()
	})
	return s
}

// Answers makes the server answer the text of an e-mail as a function returns: nil accepts it, Reply refuses
// it. The function is called before the client gets its answer.
func (se *Server) Answers(answer func(Mail) error) {
	se.mu.Lock()
	defer se.mu.Unlock()
	se.answer = answer
}

// Refuses makes the server answer a recipient as a function returns.
func (se *Server) Refuses(refuse func(recipient string) error) {
	se.mu.Lock()
	defer se.mu.Unlock()
	se.refuse = refuse
}

// Reply is an answer with a code.
func Reply(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 0, 0}, Message: text}
}

// Hang gives no answer until the test ends.
func (se *Server) Hang(Mail) error {
	<-se.ended
	return errors.New("the test is over")
}

// Came lists the e-mails whose text arrived, whatever the server answered.
func (se *Server) Came() []Mail {
	se.mu.Lock()
	defer se.mu.Unlock()
	return slices.Clone(se.came)
}

// Accepted lists those that the server accepted.
func (se *Server) Accepted() []Mail {
	se.mu.Lock()
	defer se.mu.Unlock()
	return slices.Clone(se.accepted)
}

type session struct {
	server   *Server
	conn     *smtp.Conn
	login    string
	from, to string
}

func (s *session) AuthMechanisms() []string {
	if s.server.options.User == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != s.server.options.User || password != s.server.options.Password {
			return smtp.ErrAuthFailed
		}
		s.login = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.options.User != "" && s.login == "" {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	s.server.mu.Lock()
	refuse := s.server.refuse
	s.server.mu.Unlock()
	if refuse != nil {
		return refuse(to)
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m := Mail{From: s.from, To: s.to, Login: s.login, Raw: string(raw)}
	_, m.Encrypted = s.conn.TLSConnectionState()
	if err := m.read(); err != nil {
		return Reply(554, err.Error())
	}
	s.server.mu.Lock()
	s.server.came = append(s.server.came, m)
	answer := s.server.answer
	s.server.mu.Unlock()
	if answer != nil {
		if err := answer(m); err != nil {
			return err
		}
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.accepted = append(s.server.accepted, m)
	return nil
}

func (s *session) Reset()        { s.from, s.to = "", "" }
func (s *session) Logout() error { return nil }

// read parses an e-mail as a mail program does.
func (m *Mail) read() error {
	parsed, err := netmail.ReadMessage(strings.NewReader(m.Raw))
	if err != nil {
		return fmt.Errorf("this is not an e-mail: %w", err)
	}
	m.Header = parsed.Header
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject")); err != nil {
		return fmt.Errorf("the subject: %w", err)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	m.Text = strings.ReplaceAll(string(text), "\r\n", "\n")
	return err
}

// certify makes a self-signed certificate.
func certify(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: Host}, DNSNames: []string{Host},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
