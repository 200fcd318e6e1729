package frame

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"golang.org/x/text/language"
)

//go:embed text/*.json
var textFiles embed.FS

// texts are sentences in one language, by key.
type texts map[string]string

// text is a sentence of the frame.
func (f *Frame) text(lang, key string) (sentence string, known bool) {
	sentence, known = f.texts[lang][key]
	return sentence, known
}

// languages are the languages of the pages, the fallback first.
var languages = []string{"en", "es", "pt"}

var matcher = language.NewMatcher([]language.Tag{language.English, language.Spanish, language.Portuguese})

// embedded are the texts of each embed.FS, once read. They are a part of the program, and nobody changes them.
var embedded sync.Map

// textsOf is readTexts, which reads what is embedded once in a process.
func textsOf(files fs.FS) (map[string]texts, error) {
	own, ok := files.(embed.FS)
	if !ok {
		return readTexts(files)
	}
	read, _ := embedded.LoadOrStore(own, sync.OnceValues(func() (map[string]texts, error) { return readTexts(own) }))
	return read.(func() (map[string]texts, error))()
}

// readTexts reads text/<language>.json of all languages. All have the same keys, with the same places for
// values.
func readTexts(files fs.FS) (map[string]texts, error) {
	all := map[string]texts{}
	for _, lang := range languages {
		body, err := fs.ReadFile(files, "text/"+lang+".json")
		if errors.Is(err, fs.ErrNotExist) && lang == languages[0] { // a room without sentences of its own
			return map[string]texts{"en": {}, "es": {}, "pt": {}}, nil
		}
		if err != nil {
			return nil, err
		}
		var t texts
		if err := json.Unmarshal(body, &t); err != nil {
			return nil, fmt.Errorf("texts %s: %w", lang, err)
		}
		all[lang] = t
	}
	for _, lang := range languages {
		for _, other := range languages {
			for key, sentence := range all[other] {
				translated, known := all[lang][key]
				switch {
				case !known || strings.TrimSpace(translated) == "":
					return nil, fmt.Errorf("text %q is in %s.json and not in %s.json", key, other, lang)
				case !slices.Equal(places(sentence), places(translated)):
					return nil, fmt.Errorf("text %q has other values in %s.json %v than in %s.json %v", key, other, places(sentence), lang, places(translated))
				}
			}
		}
	}
	return all, nil
}

// places lists the {names} in a sentence, sorted.
func places(sentence string) []string {
	var found []string
	for {
		_, after, more := strings.Cut(sentence, "{")
		name, rest, closed := strings.Cut(after, "}")
		if !more || !closed {
			slices.Sort(found)
			return slices.Compact(found)
		}
		found, sentence = append(found, name), rest
	}
}

// Method is the usual name of a method, such as pix, as plain text.
func (p *Page) Method(name string) string {
	if text, known := p.room.text(p.lang, "method_"+name); known {
		return text
	}
	return strings.ReplaceAll(name, "_", " ")
}

// Country is the name of a country, as plain text; code is ISO 3166, alpha-3.
func (p *Page) Country(code string) string {
	if text, known := p.room.text(p.lang, "country_"+code); known {
		return text
	}
	if c, known := geo.Parse(code); known {
		return c.Name
	}
	return code
}

// languageOf is the language that a browser asks for, for pages of nobody.
func languageOf(r *http.Request) string {
	if wanted := r.URL.Query().Get("lang"); slices.Contains(languages, wanted) {
		return wanted
	}
	if tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language")); err == nil && len(tags) > 0 {
		if _, i, sure := matcher.Match(tags...); sure != language.No {
			return languages[i]
		}
	}
	return languages[0]
}

// fill replaces each {name} in a sentence by its value, which is escaped unless it is HTML.
func fill(lang, sentence string, args []any) template.HTML {
	pairs := make([]string, 0, len(args)+len(args)%2)
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, "{"+fmt.Sprint(args[i])+"}", string(shown(lang, args[i+1])))
	}
	return template.HTML(strings.NewReplacer(pairs...).Replace(template.HTMLEscapeString(sentence))) //nolint:gosec // all of it is escaped
}

// shown is a value of a sentence.
func shown(lang string, value any) template.HTML {
	switch v := value.(type) {
	case template.HTML:
		return v
	case money.Amount:
		return moneyHTML(lang, v)
	case money.Rate:
		return template.HTML(rateText(lang, v)) //nolint:gosec // digits
	case time.Time:
		return timeHTML(lang, v)
	case int:
		return template.HTML(grouped(lang, int64(v))) //nolint:gosec // digits
	case int64:
		return template.HTML(grouped(lang, v)) //nolint:gosec // digits
	}
	return template.HTML(template.HTMLEscapeString(fmt.Sprint(value))) //nolint:gosec // escaped
}
