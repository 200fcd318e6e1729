package sender

import (
	"crypto/tls"
	"crypto/x509"
)

// Trust makes s trust certificates signed under pool, as it trusts the public ones.
func (s *Sender) Trust(pool *x509.CertPool) {
	s.loopback = newTransport(loopbackGuard(), s.timeout, &tls.Config{RootCAs: pool})
}
