package webhook_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/webhook"
)

// even is the u that moves a delay neither way.
const even = 0.5

func TestDelaysGrowUntilTheDeliveryIsADeadLetter(t *testing.T) {
	want := []time.Duration{
		10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
		3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
	}
	if len(want)+1 != webhook.MaxTries {
		t.Errorf("a delivery is tried %d times, want %d", webhook.MaxTries, len(want)+1)
	}
	for i, delay := range want {
		if got, ok := webhook.Backoff(i+1, even); !ok || got != delay {
			t.Errorf("after %d failed tries the delay is %v, %t, want %v", i+1, got, ok, delay)
		}
	}
	for _, tries := range []int{11, 12, 1000} {
		if got, ok := webhook.Backoff(tries, even); ok || got != 0 {
			t.Errorf("after %d failed tries the delay is %v, %t, want a dead letter", tries, got, ok)
		}
	}
}

func TestDelaysMoveByTwentyPercentEitherWay(t *testing.T) {
	const almostOne = 1 - 1e-9 // u stays below 1
	for tries := 1; tries < webhook.MaxTries; tries++ {
		middle, _ := webhook.Backoff(tries, even)
		least, _ := webhook.Backoff(tries, 0)
		most, _ := webhook.Backoff(tries, almostOne)
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
		delay, ok := webhook.Backoff(tries, even)
		if !ok {
			break
		}
		total += delay
	}
	if days := total.Hours() / 24; days < 2.9 || days > 2.95 {
		t.Errorf("all tries together take %.2f days, want about 2.9", days)
	}
}
