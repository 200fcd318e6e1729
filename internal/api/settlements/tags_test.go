package settlements

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
)

// A tag cannot be made of constants, so the numbers in it are compared with them.
func TestTagsTellTheNumbersOfTheCode(t *testing.T) {
	const day = 24 * time.Hour
	words := []string{"no", "one", "two", "three", "four", "five"}
	for _, c := range []struct {
		of          reflect.Type
		field, want string
	}{
		{reflect.TypeFor[view.Balance](), "FeeSummary", fmt.Sprintf("Of the last %d days", settlements.FeePeriod/day)},
		{reflect.TypeFor[view.Balance](), "Movements", fmt.Sprintf("The latest %d; all at /me/balance/movements", settlements.MovementsShown)},
		{reflect.TypeFor[view.Balance](), "ReserveSchedule", fmt.Sprintf("The next %s days on which reserve is released", words[pay.ReleasesShown])},
	} {
		if f, ok := c.of.FieldByName(c.field); !ok || f.Tag.Get("doc") != c.want {
			t.Errorf("%s: the tag says %q, and the code %q", c.field, f.Tag.Get("doc"), c.want)
		}
	}
}
