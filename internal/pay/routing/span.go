package routing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// Span is amounts of a currency, in minor units. Both bounds are within it.
type Span struct {
	Currency money.Currency
	Min, Max int64 // 0: no bound
}

// ParseSpan reads amounts in major units: "BRL:1000-5000", "BRL:1000-" for 1000 and more, "BRL:-5000" for up to 5000.
func ParseSpan(text string) (Span, error) {
	bad := fmt.Errorf("%q is no amount: want such as BRL:1000-5000, BRL:1000- or BRL:-5000", text)
	name, bounds, named := strings.Cut(text, ":")
	low, high, both := strings.Cut(bounds, "-")
	if !named || !both || low == "" && high == "" {
		return Span{}, bad
	}
	currency, err := money.ParseCurrency(name)
	if err != nil {
		return Span{}, fmt.Errorf("%q: there is no currency %q", text, name)
	}
	s := Span{Currency: currency}
	for bound, in := range map[*int64]string{&s.Min: low, &s.Max: high} {
		if in == "" {
			continue
		}
		a, err := money.Parse(in, currency)
		if err != nil || !a.IsPositive() {
			return Span{}, bad
		}
		*bound = a.Minor
	}
	if s.Max > 0 && s.Min > s.Max {
		return Span{}, fmt.Errorf("%q is empty: the first amount is larger than the second", text)
	}
	return s, nil
}

// String returns the form that ParseSpan reads.
func (sp Span) String() string {
	bound := func(minor int64) string {
		if minor == 0 {
			return ""
		}
		return money.New(minor, sp.Currency).Decimal()
	}
	return fmt.Sprintf("%s:%s-%s", sp.Currency, bound(sp.Min), bound(sp.Max))
}

func (sp Span) has(a money.Amount) bool {
	return a.Currency == sp.Currency && a.Minor >= sp.Min && (sp.Max == 0 || a.Minor <= sp.Max)
}

// of is the amount of a payment that the span is about.
func (sp Span) of(t *Traits) money.Amount {
	if sp.Currency == t.Local.Currency {
		return t.Local
	}
	return t.USD
}

// MarshalText implements encoding.TextMarshaler.
func (sp Span) MarshalText() ([]byte, error) { return []byte(sp.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (sp *Span) UnmarshalText(text []byte) (err error) {
	*sp, err = ParseSpan(string(text))
	return err
}

// Hours is a part of the day, in minutes since midnight on the clocks of a zone. It begins with From and ends before To. If To is not
// later than From, it goes on after midnight.
type Hours struct{ From, To int }

const dayMinutes = 24 * 60

// ParseHours reads hours: "9-18", "22:30-06:00".
func ParseHours(text string) (Hours, error) {
	first, last, both := strings.Cut(text, "-")
	from, known := minutes(first)
	to, also := minutes(last)
	switch {
	case !both || !known || !also || from == dayMinutes:
		return Hours{}, fmt.Errorf("%q is no part of a day: want such as 9-18 or 22:30-06:00", text)
	case from == to:
		return Hours{}, fmt.Errorf("%q is no part of a day: it ends when it begins", text)
	}
	return Hours{from, to}, nil
}

// minutes reads a time of day, up to 24:00.
func minutes(text string) (int, bool) {
	hour, minute, exact := strings.Cut(text, ":")
	if !digits(hour, 1, 2) || exact && !digits(minute, 2, 2) {
		return 0, false
	}
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute) // "" is 0
	return 60*h + m, m < 60 && 60*h+m <= dayMinutes
}

// digits reports whether a text is some digits.
func digits(text string, least, most int) bool {
	return len(text) >= least && len(text) <= most && strings.Trim(text, "0123456789") == ""
}

// String returns the form that ParseHours reads.
func (ho Hours) String() string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d", ho.From/60, ho.From%60, ho.To/60, ho.To%60)
}

func (ho Hours) has(at time.Time) bool {
	m := 60*at.Hour() + at.Minute()
	if ho.From < ho.To {
		return ho.From <= m && m < ho.To
	}
	return ho.From <= m || m < ho.To
}

// MarshalText implements encoding.TextMarshaler.
func (ho Hours) MarshalText() ([]byte, error) { return []byte(ho.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (ho *Hours) UnmarshalText(text []byte) (err error) {
	*ho, err = ParseHours(string(text))
	return err
}

// Counts are numbers of installments. Both bounds are within it.
type Counts struct{ Min, Max int }

// ParseCounts reads counts: "6", "2-12", "2-" for two and more.
func ParseCounts(text string) (Counts, error) {
	low, high, both := strings.Cut(text, "-")
	c := Counts{Max: installment.Most}
	var err, other error
	c.Min, err = strconv.Atoi(low)
	switch {
	case !both:
		c.Max = c.Min
	case high != "":
		c.Max, other = strconv.Atoi(high)
	}
	if err != nil || other != nil || c.Min < 1 || c.Max < c.Min || c.Max > installment.Most {
		return Counts{}, fmt.Errorf("%q is no number of installments: want such as 1, 2-12 or 2-, up to %d", text, installment.Most)
	}
	return c, nil
}

// String returns the form that ParseCounts reads.
func (co Counts) String() string {
	switch {
	case co.Min == co.Max:
		return strconv.Itoa(co.Min)
	case co.Max == installment.Most:
		return fmt.Sprintf("%d-", co.Min)
	}
	return fmt.Sprintf("%d-%d", co.Min, co.Max)
}

func (co Counts) has(n int) bool { return co.Min <= n && n <= co.Max }

// MarshalText implements encoding.TextMarshaler.
func (co Counts) MarshalText() ([]byte, error) { return []byte(co.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (co *Counts) UnmarshalText(text []byte) (err error) {
	*co, err = ParseCounts(string(text))
	return err
}

// Zone is a time zone. The zero Zone is UTC.
type Zone struct{ at *time.Location }

// ParseZone reads the name of a zone of the IANA database, such as America/Sao_Paulo.
func ParseZone(name string) (Zone, error) {
	if name == "" || slices.Contains([]string{"Local", "localtime", "posixrules"}, name) || strings.HasPrefix(name, "right/") || strings.HasPrefix(name, "posix/") { // nodes may differ
		return Zone{}, fmt.Errorf("there is no time zone %q: want such as America/Sao_Paulo", name)
	}
	at, err := time.LoadLocation(name)
	if err != nil {
		return Zone{}, fmt.Errorf("there is no time zone %q: want such as America/Sao_Paulo", name)
	}
	return Zone{at}, nil
}

// IsZero reports whether no zone is set.
func (z Zone) IsZero() bool { return z.at == nil }

// String is the zone's name, "" if none is set.
func (z Zone) String() string {
	if z.at == nil {
		return ""
	}
	return z.at.String()
}

func (z Zone) location() *time.Location {
	if z.at == nil {
		return time.UTC
	}
	return z.at
}

// MarshalText implements encoding.TextMarshaler.
func (z Zone) MarshalText() ([]byte, error) { return []byte(z.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (z *Zone) UnmarshalText(text []byte) (err error) {
	*z, err = ParseZone(string(text))
	return err
}
