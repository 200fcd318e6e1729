package trace

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// defaultTimeout is how long one call of a collector may take.
const defaultTimeout = 10 * time.Second

// options are what OpenTelemetry's variables say about the calls.
type options struct {
	header  http.Header
	timeout time.Duration
	gzip    bool
	tls     *tls.Config // nil: the defaults
}

// variable returns the value of a variable for traces alone, or of the one for all signals, with its name.
func variable(of string) (value, name string) {
	for _, name = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + of, "OTEL_EXPORTER_OTLP_" + of} {
		if value = strings.TrimSpace(os.Getenv(name)); value != "" {
			return value, name
		}
	}
	return "", ""
}

// readOptions reads the variables. A value that cannot be read is an error: spans would be sent in another way than somebody meant.
func readOptions() (options, error) {
	o := options{timeout: defaultTimeout}
	if text, name := variable("PROTOCOL"); text != "" && text != "http/protobuf" {
		return o, fmt.Errorf("%s is %q: traces are sent only by http/protobuf", name, text)
	}
	if text, name := variable("TIMEOUT"); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil || ms == 0 {
			return o, fmt.Errorf("%s is %q: want milliseconds, such as 10000", name, text)
		}
		o.timeout = time.Duration(ms) * time.Millisecond
	}
	switch text, name := variable("COMPRESSION"); text {
	case "", "none":
	case "gzip":
		o.gzip = true
	default:
		return o, fmt.Errorf("%s is %q: want gzip or none", name, text)
	}
	var err error
	if o.header, err = readHeaders(); err != nil {
		return o, err
	}
	o.tls, err = readTLS()
	return o, err
}

// readHeaders reads name=value, separated by commas, with % escapes in the value. Values are often keys: no error has one.
func readHeaders() (http.Header, error) {
	text, name := variable("HEADERS")
	header := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = textproto.TrimString(key); !found || err != nil || !isToken(key) || strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("%s has a header that cannot be read: want name=value, separated by commas", name)
		}
		header.Set(key, value)
	}
	return header, nil
}

// isToken reports whether a text may be a header's name.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// readTLS reads which authorities vouch for the collector, and the certificate that the service shows it.
func readTLS() (*tls.Config, error) {
	ca, caName := variable("CERTIFICATE")
	certificate, name := variable("CLIENT_CERTIFICATE")
	key, keyName := variable("CLIENT_KEY")
	if ca == "" && certificate == "" && key == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", caName, err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s has no certificate in PEM", caName, ca)
		}
	}
	if (certificate == "") != (key == "") {
		return nil, fmt.Errorf("%s is set alone: a certificate of the service needs both CLIENT_CERTIFICATE and CLIENT_KEY", name+keyName)
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s and %s", name, keyName), err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
