package docs

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// Each promise of the documents is in the list of exactly one room. So all rooms together see every
// promise: a room fails if its tests do not see what its list has.
func TestEveryPromiseIsARooms(t *testing.T) {
	harness.Operated(t, func(t *testing.T, _ harness.Operator) {
		rooms, err := filepath.Glob("../*/main_test.go")
		harness.Must(t, err)
		for i, main := range rooms {
			rooms[i] = filepath.Dir(main)
		}
		lists, err := harness.PromisesOf(rooms)
		harness.Must(t, err)
		roomOf := map[string]string{}
		for _, room := range slices.Sorted(maps.Keys(lists)) {
			for _, promise := range lists[room] {
				if roomOf[promise] != "" {
					t.Errorf("%q is in the lists of %s and %s, want one", promise, roomOf[promise], room)
				}
				roomOf[promise] = room
			}
		}
		for _, promise := range slices.Concat(harness.Published.Promises(), harness.PublishedForOperators.Promises()) {
			if roomOf[promise] == "" {
				t.Errorf("the documents promise %q: add it to testdata/promises.txt of the room whose tests see it", promise)
			}
			delete(roomOf, promise)
		}
		for promise, room := range roomOf {
			t.Errorf("the list of %s has %q, which the documents do not promise", room, promise)
		}
	})
}
