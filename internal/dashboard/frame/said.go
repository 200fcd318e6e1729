package frame

import (
	_ "embed" // of the sentences
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
)

//go:embed errors.json
var errorsFile []byte

// saying is what pages show for a sentence of the core's errors.
type saying struct {
	core  string            // the sentence as the core has it, with {} for each value
	words map[string]string // by language, with {1} for the first value; without English the core's own sentence is shown
	fits  *regexp.Regexp    // nil: the sentence has no values
}

// sayings are the sentences of errors.json. The core speaks English, as the API does; pages speak the visitor's
// language, and do not mention requests and headers. A test keeps this file in step with the core's sentences.
type sayings struct {
	exact map[string]*saying
	open  []*saying // those with values, the longest first: a short one fits more
}

// ownSayings are those of errors.json. It is read once in a process.
var ownSayings = sync.OnceValues(func() (*sayings, error) { return readSayings(errorsFile) })

// readSayings reads a file such as errors.json.
func readSayings(body []byte) (*sayings, error) {
	var file map[string]map[string]string
	if err := json.Unmarshal(body, &file); err != nil {
		return nil, fmt.Errorf("errors.json: %w", err)
	}
	all := &sayings{exact: map[string]*saying{}}
	for core, words := range file {
		one := &saying{core: core, words: words}
		for _, lang := range languages[1:] {
			if words[lang] == "" {
				return nil, fmt.Errorf("errors.json: %q has no %s", core, lang)
			}
		}
		for lang, sentence := range words {
			for _, place := range places(sentence) {
				if n, err := strconv.Atoi(place); err != nil || n < 1 || n > strings.Count(core, "{}") || !slices.Contains(languages, lang) {
					return nil, fmt.Errorf("errors.json: %q has {%s} in %s", core, place, lang)
				}
			}
		}
		if !strings.Contains(core, "{}") {
			all.exact[core] = one
			continue
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(core), `\{\}`, "(.*)")
		one.fits = regexp.MustCompile("^(?s:" + pattern + ")$")
		all.open = append(all.open, one)
	}
	slices.SortFunc(all.open, func(a, b *saying) int {
		if len(a.core) != len(b.core) {
			return len(b.core) - len(a.core)
		}
		return strings.Compare(a.core, b.core)
	})
	return all, nil
}

// find returns the saying for a message of the core, with the values in it; nil for a message that is not the core's.
func (s *sayings) find(message string) (*saying, []string) {
	if one := s.exact[message]; one != nil {
		return one, nil
	}
	for _, one := range s.open {
		if values := one.fits.FindStringSubmatch(message); values != nil {
			return one, values[1:]
		}
	}
	return nil, nil
}

// said is an error's message as a page of a language shows it. A message that is not the core's, such as one that a
// room has made of its own texts, stays as it is. The core's may begin with a capital letter.
func (f *Frame) said(lang, message string) string {
	one, values := f.sayings.find(message)
	if one == nil {
		first, size := utf8.DecodeRuneInString(message)
		one, values = f.sayings.find(string(unicode.ToLower(first)) + message[size:])
	}
	if one == nil || one.words[lang] == "" {
		return Sentence(message)
	}
	pairs := make([]string, 0, 2*len(values))
	for i, value := range values {
		pairs = append(pairs, "{"+strconv.Itoa(i+1)+"}", f.saidValue(lang, value))
	}
	return Sentence(strings.NewReplacer(pairs...).Replace(one.words[lang]))
}

var amountText = regexp.MustCompile(`^(-?[0-9.]+) ([A-Z]{3,5})$`)

// saidValue is a value of a message: an amount and a status as pages write them.
func (f *Frame) saidValue(lang, value string) string {
	if m := amountText.FindStringSubmatch(value); m != nil {
		if c, err := money.ParseCurrency(m[2]); err == nil {
			if amount, err := money.Parse(m[1], c); err == nil {
				return moneyText(lang, amount)
			}
		}
	}
	if status, known := f.texts[lang]["status_"+value]; known {
		return strings.ToLower(status)
	}
	return value
}
