package webhooks_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// even is the u that moves a pause neither way.
const even = 0.5

// failing is a delivery of which so many tries failed, when one more is under way.
func failing(failed int) webhooks.Delivery {
	return webhooks.Delivery{Status: webhooks.DeliveryFailed, Attempts: failed - 1, Budget: webhooks.DeliveryTries}
}

func TestDelaysGrowUntilTheDeliveryIsADeadLetter(t *testing.T) {
	want := []time.Duration{
		10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
		3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
	}
	if webhooks.DeliveryTries != 11 {
		t.Errorf("a delivery is tried %d times, want 11", webhooks.DeliveryTries)
	}
	for i, delay := range want {
		if got, ok := failing(i + 1).Pause(even); !ok || got != delay {
			t.Errorf("after %d failed tries the delay is %v, %t, want %v", i+1, got, ok, delay)
		}
		replayed, err := failing(12).Replay(time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		replayed.Attempts += i
		if got, ok := replayed.Pause(even); !ok || got != delay {
			t.Errorf("after a replay and %d failed tries the delay is %v, %t, want %v", i+1, got, ok, delay)
		}
	}
	for _, tries := range []int{11, 12, 1000} {
		if got, ok := failing(tries).Pause(even); ok || got != 0 {
			t.Errorf("after %d failed tries the delay is %v, %t, want a dead letter", tries, got, ok)
		}
	}
}

func TestDelaysMoveByTwentyPercentEitherWay(t *testing.T) {
	const almostOne = 1 - 1e-9 // u stays below 1
	for tries := 1; tries < webhooks.DeliveryTries; tries++ {
		middle, _ := failing(tries).Pause(even)
		least, _ := failing(tries).Pause(0)
		most, _ := failing(tries).Pause(almostOne)
		if want := middle * 8 / 10; (least - want).Abs() > time.Millisecond {
			t.Errorf("after %d failed tries the least delay is %v, want %v", tries, least, want)
		}
		if want := middle * 12 / 10; (most - want).Abs() > time.Millisecond {
			t.Errorf("after %d failed tries the longest delay is %v, want %v", tries, most, want)
		}
	}
}

func TestADeadLetterTakesAboutThreeDays(t *testing.T) {
	var total time.Duration
	for tries := 1; ; tries++ {
		delay, ok := failing(tries).Pause(even)
		if !ok {
			break
		}
		total += delay
	}
	if days := total.Hours() / 24; days < 2.9 || days > 2.95 {
		t.Errorf("all tries together take %.2f days, want about 2.9", days)
	}
}

// Retry-After makes a pause longer, never shorter, and ends within the schedule. Tries are counted as before.
func TestAnEndpointMayAskForALongerPause(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		tries       int
		asked, want time.Duration
	}{
		{1, 0, 10 * time.Second}, {1, time.Second, 10 * time.Second}, {1, time.Hour, 66 * time.Minute}, {9, day, day}, {10, 30 * day, day},
	} {
		d := failing(c.tries)
		got, more := d.PauseAsked(even, c.asked)
		if !more || got != c.want {
			t.Errorf("after %d failures and a wish of %v the pause is %v, %t, want %v", c.tries, c.asked, got, more, c.want)
		}
	}
	first := failing(1)
	var schedule time.Duration
	for tries := range webhooks.DeliveryTries - 1 {
		pause, _ := failing(tries + 1).Pause(even)
		schedule += pause
	}
	if got, _ := first.PauseAsked(even, 365*day); got != schedule {
		t.Errorf("a wish of a year is a pause of %v, want the schedule's %v", got, schedule)
	}
	if _, more := failing(webhooks.DeliveryTries).PauseAsked(even, time.Hour); more {
		t.Error("a wish makes one try more")
	}
}
