package evidence

import (
	"embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

//go:embed text/*.json
var textFiles embed.FS

// Fill marks where the shop has to write, because only the shop knows what belongs there. The dashboard
// refuses a text that still contains it.
const Fill = "[…]"

// Unfinished reports whether a text still has places to fill in.
func Unfinished(text string) bool { return strings.Contains(text, Fill) }

// Facts are what the service knows about a disputed payment.
type Facts struct {
	Claim      pay.Claim
	Payment    pay.Payment
	Session    pay.Session         // in which it was chosen; zero if there was none
	Claims     []pay.Claim         // of the payment, oldest first
	Deliveries []webhooks.Delivery // of the payment's events, oldest first
	Others     []pay.Payment       // paid and undisputed ones of the same shopper, newest first
}

// Limits of a draft, so that it stays shorter than MaxText whatever the shop described.
const (
	draftItems  = 20
	draftOthers = 5
	draftValue  = 200 // characters of one value
)

// sections are the parts of a draft for each reason, the most convincing first. fill is the part that only the shop can
// write.
var sections = map[Reason][]string{
	Fraud:          {"payment", "shopper", "checkout", "others", "fill", "refunds", "told"},
	NotReceived:    {"payment", "fill", "shopper", "told", "refunds"},
	NotAsDescribed: {"payment", "fill", "refunds", "shopper"},
	Duplicate:      {"payment", "others", "fill", "refunds", "checkout"},
	Canceled:       {"payment", "fill", "others", "refunds", "checkout"},
	NotCredited:    {"payment", "refunds", "fill", "shopper"},
	General:        {"payment", "shopper", "checkout", "fill", "refunds", "told"},
	Late:           {"payment", "fill", "told"},
}

// Draft returns a text against a claim, by the claim's reason, in a language. It says what the service knows, and has
// Fill where the shop has to write. It is edited before it is sent.
func Draft(f Facts, language merchants.Language) string {
	d := drafter{f, ReasonOf(f.Claim), texts()[language]}
	if d.texts == nil {
		d.texts = texts()[merchants.English]
	}
	parts := []string{d.texts["open_"+string(d.reason)]}
	lines := map[string]func() []string{
		"payment": d.payment, "shopper": d.shopper, "checkout": d.checkout, "others": d.others, "refunds": d.refunds, "told": d.deliveryLines, "fill": d.fill,
	}
	for _, section := range sections[d.reason] {
		if list := lines[section](); len(list) > 0 {
			parts = append(parts, d.texts["head_"+section]+"\n"+strings.Join(list, "\n"))
		}
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// texts are the sentences of each language.
var texts = sync.OnceValue(func() map[merchants.Language]map[string]string {
	all := map[merchants.Language]map[string]string{}
	for _, language := range merchants.Languages() {
		body, err := textFiles.ReadFile("text/" + string(language) + ".json")
		if err != nil {
			panic(err) // the files are in the program
		}
		var of map[string]string
		if err := json.Unmarshal(body, &of); err != nil {
			panic(err)
		}
		all[language] = of
	}
	return all
})

// drafter writes one draft.
type drafter struct {
	Facts
	reason Reason
	texts  map[string]string
}

// line is a sentence with its values. It is "" if its first value is empty.
func (d drafter) line(key string, pairs ...string) string {
	if len(pairs) > 1 && pairs[1] == "" {
		return ""
	}
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = short(pairs[i])
	}
	return strings.NewReplacer(pairs...).Replace(d.texts["line_"+key])
}

// short is a value as a text of one line.
func short(value string) string {
	value = strings.ReplaceAll(strings.Join(strings.Fields(value), " "), Fill, "…")
	if runes := []rune(value); len(runes) > draftValue {
		value = string(runes[:draftValue-1]) + "…"
	}
	return value
}

// moment is a time in a form that everybody reads the same way, "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// known drops the lines about what is not known.
func known(lines ...string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

func (d drafter) payment() []string {
	p := d.Payment
	lines := []string{
		d.line("payment", "{payment}", p.ID), d.line("order", "{order}", p.Order.ID), d.line("amount", "{amount}", p.Price.Local.String()),
	}
	if d.Claim.Local != p.Price.Local {
		lines = append(lines, d.line("disputed", "{disputed}", d.Claim.Local.String()))
	}
	lines = append(lines, d.line("method", "{method}", p.Way.Method, "{country}", p.Way.Country), d.line("created", "{created}", moment(p.Times.Created)),
		d.line("completed", "{completed}", moment(p.Times.Completed)), d.line("description", "{description}", p.Order.Purchase.Description))
	for i, item := range p.Order.Purchase.Items {
		if i == draftItems {
			lines = append(lines, "- …")
			break
		}
		lines = append(lines, d.line("item", "{item}", item.Name, "{quantity}", item.Numbers().Quantity, "{price}", item.Price()))
	}
	return known(lines...)
}

func (d drafter) shopper() []string {
	b := d.Payment.Order.Buyer
	document := "" // the bank knows its customer: the end is enough
	if end, ok := lists.DocumentEnd(b.Document); ok {
		document = strings.ToUpper(end[len(end)-lists.FewestOfDocument:])
	}
	return known(d.line("name", "{name}", b.Name), d.line("email", "{email}", b.Email), d.line("phone", "{phone}", b.Phone),
		d.line("document", "{document}", document), d.line("ip", "{ip}", b.IP))
}

func (d drafter) checkout() (lines []string) {
	p, s := d.Payment, d.Session
	if s.ID != "" {
		lines = append(lines, d.line("opened", "{opened}", moment(s.CreatedAt)), d.line("chosen", "{chosen}", moment(p.Times.Created)), d.line("seen", "{seen}", s.IP))
	}
	if p.Page.Hosted {
		lines = append(lines, d.line("hosted"))
	}
	if p.Page.Challenged && !p.Times.Completed.IsZero() {
		lines = append(lines, d.line("challenged"))
	}
	return known(lines...)
}

func (d drafter) others() (lines []string) {
	for i, p := range d.Others {
		if i == draftOthers {
			break
		}
		key := "other"
		if p.Order.ID == "" {
			key = "other_plain"
		}
		lines = append(lines, d.line(key, "{at}", moment(p.Times.Completed), "{amount_of}", p.Price.Local.String(), "{order_of}", p.Order.ID, "{payment_of}", p.ID))
	}
	return lines
}

func (d drafter) refunds() (lines []string) {
	for _, c := range d.Claims {
		if c.Kind != pay.UserDispute || c.Status.Terminal() && !c.Status.Pays() {
			continue
		}
		key, at := "refund", c.Resolved
		if !c.Status.Terminal() {
			key, at = "refund_open", c.CreatedAt
		}
		lines = append(lines, d.line(key, "{at}", moment(at), "{amount_of}", c.Local.String(), "{refund}", c.ID))
	}
	if len(lines) == 0 {
		return []string{d.line("no_refund")}
	}
	return lines
}

func (d drafter) deliveryLines() []string {
	for _, told := range d.Deliveries {
		if told.EventType == webhooks.PaymentCompleted && !told.DeliveredAt.IsZero() {
			return []string{d.line("told", "{told}", moment(told.DeliveredAt))}
		}
	}
	return nil
}

func (d drafter) fill() (lines []string) {
	for _, kind := range d.reason.Wanted() {
		lines = append(lines, strings.ReplaceAll(d.texts["fill_"+kind], "{fill}", Fill))
	}
	return lines
}
