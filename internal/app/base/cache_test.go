package base_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
)

// A value that was being read while this node changed it is not kept: whoever has paused a merchant, or revoked a key, was
// told that it is done, and the next request on this node obeys.
func TestCacheKeepsNothingThatWasReadBeforeAChange(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	c := base.NewCache[string](func() time.Time { return now })
	get := func(load func() string) string {
		t.Helper()
		got, err := c.Get("mer_1", func() (string, error) { return load(), nil })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	during := get(func() string {
		c.Forget("mer_1") // the change is written after this request has read
		return "open"
	})
	if after := get(func() string { return "paused" }); during != "open" || after != "paused" {
		t.Errorf("the request during the change sees %q, the next one %q", during, after)
	}
	if kept := get(func() string { return "read again" }); kept != "paused" {
		t.Errorf("a value is not kept: %q", kept)
	}
	now = now.Add(base.CacheTTL)
	if late := get(func() string { return "open again" }); late != "open again" {
		t.Errorf("a value is kept for too long: %q", late)
	}
}
