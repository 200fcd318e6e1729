package webhooks

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var monday = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestCircuitOpensAfterTenFailuresInARow(t *testing.T) {
	s := Subscription{ID: "wh_1", Status: Enabled, Version: 1}
	for n := 1; n <= CircuitAfter; n++ {
		if s.Circuit.Open {
			t.Fatalf("the circuit is open after %d failures", n-1)
		}
		s, _ = s.Record(false, 1, monday.Add(time.Duration(n)*time.Second))
	}
	want := EndpointCircuit{Open: true, Failures: 10, Since: monday.Add(time.Second), ProbeAt: monday.Add(10*time.Second + time.Minute)}
	if s.Circuit != want || s.Version != 11 {
		t.Fatalf("after ten failures the circuit is %+v, want %+v", s.Circuit, want)
	}
	if well, changed := s.Record(true, 0, monday.Add(time.Hour)); !changed || well.Circuit != (EndpointCircuit{}) {
		t.Errorf("a success leaves %+v", well.Circuit)
	}
	if mixed, changed := s.Record(true, 3, monday.Add(time.Hour)); !changed || mixed.Circuit.Open || mixed.Circuit.Failures != 3 {
		t.Errorf("a success and three failures leave %+v", mixed.Circuit)
	}
	// An endpoint's answer is not a change by its owner.
	if !s.UpdatedAt.IsZero() {
		t.Errorf("the failures changed updatedAt to %s", s.UpdatedAt)
	}
	if _, changed := (Subscription{}).Record(true, 0, monday); changed {
		t.Error("a success of a healthy endpoint is written")
	}
}

func TestProbeIsClaimedOnceAMinute(t *testing.T) {
	s := Subscription{Status: Enabled, Circuit: EndpointCircuit{Open: true, Failures: 10, Since: monday, ProbeAt: monday.Add(time.Minute)}}
	if _, ok := s.Probe(monday.Add(time.Minute - 1)); ok {
		t.Error("a probe before its time")
	}
	next, ok := s.Probe(monday.Add(time.Minute))
	if !ok || !next.Circuit.ProbeAt.Equal(monday.Add(2*time.Minute)) || next.Version != s.Version+1 {
		t.Errorf("the probe left %+v", next.Circuit)
	}
	if _, ok := next.Probe(monday.Add(time.Minute)); ok {
		t.Error("two probes in a minute")
	}
	if _, ok := (Subscription{}).Probe(monday); ok {
		t.Error("a healthy endpoint is probed")
	}
}

func TestEndpointIsHopelessAfterSevenDays(t *testing.T) {
	open := EndpointCircuit{Open: true, Failures: 10, Since: monday}
	week := monday.Add(7 * 24 * time.Hour)
	for _, c := range []struct {
		what string
		sub  Subscription
		at   time.Time
		want bool
	}{
		{"seven days", Subscription{Status: Enabled, Circuit: open}, week, true},
		{"a moment less", Subscription{Status: Enabled, Circuit: open}, week.Add(-1), false},
		{"few failures", Subscription{Status: Enabled, Circuit: EndpointCircuit{Failures: 9, Since: monday}}, week, false},
		{"disabled already", Subscription{Status: Disabled, Circuit: open}, week, false},
		{"deleted", Subscription{Status: Deleted, Circuit: open}, week, false},
	} {
		if got := c.sub.Hopeless(c.at); got != c.want {
			t.Errorf("%s: hopeless is %t, want %t", c.what, got, c.want)
		}
	}
	for _, status := range []SubscriptionStatus{Disabled, Deleted} {
		if next := (Subscription{Status: status}).Disable("410", monday); next.Version != 0 {
			t.Errorf("a %s subscription is disabled again", status)
		}
	}
}

func TestRotationKeepsTheNewestTwoSecrets(t *testing.T) {
	s := Subscription{Secret: []byte("a")}
	s = s.Rotate([]byte("b"), "b", monday)
	s = s.Rotate([]byte("c"), "c", monday.Add(time.Hour))
	if string(s.Secret)+string(s.PreviousSecret) != "cb" || !s.PreviousUntil.Equal(monday.Add(25*time.Hour)) {
		t.Errorf("after two rotations %s and %s sign until %s", s.Secret, s.PreviousSecret, s.PreviousUntil)
	}
	if before := s.At(s.PreviousUntil.Add(-1)); string(before.PreviousSecret) != "b" {
		t.Error("the previous secret ended too soon")
	}
	if after := s.At(s.PreviousUntil); after.PreviousSecret != nil || !after.PreviousUntil.IsZero() {
		t.Error("the previous secret signs for more than a day")
	}
}

func TestOnlyFailedDeliveriesAreReplayed(t *testing.T) {
	for status, allowed := range map[DeliveryStatus]bool{
		DeliveryPending: false, DeliveryDelivered: false, DeliveryFailed: true, DeadLetter: true,
	} {
		d := Delivery{ID: "wd_1", Version: 5, Status: status, Attempts: 7, Budget: 11, DueAt: monday.Add(time.Hour), Parked: true}
		next, err := d.Replay(monday)
		if (err == nil) != allowed {
			t.Errorf("a replay of a %s delivery: %v", status, err)
		}
		if !allowed {
			if next.Version != d.Version {
				t.Errorf("a refused replay of a %s delivery is another version", status)
			}
			continue
		}
		if next.Status != DeliveryPending || !next.DueAt.Equal(monday) || next.Attempts != 7 || next.Budget != 18 || next.Parked || !next.Urgent || next.Version != 6 {
			t.Errorf("a replay of a %s delivery made %+v", status, next)
		}
		if tried := next.Tried(Try{Error: "timeout", Again: time.Minute}, monday); tried.Urgent {
			t.Error("a replay is urgent after its first try")
		}
	}
}

