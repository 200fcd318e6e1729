// Package drill serves an adapter's fakes outside the tests, to a service that runs, and plays everybody at the provider:
// the shopper, the bank, and the person in the panel. TestDrillProviders of cmd/cascada is who asks for it. Only tests use
// it.
package drill

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Address is the environment variable with the address at which an adapter's test program serves its fakes, instead of
// running its tests: 127.0.0.1:8099, or 127.0.0.1:0 for any free port.
const Address = "CASCADA_FAKE"

// Charges is an adapter that takes payments, and its fake.
type Charges struct {
	Adapter     provider.Adapter
	Credentials map[string]string
	New         func() providertest.Fake
	// Rails are those to pay by. Disputes are of the first.
	Rails []string
	// Sample is a charge over one of the rails.
	Sample func(rail string) provider.Request
	// Test says why the fake is the provider's test environment alone, if it is.
	Test string
	// Without says why the provider has no refund, panel or dispute, or does not report how a dispute is lost, or that an
	// unpaid charge ended.
	Without map[Step]string
}

// Step is something that happens at a provider.
type Step string

// The steps that not every provider has.
const (
	Refunds  Step = "refund"  // by our call
	Panel    Step = "panel"   // a refund in the panel
	Disputes Step = "dispute" // any
	Losses   Step = "loss"    // a notification of a dispute that was lost
	Late     Step = "late"    // money for a charge that was canceled
	Returns  Step = "return"  // of a payout
	Pays     Step = "pays"    // a payout is paid at once
)

// Payouts is an adapter that pays out, and its fake.
type Payouts struct {
	Adapter     provider.Adapter
	Credentials map[string]string
	New         func() payouttest.Fake
	Sample      payouts.Request
	Without     map[Step]string
}

// Paneler is a fake with a panel.
type Paneler interface {
	// PanelRefund refunds a part of a charge in the panel, and returns what the provider sends about it.
	PanelRefund(reference string, local money.Amount) []provider.Notification
}

// Issuer is a fake whose disputes end.
type Issuer interface {
	// End ends the dispute of a charge, and returns what the provider sends about it.
	End(reference string, won bool) []provider.Notification
}

// Clock is a fake with a clock of its own.
type Clock interface{ At(now time.Time) }

// Main is the TestMain of an adapter. Without the variable it runs the tests.
func Main(m *testing.M, charges Charges, payouts *Payouts) {
	address := os.Getenv(Address)
	if address == "" {
		os.Exit(m.Run())
	}
	if err := serve(address, charges, payouts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve serves the fakes until the program is told to stop.
func serve(address string, charges Charges, payouts *Payouts) error {
	s := &stage{charges: charges, payouts: payouts, fake: charges.New()}
	s.tb = reporter{name: charges.Adapter.Name, stage: s}
	if payouts != nil {
		s.payer = payouts.New()
		at, err := listen("127.0.0.1:0", s.upstream(s.payer))
		if err != nil {
			return err
		}
		s.payerURL = at
	}
	mux := http.NewServeMux()
	mux.Handle("/", s.upstream(s.fake))
	mux.HandleFunc("/_drill/{what}", s.control)
	at, err := listen(address, mux)
	if err != nil {
		return err
	}
	s.url = at
	fmt.Println("the fake of", charges.Adapter.Name, "is at", at) //nolint:forbidigo // for the person who started it
	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	<-stop.Done()
	return nil
}

// listen serves a handler until the program ends.
func listen(address string, h http.Handler) (url string, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	go func() { _ = http.Serve(l, h) }() //nolint:gosec // one client, on this machine
	return "http://" + l.Addr().String(), nil
}
