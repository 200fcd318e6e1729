package payments

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// A text cannot be made of constants, so the number in it is compared with one.
func TestTextsTellTheLifeOfASession(t *testing.T) {
	hours := fmt.Sprintf("%d hours", pay.SessionLife/time.Hour)
	for _, text := range []string{message.ShownOf(problem.CheckoutSessionNotFound).Meaning, webhooks.SessionExpired.Meaning()} {
		if !strings.Contains(text, hours) {
			t.Errorf("a checkout session lives for %s, but the text says %q", hours, text)
		}
	}
}
