package people

import (
	"testing"
	"time"
)

// A second factor, and a sign-in, are new for ten minutes by whichever clock: one that was given while a clock was ahead is not new for
// as long as the clock was wrong.
func TestFreshnessDoesNotTrustTheClock(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s := SignIn{CreatedAt: at, ProvenAt: at}
	for since, want := range map[time.Duration]bool{
		0: true, FactorFresh - time.Second: true, FactorFresh: false,
		-time.Minute: true, // another node's clock
		-FactorFresh: false, -24 * time.Hour: false,
	} {
		if now := at.Add(since); s.Fresh(now) != want || s.Recent(now) != want {
			t.Errorf("%s after it Fresh is %t and Recent is %t, want %t", since, s.Fresh(now), s.Recent(now), want)
		}
	}
	if (SignIn{}).Fresh(at) {
		t.Error("a factor that was never given is fresh")
	}
}
