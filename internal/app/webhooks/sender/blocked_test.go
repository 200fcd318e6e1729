package sender_test

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

// Every host here is this machine under another name, and the last needs a look-up:
// only the address that is dialled tells.
func TestLoopbackIsNeverDialledForLiveNorWithoutLeave(t *testing.T) {
	hosts := []string{"127.0.0.1", "[::ffff:127.0.0.1]", "127。0。0。1", "localhost"}
	strict := sender.New(sender.Config{Timeout: time.Second})
	t.Cleanup(strict.Close)
	open := newSender(t, sender.Config{Timeout: time.Second})
	listener := listen(t)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range hosts {
		cases := []struct {
			what   string
			sender *sender.Sender
			live   bool
			url    string
		}{
			{"the sandbox without leave", strict, false, "http://" + host + ":" + port},
			{"the sandbox without leave", strict, false, "https://" + host + ":" + port},
			{"live without leave", strict, true, "https://" + host + ":" + port},
			{"live with leave", open, true, "https://" + host + ":" + port},
		}
		for _, c := range cases {
			result := c.sender.Send(t.Context(), c.live, message(c.url))
			if result.Err != sender.BlockedAddress || result.StatusCode != 0 || result.Snippet != "" {
				t.Errorf("%s to %s ended with %+v, want blocked_address", c.what, c.url, result)
			}
		}
	}
	if wasDialled(t, listener) {
		t.Error("a connection was made, want none")
	}
}

// 0.0.0.0 leads to this machine too, and stands here for the metadata addresses that
// the same list holds: those must not be tried from a test.
func TestLeaveForLoopbackOpensNothingElse(t *testing.T) {
	listener := listen(t)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	result := newSender(t, sender.Config{}).Send(t.Context(), false, message("http://0.0.0.0:"+port))
	if result.Err != sender.BlockedAddress {
		t.Errorf("the delivery ended with %+v, want blocked_address", result)
	}
	if wasDialled(t, listener) {
		t.Error("a connection was made, want none")
	}
}

// A connection to loopback that the sandbox left open is not for live deliveries.
func TestLiveDeliveriesShareNoConnectionWithTheSandbox(t *testing.T) {
	endpoint := newReceiver(t, &tls.Config{}, answerOK)
	from := newSender(t, sender.Config{})
	from.Trust(roots(endpoint))
	if result := from.Send(t.Context(), false, message(endpoint.URL)); !result.Delivered() {
		t.Fatalf("the sandbox delivery ended with %+v, want it delivered", result)
	}
	if result := from.Send(t.Context(), true, message(endpoint.URL)); result.Err != sender.BlockedAddress {
		t.Errorf("the live delivery ended with %+v, want blocked_address", result)
	}
	endpoint.only(t)
}

// Were it looked up, it would be DNS.
func TestLiveDeliveriesWithoutTLSAreBlockedWithoutALookUp(t *testing.T) {
	result := newSender(t, sender.Config{}).Send(t.Context(), true, message("http://nobody.invalid"))
	if result.Err != sender.BlockedAddress {
		t.Errorf("the delivery ended with %+v, want blocked_address", result)
	}
}

func TestAURLThatIsNoneIsBlocked(t *testing.T) {
	from := newSender(t, sender.Config{})
	for _, url := range []string{"", "://", "hook", "ftp://shop.example", "http://", "http://[::1", "file:///etc/passwd"} {
		if result := from.Send(t.Context(), false, message(url)); result.Err != sender.BlockedAddress {
			t.Errorf("a delivery to %q ended with %+v, want blocked_address", url, result)
		}
	}
}