func TestTryThatAReplayOvertookIsCountedAndHarmless(t *testing.T) {
	failed := Delivery{Version: 5, Status: DeliveryFailed, Attempts: 1, Budget: 11, LastAt: monday}
	replayed, err := failed.Replay(monday)
	if err != nil {
		t.Fatal(err)
	}
	if done, ok := replayed.Overtaken(Try{Code: 200}, monday); !ok || done.Status != DeliveryDelivered || done.Version != 7 {
		t.Errorf("a success left %+v", done)
	}
	lost, ok := replayed.Overtaken(Try{Error: "timeout", GiveUp: true}, monday)
	if !ok || lost.Status != DeliveryPending || !lost.Urgent || !lost.DueAt.Equal(replayed.DueAt) || lost.Attempts != 2 || lost.Budget-lost.Attempts != DeliveryTries {
		t.Errorf("a failure left %+v", lost)
	}
	if _, ok := replayed.Tried(Try{Code: 200}, monday).Overtaken(Try{Error: "timeout"}, monday); ok {
		t.Error("a late failure changed a delivered delivery")
	}
}

func TestDeliveryRemembersItsLastTwentyTries(t *testing.T) {
	d := Delivery{Version: 1, Status: DeliveryPending, Budget: 100}
	long := strings.Repeat("né", 300)
	for n := range 30 {
		d = d.Tried(Try{Code: 500 + n, Error: "http_status", Snippet: long, Duration: time.Second}, monday.Add(time.Duration(n)*time.Minute))
	}
	log := d.Log()
	if len(log) != 20 || log[0].Code != 510 || log[19].Code != 529 || d.Attempts != 30 {
		t.Errorf("of 30 tries the log has %d, from %d", len(log), log[0].Code)
	}
	for i, a := range log {
		if want := i < 19; (len(a.Snippet) <= 256) != want || !utf8.ValidString(a.Snippet) || a.Ms != 1000 {
			t.Errorf("entry %d remembers %d bytes", i, len(a.Snippet))
		}
	}
	if !slices.IsSortedFunc(log, func(a, b Attempted) int { return int(a.At - b.At) }) {
		t.Error("the log is not in the order of time")
	}
	if gone := d.Abandon(); gone.Attempts != 30 || gone.LastCode != 529 || gone.Status != DeadLetter || !gone.DueAt.IsZero() {
		t.Errorf("abandoned: %+v", gone)
	}
}

// After a reset of the sandbox no time of an endpoint lies far ahead, and no failure is remembered (SBX-16).
func TestCalmedEndpointRemembersNothing(t *testing.T) {
	ahead := monday.AddDate(0, 1, 0)
	s := Subscription{Status: Enabled, Version: 4, UpdatedAt: ahead, PreviousUntil: ahead, Circuit: EndpointCircuit{Open: true, Failures: 12, Since: ahead, ProbeAt: ahead}}
	calm, changed := s.Calmed(monday)
	if !changed || calm.Circuit != (EndpointCircuit{}) || !calm.UpdatedAt.Equal(monday) || !calm.PreviousUntil.Equal(monday.Add(RotationGrace)) || calm.Version != 5 {
		t.Errorf("it is calmed to %+v", calm)
	}
	if _, changed := calm.Calmed(monday); changed {
		t.Error("a calm one changes")
	}
}

// Credentials stay while the scheme, host and port stay, and are encrypted for these.
func TestCredentialsDoNotFollowToAnotherHost(t *testing.T) {
	had := Subscription{ID: "wh_1", URL: "https://shop.example/hooks", Authentication: Authentication{Username: "u", Encrypted: []byte("x")}}
	for url, keeps := range map[string]bool{
		"https://shop.example/hooks": true, "https://shop.example/other?a=1": true, "https://SHOP.example.:443/hooks": true,
		"https://shop.example:8443/hooks": false, "http://shop.example/hooks": false, "https://www.shop.example/hooks": false,
		"https://shop.example.evil.example/hooks": false, "https://evil.example/shop.example": false, "https://shop.example@evil.example/": false,
	} {
		next := had.Edit(SubscriptionEdit{URL: &url}, monday)
		same := AuthenticationOf(had.ID, had.URL) == AuthenticationOf(had.ID, url)
		if got := !next.Authentication.None(); got != keeps || same != keeps {
			t.Errorf("%s keeps the credentials: %t, and encrypts as before: %t, want %t", url, got, same, keeps)
		}
		again := had.Edit(SubscriptionEdit{URL: &url, Authentication: &Authentication{Header: "X-Key", Encrypted: []byte("y")}}, monday)
		if again.Authentication.Header != "X-Key" || again.Authentication.Kind() != "header" {
			t.Errorf("%s is not given the credentials that came with it", url)
		}
	}
	if !had.Delete(monday).Authentication.None() {
		t.Error("a deleted endpoint keeps credentials")
	}
	if got := had.Edit(SubscriptionEdit{Authentication: &Authentication{}}, monday); got.Authentication.Kind() != "none" || got.Version == had.Version {
		t.Errorf("credentials that were taken away are %s", got.Authentication.Kind())
	}
}
