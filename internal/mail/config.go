// Package mail sends e-mails to the operator's SMTP server. It knows nothing about
// payments: other packages decide what an e-mail says, and when it is sent again.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// longest is the longest time for one e-mail, from the dial to the last answer, and the
// default.
const longest = time.Minute

// Config is where e-mails are sent.
type Config struct {
	// URL is smtp://[user@]host[:587], which is encrypted by STARTTLS first of all, or
	// smtps://[user@]host[:465]. On loopback, smtp is not encrypted.
	URL      string
	Password string // the password of the URL's user
	From     string // an address, with or without a name
	// Timeout is how long one e-mail may take; 0 means a minute, which is also the most.
	Timeout time.Duration
	// Roots are the trusted roots for the server's certificate; nil: the system's.
	Roots *x509.CertPool
	// Dial connects to the server; nil: over the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Sender sends e-mails to one server. It is safe for concurrent use.
type Sender struct {
	address  string // host:port
	host     string
	user     string
	password string
	from     netmail.Address
	domain   string // of from, in ASCII
	implicit bool   // TLS from the first byte
	plain    bool   // no TLS: the server is on loopback
	timeout  time.Duration
	roots    *x509.CertPool
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewSender checks a configuration. It does not connect.
//
// Errors: what is wrong with it, in words for the operator, with no password in them.
func NewSender(c Config) (*Sender, error) {
	s := &Sender{password: c.Password, timeout: c.Timeout, roots: c.Roots, dial: c.Dial}
	if s.timeout <= 0 || s.timeout > longest {
		s.timeout = longest
	}
	if s.dial == nil {
		s.dial = new(net.Dialer).DialContext
	}
	if err := s.readURL(c.URL); err != nil {
		return nil, err
	}
	from, err := netmail.ParseAddress(c.From)
	if err != nil {
		return nil, fmt.Errorf("the sender of e-mails %q is not an address: want one such as no-reply@pay.example.com", c.From)
	}
	s.from = netmail.Address{Name: Line(from.Name)}
	if s.from.Address, err = route(from.Address); err != nil {
		return nil, fmt.Errorf("the sender of e-mails %q: %w", c.From, err)
	}
	_, s.domain, _ = strings.Cut(s.from.Address, "@")
	return s, nil
}

func (s *Sender) readURL(text string) error {
	const want = "want smtp://user@host:587 or smtps://user@host:465"
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" { // the error repeats the text, which may hold a password
		return errors.New("the address of the mail server is not a URL: " + want)
	}
	if _, told := u.User.Password(); told {
		return errors.New("the address of the mail server holds a password, which everybody on the machine could read: put it into a file or a variable")
	}
	port := ""
	switch u.Scheme {
	case "smtp":
		port = "587"
	case "smtps":
		port, s.implicit = "465", true
	default:
		return fmt.Errorf("the address of the mail server begins with %q: %s", u.Scheme, want)
	}
	if u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the address of the mail server must have only a host and a port: " + want)
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("the port of the mail server is %q: want a number from 1 to 65535", p)
		}
		port = p
	}
	s.user = u.User.Username()
	if (s.user == "") != (s.password == "") {
		return errors.New("--smtp-url needs both a user and a password, or neither: one of them is missing (CASCADA_SMTP_PASSWORD, --smtp-password-file)")
	}
	s.host, s.address = u.Hostname(), net.JoinHostPort(u.Hostname(), port)
	s.plain = !s.implicit && loopback(s.host)
	return nil
}

// loopback reports whether a host can only be this machine.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func (s *Sender) tls() *tls.Config {
	return &tls.Config{ServerName: s.host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}
}
