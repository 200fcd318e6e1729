package daemon

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/mail"
)

// Mail is how the service sends e-mails. Without a URL it sends none.
type Mail struct {
	URL  string // smtp://[user@]host[:587] or smtps://[user@]host[:465]
	From string // an address, with or without a name
	// Password is the user's; or it is the first line of PasswordFile.
	Password, PasswordFile string
	Timeout                time.Duration // of one e-mail; 0 means a minute
	// Roots and Dial are for tests: the trusted root certificates, and how the server is
	// reached.
	Roots *x509.CertPool
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
}

// open returns the sender of e-mails, nil without a URL.
func (m Mail) open() (*mail.Sender, error) {
	if m.URL == "" {
		if m.From != "" || m.Password != "" || m.PasswordFile != "" {
			return nil, errors.New("there is a sender or a password for e-mails, but no mail server: set --smtp-url too")
		}
		return nil, nil
	}
	if m.From == "" {
		return nil, errors.New("there is a mail server, but no sender: set --mail-from too, an address such as no-reply@pay.example.com")
	}
	password := m.Password
	if m.PasswordFile != "" {
		if password != "" {
			return nil, errors.New("the password of the mail server is set twice: by --smtp-password-file and by CASCADA_SMTP_PASSWORD")
		}
		text, err := os.ReadFile(m.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("read the password of the mail server: %w", err)
		}
		line, more, _ := strings.Cut(strings.TrimRight(string(text), "\r\n"), "\n")
		if password = line; line == "" || more != "" {
			return nil, fmt.Errorf("%s: want one line, the password of the mail server", m.PasswordFile)
		}
	}
	return mail.NewSender(mail.Config{URL: m.URL, Password: password, From: m.From, Timeout: m.Timeout, Roots: m.Roots, Dial: m.Dial})
}
