package reconciliation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
)

// FormatChanges describe a report that differs from the one that the adapter knows. The zero value changes nothing.
type FormatChanges struct {
	Columns    map[string]string // the report's columns by our words; any of them stands for the whole report's
	Types      map[string]string // the kind of each word in the column of types
	Paid       []string          // words in the column of statuses which say that money moved
	Separator  string            // comma, semicolon, tab or bar; "" or auto: whichever the header has
	Decimal    string            // comma, else point
	Units      string            // minor, else major
	Currency   string            // if the report has no column for it
	DateFormat string            // such as DD/MM/YYYY hh:mm:ss
	Zone       string            // of dates that name none, by name or offset; "": UTC
}

// Apply returns the report's format. With Columns it is that of the changes alone; otherwise it is the account's own with the changes.
//
// It returns an error that begins with the name of what is wrong.
func (f FormatChanges) Apply(own reconcile.Format) (reconcile.Format, error) {
	if len(f.Columns) > 0 {
		words := reconcile.Words()
		if own.Payouts {
			words = reconcile.PayoutWords()
		}
		own = reconcile.Format{Payouts: own.Payouts, Kinds: words}
		for _, word := range slices.Sorted(maps.Keys(f.Columns)) {
			if err := own.Columns.Set(word, f.Columns[word]); err != nil {
				return own, fmt.Errorf("columns: %w", err)
			}
		}
	}
	own, err := f.applyWords(own)
	if err != nil {
		return own, err
	}
	if separator, known := map[string]rune{"comma": ',', "semicolon": ';', "tab": '\t', "bar": '|'}[f.Separator]; known {
		own.Separator = separator
	}
	own.Comma, own.Minor = own.Comma || f.Decimal == "comma", own.Minor || f.Units == "minor"
	if f.Currency != "" {
		currency, err := money.ParseCurrency(f.Currency)
		if err != nil {
			return own, fmt.Errorf("currency %q: %w", f.Currency, err)
		}
		own.Currency = currency
	}
	if f.DateFormat != "" {
		layout, err := reconcile.Layout(f.DateFormat)
		if err != nil {
			return own, fmt.Errorf("date-format %w", err)
		}
		own.Dates = append([]string{layout}, own.Dates...)
	}
	own.Zone, err = zoneOf(f.Zone)
	return own, err
}

// applyWords changes which words of the report say what.
func (f FormatChanges) applyWords(own reconcile.Format) (reconcile.Format, error) {
	own.Kinds = maps.Clone(own.Kinds)
	for word, kind := range f.Types {
		may := []reconcile.Kind{reconcile.Charge, reconcile.Refund, reconcile.Chargeback, reconcile.Other}
		if own.Payouts {
			may = []reconcile.Kind{reconcile.Payout, reconcile.Return, reconcile.Other}
		}
		if !slices.Contains(may, reconcile.Kind(kind)) {
			return own, fmt.Errorf("types: %q is not one of %s", kind, kindWords(may))
		}
		maps.DeleteFunc(own.Kinds, func(known string, _ reconcile.Kind) bool { return strings.EqualFold(known, word) })
		own.Kinds[word] = reconcile.Kind(kind)
	}
	if len(f.Paid) > 0 {
		own.Counts = f.Paid
	}
	if (own.Columns.Status == "") != (len(own.Counts) == 0) {
		return own, errors.New("paid: a status column and this, which gives its words, must be used together")
	}
	return own, nil
}

func kindWords(list []reconcile.Kind) string {
	var words []string
	for _, kind := range list {
		words = append(words, string(kind))
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// zoneOf returns a time zone by its name or by its offset from UTC.
func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if at, err := time.Parse("-07:00", name); err == nil {
		_, seconds := at.Zone()
		return time.FixedZone(name, seconds), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // the local zone can differ between nodes
		return time.UTC, fmt.Errorf("zone %q: want a name such as America/Sao_Paulo, or an offset such as -03:00", name)
	}
	return zone, nil
}
