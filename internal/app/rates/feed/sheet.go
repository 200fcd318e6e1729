package feed

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

// Refused is a rate that could not be read, in a text with other rates.
type Refused struct {
	Currency money.Currency
	Err      error
}

// published is the usual answer of JSON endpoints. The time has one of three forms.
type published struct {
	Base      string                     `json:"base"`
	BaseCode  string                     `json:"base_code"`
	Date      string                     `json:"date"`
	Timestamp json.Number                `json:"timestamp"`
	UpdatedAt json.Number                `json:"time_last_update_unix"`
	Rates     map[string]json.RawMessage `json:"rates"`
}

// ParsePublished reads {"base":"USD","date":"2026-11-20","rates":{"BRL":5.43}}. The base is
// "base" or "base_code" and must be USD. The time is "timestamp" or "time_last_update_unix"
// in seconds since 1970, or "date", a date or a date-time; without any it is now. Rates
// with today's date count as of now. Codes that are not currencies are skipped, and so is
// the dollar itself. Numbers are read exactly as written.
func ParsePublished(text []byte, source string, now time.Time) ([]rates.Reading, []Refused, error) {
	var p published
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, nil, fmt.Errorf("rates: %w", err)
	}
	if p.Base == "" {
		p.Base = p.BaseCode
	}
	if p.Base != string(money.USD) {
		return nil, nil, fmt.Errorf("rates: the base is %q, want USD", p.Base)
	}
	if len(p.Rates) == 0 {
		return nil, nil, errors.New("rates: there are none")
	}
	at, err := p.at(now)
	if err != nil {
		return nil, nil, fmt.Errorf("rates: %w", err)
	}
	var readings []rates.Reading
	var refused []Refused
	for _, code := range slices.Sorted(maps.Keys(p.Rates)) {
		currency, err := money.ParseCurrency(code)
		if err != nil || currency == money.USD {
			continue
		}
		rate, err := money.ParseRate(string(p.Rates[code]))
		if err != nil {
			refused = append(refused, Refused{currency, err})
			continue
		}
		readings = append(readings, rates.Reading{Currency: currency, Rate: rate, Source: source, At: at})
	}
	return readings, refused, nil
}

// clockSkew is how far ahead of ours a publisher's clock may be.
const clockSkew = time.Hour

// at is the time of the rates, at most now.
func (p published) at(now time.Time) (time.Time, error) {
	seconds := p.Timestamp
	if seconds == "" {
		seconds = p.UpdatedAt
	}
	at := now
	switch {
	case seconds != "":
		n, err := strconv.ParseInt(string(seconds), 10, 64)
		if err != nil || n <= 0 || n > 1<<40 {
			return at, fmt.Errorf("the time %q is not in seconds since 1970", seconds)
		}
		at = time.Unix(n, 0).UTC()
	case p.Date != "":
		day, err := time.Parse(time.DateOnly, p.Date)
		if err == nil {
			if day.After(now.Add(clockSkew)) {
				return at, fmt.Errorf("the rates are for a day in the future: %s", p.Date)
			}
			at = earlier(day.Add(24*time.Hour), now)
			break
		}
		if at, err = time.Parse(time.RFC3339, p.Date); err != nil {
			return at, fmt.Errorf("the date %q is neither a date nor a date-time", p.Date)
		}
	}
	if at.After(now.Add(clockSkew)) {
		return at, fmt.Errorf("the rates are for a time in the future: %s", at.Format(time.RFC3339))
	}
	return earlier(at, now), nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// ParseFile reads an operator's file: anything that ParsePublished reads; a JSON list of
// {"currency", "rate", "source", "observedAt"}; or CSV with a header of the columns
// currency, rate, source, observed_at. The source and the time are optional and default to
// source and now. One bad line makes it refuse the file.
func ParseFile(text []byte, source string, now time.Time) ([]rates.Reading, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var readings []rates.Reading
	var err error
	switch start := bytes.TrimSpace(text); {
	case bytes.HasPrefix(start, []byte("{")):
		var refused []Refused
		readings, refused, err = ParsePublished(text, source, now)
		for _, r := range refused {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.Currency, r.Err))
		}
	case bytes.HasPrefix(start, []byte("[")):
		readings, err = parseList(text, source, now)
	default:
		readings, err = parseCSV(text, source, now)
	}
	if err != nil {
		return nil, err
	}
	seen := map[money.Currency]bool{}
	for _, r := range readings {
		if seen[r.Currency] {
			return nil, fmt.Errorf("%s has two rates", r.Currency)
		}
		seen[r.Currency] = true
	}
	if len(readings) == 0 {
		return nil, errors.New("the file has no rates")
	}
	return readings, nil
}

func parseList(text []byte, source string, now time.Time) ([]rates.Reading, error) {
	var list []struct {
		Currency   string          `json:"currency"`
		Rate       json.RawMessage `json:"rate"`
		Source     string          `json:"source"`
		ObservedAt string          `json:"observedAt"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("rates: %w", err)
	}
	var readings []rates.Reading
	for i, l := range list {
		r, err := reading(l.Currency, strings.Trim(string(l.Rate), `"`), l.Source, l.ObservedAt, source, now)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		readings = append(readings, r)
	}
	return readings, nil
}

func parseCSV(text []byte, source string, now time.Time) ([]rates.Reading, error) {
	lines := csv.NewReader(bytes.NewReader(text))
	lines.TrimLeadingSpace = true
	header, err := lines.Read()
	if err != nil {
		return nil, fmt.Errorf("rates: %w", err)
	}
	column := map[string]int{}
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains([]string{"currency", "rate", "source", "observed_at"}, name) {
			return nil, fmt.Errorf("the first line names the columns currency, rate, source, observed_at; it has %q", name)
		}
		column[name] = i
	}
	if _, ok := column["currency"]; !ok {
		return nil, errors.New("there is no column currency")
	}
	if _, ok := column["rate"]; !ok {
		return nil, errors.New("there is no column rate")
	}
	var readings []rates.Reading
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return readings, nil
		}
		if err != nil {
			return nil, fmt.Errorf("rates: %w", err)
		}
		field := func(name string) string {
			if i, ok := column[name]; ok {
				return strings.TrimSpace(fields[i])
			}
			return ""
		}
		r, err := reading(field("currency"), field("rate"), field("source"), field("observed_at"), source, now)
		if err != nil {
			line, _ := lines.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		readings = append(readings, r)
	}
}

// reading reads one rate from its texts.
func reading(currency, rate, source, at, defaultSource string, now time.Time) (r rates.Reading, err error) {
	if r.Currency, err = money.ParseCurrency(currency); err != nil {
		return r, fmt.Errorf("%q: %w", currency, err)
	}
	if r.Rate, err = money.ParseRate(rate); err != nil {
		return r, fmt.Errorf("%s %q: %w", currency, rate, err)
	}
	r.Source, r.At = source, now
	if source == "" {
		r.Source = defaultSource
	}
	if at == "" {
		return r, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, at); err == nil {
			r.At = t
			return r, nil
		}
	}
	return r, fmt.Errorf("%s: the time %q is neither a date nor a date-time such as 2026-11-20T15:04:05Z", currency, at)
}
