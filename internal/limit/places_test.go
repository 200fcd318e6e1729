package limit_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/limit"
)

// takeAll takes places one by one until there are none for an owner.
func takeAll(p *limit.Places, owner string) (n int) {
	for p.Acquire(owner, 1) {
		n++
	}
	return n
}

func TestPlacesLeaveAsManyForOthers(t *testing.T) {
	p := limit.NewPlaces(1200)
	first, second := takeAll(p, "first"), takeAll(p, "second")
	if first != 600 || second != 300 {
		t.Errorf("got %d and %d of 1200, want 600 and 300", first, second)
	}
	if p.Acquire("first", 1) {
		t.Error("who has the most gets one more")
	}
	p.Leave("first", first)
	if got := takeAll(p, "third"); got != 450 {
		t.Errorf("of 900 free places a third one got %d, want 450", got)
	}
}

func TestHowManyEverThereAreSomebodyNewFindsAPlace(t *testing.T) {
	p := limit.NewPlaces(1000)
	for range 100 { // all of them at once, one by one
		for j := range 100 {
			p.Acquire(fmt.Sprint(j), 1)
		}
	}
	if !p.Acquire("new", 1) {
		t.Error("a hundred who take what they get leave none")
	}
}

func TestPlacesAreTakenAtOnceOrNotAtAll(t *testing.T) {
	p := limit.NewPlaces(100)
	if p.Acquire("acme", 51) {
		t.Error("more than half was given")
	}
	if !p.Acquire("acme", 50) {
		t.Error("what was refused is still taken")
	}
}

func TestRaceForPlacesGivesBackAll(t *testing.T) {
	p := limit.NewPlaces(64)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for range 1000 {
				if owner := fmt.Sprint(i % 3); p.Acquire(owner, 3) {
					p.Leave(owner, 3)
				}
			}
		})
	}
	all.Wait()
	if !p.Acquire("acme", 32) {
		t.Error("places are missing")
	}
}

// A place that is taken in several names counts for each of them.
func TestPlaceOfSeveralOwners(t *testing.T) {
	p := limit.NewPlaces(4)
	leave, ok := p.Enter("ana", "acme")
	if _, again := p.Enter("ana", "globex"); !ok || !again {
		t.Fatal("two places of four are refused")
	}
	if _, third := p.Enter("ana", "initech"); third {
		t.Error("one owner has three places of four")
	}
	if _, other := p.Enter("bob", "acme"); other {
		t.Error("one owner has two places where two are left and one is hers")
	}
	if _, free := p.Enter("bob", "initech"); !free {
		t.Error("an owner without a place gets none")
	}
	leave()
	if !p.Acquire("acme", 1) {
		t.Error("the place was not given back")
	}
}
