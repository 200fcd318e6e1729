package webhook

import "time"

// MaxTries is how often a delivery is tried before it becomes a dead letter.
// With the delays below that takes about 2.9 days.
const MaxTries = 11

// Backoff returns how long to wait after the given number of failed tries, which is at
// least 1. It changes each delay by up to 20 %, by u in [0, 1), so that deliveries that
// failed together do not come back together. After the last try it returns false: the
// delivery is a dead letter.
func Backoff(tries int, u float64) (time.Duration, bool) {
	if tries >= MaxTries {
		return 0, false
	}
	delays := [MaxTries - 1]time.Duration{
		10 * time.Second,
		time.Minute,
		5 * time.Minute,
		15 * time.Minute,
		time.Hour,
		3 * time.Hour,
		6 * time.Hour,
		12 * time.Hour,
		24 * time.Hour,
		24 * time.Hour,
	}
	return time.Duration(float64(delays[tries-1]) * (0.8 + 0.4*u)), true
}
