package packed

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"
)

var (
	samples = flag.String("samples", "", "a directory of objects, one a file, each named after its kind: TestBuildDictionary makes a dictionary of them")
	build   = flag.String("build", "", "the file that the new dictionary is written into")
)

const (
	largest   = 24 << 10 // bytes of a dictionary; more of them save less than one byte in a hundred
	perKind   = 80       // so many objects of each kind are looked at
	oneObject = 2500     // bytes; larger objects are full of what no other has
)

// What differs from object to object says nothing of others.
var (
	ulid     = regexp.MustCompile(`0[0-9A-HJKMNP-TV-Z]{25}`)
	local    = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)
	knownOf  = []*regexp.Regexp{regexp.MustCompile(`evt_(` + ulid.String() + `)`), regexp.MustCompile(`(mer_` + ulid.String() + `)`), regexp.MustCompile(`(shp_` + ulid.String() + `)`)}
	lastWord = regexp.MustCompile(`[a-z_.]+$`)
)

// alike is an object as it is compressed, without what differs.
func alike(object []byte) []byte {
	var known []string
	for _, of := range knownOf {
		text := ""
		if found := of.FindSubmatch(object); found != nil {
			text = string(found[1])
		}
		known = append(known, text)
	}
	object = ulid.ReplaceAll(shorten(nil, object, known), []byte("01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"))
	return local.ReplaceAll(object, []byte("https://pay.example.com/"))
}

// TestBuildDictionary makes a new dictionary, if it is asked to. It is no test of the present one.
//
//	go test ./internal/store/packed -run BuildDictionary -samples DIRECTORY -build internal/store/packed/dictionary2.s2
func TestBuildDictionary(t *testing.T) {
	if *samples == "" {
		return // nothing is to be made
	}
	files, err := filepath.Glob(filepath.Join(*samples, "*"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string][][]byte{}
	for _, file := range files {
		object, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if object = alike(object); len(object) < oneObject {
			kind := lastWord.FindString(file)
			kinds[kind] = append(kinds[kind], object)
		}
	}
	made := s2.MakeDict(chosen(kinds), []byte(`{"id":"evt_`))
	if made == nil {
		t.Fatal("S2 refuses the dictionary")
	}
	if err := os.WriteFile(*build, made.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// chosen is an object of each kind, the most frequent kinds last, and before them, as long as there is room, the object that
// these describe worst.
func chosen(kinds map[string][][]byte) (content []byte) {
	var names []string
	for name, list := range kinds {
		names = append(names, name)
		slices.SortFunc(list, bytes.Compare)
		var some [][]byte
		for i := range min(len(list), perKind) {
			some = append(some, list[i*len(list)/min(len(list), perKind)])
		}
		kinds[name] = some
	}
	slices.SortFunc(names, func(a, b string) int { return len(kinds[a]) - len(kinds[b]) })
	for _, name := range names {
		content = append(content, kinds[name][len(kinds[name])/2]...)
	}
	for len(content) < largest {
		dictionary := s2.MakeDict(content, nil)
		var worst []byte
		most := 0
		for _, name := range names {
			for _, object := range kinds[name] {
				if size := len(dictionary.Encode(nil, object)); size > most {
					worst, most = object, size
				}
			}
		}
		content = append(slices.Clone(worst), content...)
	}
	return content
}
