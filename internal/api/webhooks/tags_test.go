package webhooks

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// A tag cannot be made of constants, so the numbers in it are compared with them.
func TestTagsTellTheNumbersOfTheCode(t *testing.T) {
	const day = 24 * time.Hour
	f, ok := reflect.TypeFor[inboxOut]().Field(0).Type.FieldByName("Data")
	if want := fmt.Sprintf("The newest %d of the last %d days", webhooks.InboxKept, webhooks.InboxAge/day); !ok || f.Tag.Get("doc") != want {
		t.Errorf("the tag says %q, and the code %q", f.Tag.Get("doc"), want)
	}
}
