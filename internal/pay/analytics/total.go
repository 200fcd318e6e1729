package analytics

import (
	"fmt"
	"strconv"
	"time"
)

// Dimension is what totals are grouped by. Each day of a shop has one total for each value of a dimension and outcome.
type Dimension string

// The dimensions.
const (
	ByAll     Dimension = "all" // one value, "": every payment that ended
	ByMethod  Dimension = "method"
	ByCountry Dimension = "country"
	ByRail    Dimension = "rail"
	ByBand    Dimension = "band"   // of the amount in USD: the least dollars of a band
	ByHour    Dimension = "hour"   // of its creation, UTC: "00" to "23"
	ByAnswer  Dimension = "answer" // why it was not paid
	ByTries   Dimension = "tries"  // how many accounts were tried: "0", "1", "2", "3"; the last means three or more
	// ByInstallments is in how many a paid card was paid: "1" is at once.
	ByInstallments Dimension = "installments"
	ByWait         Dimension = "wait" // of a payment that was not paid at once: its method, a slash, and its WaitClass
	// ByAccount counts attempts, not payments: a payment that two providers declined counts at both. ByRoute is the same by account
	// and rail, with a slash between. For operators.
	ByAccount Dimension = "account"
	ByRoute   Dimension = "route"
	// ByRefusal counts the shoppers' tries that did not pay, by reason: several of a payment, also of one that was paid in the end.
	// ByAccountRefusal is the same by account and reason, with a slash between. For operators.
	ByRefusal        Dimension = "refusal"
	ByAccountRefusal Dimension = "account_refusal"
	// ByStep counts checkouts, not payments: the values are the Steps.
	ByStep Dimension = "step"
)

// bands are the least dollars of each band of amounts.
var bands = []int64{0, 10, 25, 50, 100, 250, 500, 1000, 2500}

// Bands lists the values of ByBand, the smallest amounts first.
func Bands() []string {
	var list []string
	for _, least := range bands {
		list = append(list, strconv.FormatInt(least, 10))
	}
	return list
}

// band is the value of ByBand of an amount in USD cents.
func band(cents int64) string {
	least := bands[0]
	for _, b := range bands {
		if cents >= b*100 {
			least = b
		}
	}
	return strconv.FormatInt(least, 10)
}

// WaitClass is a range of times: about how long shoppers took to pay.
type WaitClass struct {
	Name string        // in a value of ByWait
	Most time.Duration // 0: no upper limit
}

// WaitClasses lists the classes, the shortest first.
func WaitClasses() []WaitClass {
	return []WaitClass{
		{"1m", time.Minute}, {"5m", 5 * time.Minute}, {"15m", 15 * time.Minute}, {"1h", time.Hour}, {"6h", 6 * time.Hour},
		{"1d", 24 * time.Hour}, {"3d", 72 * time.Hour}, {"more", 0},
	}
}

func waitClass(d time.Duration) string {
	name := ""
	for _, c := range WaitClasses() {
		name = c.Name
		if c.Most > 0 && d <= c.Most {
			break
		}
	}
	return name
}

// mostTries is the number of tries from which payments are counted together.
const mostTries = 3

// Everyone is the shop of the totals over all shops.
const Everyone = ""

// Key says what a total counts.
type Key struct {
	Shop      string // Everyone: of all shops
	Live      bool
	Dimension Dimension
	Day       int64 // days since 1970, UTC
	Value     string
	Outcome   Outcome // "" for ByStep
}

// Total adds facts up.
type Total struct {
	N      int64 // payments; attempts for ByAccount, checkouts for ByStep
	Amount int64 // USD cents
	Fees   int64 // USD cents
}

// Plus adds two totals.
func (t Total) Plus(o Total) Total { return Total{t.N + o.N, t.Amount + o.Amount, t.Fees + o.Fees} }

// Totals are totals by what they count.
type Totals map[Key]Total

// Add counts payments or checkouts of a class along every dimension, for their shop and for all shops.
func (ts Totals) Add(c Class, sum Total) {
	attempts := Total{N: sum.N, Amount: sum.Amount}
	for _, shop := range []string{c.Shop, Everyone} {
		key := Key{Shop: shop, Live: c.Live, Day: c.Hour / 24}
		if c.Step != "" {
			ts.add(key, ByStep, string(c.Step), attempts)
		}
		if c.Outcome == "" {
			continue
		}
		key.Outcome = c.Outcome
		ts.add(key, ByAll, "", sum)
		ts.add(key, ByMethod, c.Method, sum)
		ts.add(key, ByCountry, c.Country, sum)
		ts.add(key, ByRail, c.Rail, sum)
		ts.add(key, ByBand, c.Band, sum)
		ts.add(key, ByHour, fmt.Sprintf("%02d", c.Hour%24), sum)
		ts.add(key, ByTries, strconv.Itoa(min(len(c.Tries), mostTries)), sum)
		if c.Outcome != Paid {
			ts.add(key, ByAnswer, c.Answer, sum)
		}
		if c.Count > 0 {
			ts.add(key, ByInstallments, strconv.Itoa(c.Count), sum)
		}
		if c.Wait != "" {
			ts.add(key, ByWait, c.Method+"/"+c.Wait, sum)
		}
		for _, t := range c.Tries {
			key.Outcome = t.Outcome
			ts.add(key, ByAccount, t.Account, attempts)
			ts.add(key, ByRoute, t.Account+"/"+c.Rail, attempts)
		}
		key.Outcome = Declined
		for _, r := range c.Refusals {
			ts.add(key, ByRefusal, r.Reason, attempts)
			ts.add(key, ByAccountRefusal, r.Account+"/"+r.Reason, attempts)
		}
	}
}

func (ts Totals) add(k Key, d Dimension, value string, more Total) {
	k.Dimension, k.Value = d, value
	if d == ByStep {
		k.Outcome = ""
	}
	ts[k] = ts[k].Plus(more)
}
