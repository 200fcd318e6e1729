package conekta

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// order is the part of an order that we read.
type order struct {
	ID       text            `json:"id"`
	Livemode bool            `json:"livemode"`
	Status   text            `json:"payment_status"` // "" before the first try on a page
	Updated  int64           `json:"updated_at"`
	Refunded int64           `json:"amount_refunded"`
	Metadata json.RawMessage `json:"metadata"`
	Charges  *struct {
		Data    []charge `json:"data"`
		HasMore bool     `json:"has_more"`
	} `json:"charges"`
	Checkout *struct {
		URL     text  `json:"url"`
		Expires int64 `json:"expires_at"`
	} `json:"checkout"`
	answered time.Time // Conekta's time when it answered; zero if it did not say
}

type charge struct {
	ID       text  `json:"id"`
	Amount   int64 `json:"amount"`
	Currency text  `json:"currency"`
	Status   text  `json:"status"`
	Failure  text  `json:"failure_code"`
	Created  int64 `json:"created_at"`
	Paid     int64 `json:"paid_at"`
	Method   struct {
		CLABE     text   `json:"clabe"`
		Account   text   `json:"receiving_account_number"`
		Bank      text   `json:"receiving_account_bank"`
		Ref       text   `json:"reference"`
		Agreement text   `json:"agreement"`
		Product   text   `json:"product_type"`
		Stores    []text `json:"store_names"`
	} `json:"payment_method"`
	Refunds *struct {
		Data    []refund `json:"data"`
		HasMore bool     `json:"has_more"`
	} `json:"refunds"`
	Months     int64       `json:"monthly_installments"`
	Chargeback *chargeback `json:"chargeback"`
}

// reference is ours, or "" in an order that another system made.
func (o order) reference() string {
	var m struct {
		Reference text `json:"cascada_reference"`
	}
	if read(o.Metadata, &m) != nil {
		return ""
	}
	return string(m.Reference)
}

func (o order) charges() []charge {
	if o.Charges == nil {
		return nil
	}
	return o.Charges.Data
}

// storeReversed is the status of cash that a store took back; only the event charge.reversed names it.
const storeReversed = "reversed"

// partlyBack is the status of an order or a charge of which a part was refunded.
const partlyBack = "partially_refunded"

// paidWords are the statuses of orders that were paid, even if refunded since: see reversed.
var paidWords = []text{"paid", partlyBack, "refunded", chargedBack, storeReversed}

// paidCharges are those of an order's charges that were paid. The others are references that nobody used, or cards that
// were declined.
func (o order) paidCharges() (list []charge) {
	for _, c := range o.charges() {
		if slices.Contains(paidWords, c.Status) {
			list = append(list, c)
		}
	}
	return list
}

// paid reports whether there is money: of the order, or of one of its charges, whatever the order
// says.
func (o order) paid() bool {
	return slices.Contains(paidWords, o.Status) || len(o.paidCharges()) > 0
}

// moneys is what the shopper paid, the oldest first: one charge, unless the order was paid again, or
// more than one of its references was.
func (o order) moneys() (list []pay.Money, ok bool) {
	paid, sum := o.paidCharges(), int64(0)
	slices.SortStableFunc(paid, func(a, b charge) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.Paid, a.Created), cmp.Or(b.Paid, b.Created)), cmp.Compare(a.ID, b.ID))
	})
	for _, c := range paid {
		currency, err := money.ParseCurrency(string(c.Currency))
		if err != nil || c.Amount <= 0 || len(list) > 0 && currency != list[0].Local.Currency {
			return nil, false
		}
		ref := ""
		if isID(string(c.ID)) {
			ref = string(c.ID)
		}
		if sum += c.Amount; sum < c.Amount || ref == "" && len(list) > 0 { // more than there can be, or it cannot be told apart
			return nil, false
		}
		list = append(list, pay.Money{Ref: ref, ProviderRef: string(o.ID), Local: money.New(c.Amount, currency)})
	}
	return list, len(list) > 0
}

// outcome is the outcome of an order. rail and pageURL are the request's, and "" for an
// event.
func (a *account) outcome(o order, rail, pageURL string) pay.Outcome {
	out := a.state(o, rail, pageURL)
	out.Tries = a.tries(o)
	return out
}

// tries are the charges of a page that were declined.
func (a *account) tries(o order) (list []decline.Try) {
	if o.Checkout == nil {
		return nil
	}
	for _, c := range o.charges() {
		if c.Status == "declined" && isID(string(c.ID)) {
			list = append(list, provider.Try(string(c.ID), c.Created*1_000_000, a.Reason(declines, reason(c.Failure)), string(c.Failure)))
		}
	}
	return list
}

// state is outcome without the tries.
func (a *account) state(o order, rail, pageURL string) pay.Outcome {
	out := pay.Outcome{ProviderRef: string(o.ID)}
	switch {
	case !isID(out.ProviderRef):
		return *provider.Broken()
	case o.Livemode != a.Live: // test money in production, or real money in tests
		out.Kind, out.Decline = pay.Unknown, "wrong_environment"
		return out
	case o.paid():
		list, ok := o.moneys()
		if !ok {
			out.Kind, out.Decline = pay.Unknown, "amount_not_readable"
			return out
		}
		out.Kind, out.FormURL = pay.Approved, pageURL
		out.MoneyRef, out.Local, out.Also, out.Installments = list[0].Ref, list[0].Local, list[1:], o.plan(list[0].Ref)
		if len(list) == 1 {
			out.Also = nil
		}
		return o.reversed(out)
	}
	switch o.Status {
	case "", "pending_payment", "partially_paid", "pre_authorized", "under_fraud_review", "pending_confirmation":
		return a.awaiting(o, out, rail, pageURL)
	case "declined":
		if o.Checkout != nil && a.Now().Unix() < o.Checkout.Expires { // the shopper may try another card
			return a.awaiting(o, out, rail, pageURL)
		}
		return a.declined(o, out)
	case "fraudulent":
		return provider.Refusal(decline.FraudSuspected, out.ProviderRef)
	case "expired":
		out.Kind, out.Decline = pay.Lapsed, "expired"
	case "canceled", "voided":
		out.Kind, out.Decline = pay.Lapsed, "canceled"
	default:
		a.Strange("order", string(o.Status))
		out.Kind, out.Decline = pay.Unknown, "unknown_status"
	}
	return out
}

// awaiting says where and with what the shopper pays.
func (a *account) awaiting(o order, out pay.Outcome, rail, pageURL string) pay.Outcome {
	out.Kind = pay.Awaiting
	if o.Checkout != nil {
		if o.Status == "" && a.Now().Unix() >= o.Checkout.Expires {
			out.Kind, out.Decline = pay.Lapsed, "expired"
			return out
		}
		if out.FormURL = provider.Link(string(o.Checkout.URL)); out.FormURL == "" {
			out.Kind, out.Decline = pay.Unknown, "no_instructions"
		}
		return out
	}
	out.FormURL = pageURL
	switch {
	case networks[rail].products != nil:
		data, ok := o.voucher(rail)
		if out.Data = data; !ok {
			out.Kind, out.Decline = pay.Unknown, "no_instructions"
		}
	case rail == spei && len(o.charges()) == 1:
		m := o.charges()[0].Method
		out.Data = pay.PaymentData{CLABE: string(m.CLABE), Bank: string(m.Bank)}
		if out.Data.CLABE == "" {
			out.Data.CLABE = string(m.Account)
		}
		if !provider.Digits(out.Data.CLABE, 18, 18) {
			out.Kind, out.Decline, out.Data = pay.Unknown, "no_instructions", pay.PaymentData{}
		}
	case len(o.charges()) == 1 && !slices.Contains(Adapter().Rails, rail): // of an event, or a rail that is not sold any more
		out.Data = pay.PaymentData{Reference: string(o.charges()[0].Method.Ref)}
	case rail != "" || len(o.charges()) == 0: // a page without an address, or a charge that is missing
		out.Kind, out.Decline, out.FormURL = pay.Unknown, "no_instructions", ""
	}
	return out
}

// declines are by the last part of a charge's failure_code.
var declines = provider.Declines{
	"":                               decline.Declined, // the code may be null
	"insufficient_funds":             decline.InsufficientFunds,
	"expired_card":                   decline.ExpiredCard,
	"expired":                        decline.ExpiredCard,
	"suspected_fraud":                decline.FraudSuspected,
	"suspicious_behaviour":           decline.FraudSuspected,
	"stolen_card":                    decline.StolenCard,
	"lost_card":                      decline.LostCard,
	"blocked_payment_source":         decline.RestrictedCard,
	"invalid_card":                   decline.InvalidNumber,
	"invalid_card_security_code":     decline.InvalidCVC,
	"card_not_supported":             decline.NotSupported,
	"declined_by_3ds":                decline.NotAuthenticated,
	"declined":                       decline.DoNotHonor,
	"card_declined":                  decline.DoNotHonor,
	"call_issuer":                    decline.CallIssuer,
	"invalid_transaction":            decline.ProcessingError,
	"processing_error":               decline.ProcessingError,
	"international_card_not_allowed": decline.NotSupported,
}

// declined uses the reason of the last try.
func (a *account) declined(o order, out pay.Outcome) pay.Outcome {
	var last charge
	for _, c := range o.charges() {
		if c.Created >= last.Created {
			last = c
		}
	}
	return a.Declined(declines, reason(last.Failure), out.ProviderRef)
}

type customer struct {
	Name      string `json:"name"`
	Email     string `json:"email"`
	Phone     string `json:"phone"`
	Corporate bool   `json:"corporate"`
}

type lineItem struct {
	Name      string `json:"name"`
	UnitPrice int64  `json:"unit_price"`
	Quantity  int64  `json:"quantity"`
	SKU       string `json:"sku,omitempty"`
}

type chargeRequest struct {
	Amount        int64  `json:"amount"`
	ReferenceID   string `json:"reference_id"`
	PaymentMethod struct {
		Type      string `json:"type"`
		ExpiresAt int64  `json:"expires_at"`
		IP        string `json:"customer_ip_address,omitempty"`
	} `json:"payment_method"`
}

type checkoutRequest struct {
	Type                  string   `json:"type"`
	AllowedPaymentMethods []string `json:"allowed_payment_methods"`
	SuccessURL            string   `json:"success_url"`
	FailureURL            string   `json:"failure_url"`
	ExpiresAt             int64    `json:"expires_at"`
	Name                  string   `json:"name"`
	Installments          bool     `json:"monthly_installments_enabled,omitempty"`
	Months                []int    `json:"monthly_installments_options,omitempty"`
}

type orderRequest struct {
	Currency     string            `json:"currency"`
	CustomerInfo customer          `json:"customer_info"`
	LineItems    []lineItem        `json:"line_items"`
	Charges      []chargeRequest   `json:"charges,omitempty"`
	Checkout     *checkoutRequest  `json:"checkout,omitempty"`
	Metadata     map[string]string `json:"metadata"`
}

// pageTime is the shortest time for which a page can be open: ten minutes (conekta/mcp-server,
// 2026-04-15), or five (checkout_request.yml, since 2026-04-28), and one for clocks that differ.
const pageTime = 11 * time.Minute

func (a *account) request(r provider.Request) orderRequest {
	q := orderRequest{
		Currency:     string(r.Local.Currency),
		CustomerInfo: customer{provider.Words(r.Buyer.Name, longest), r.Buyer.Email, phone(r), r.IsCompany()},
		LineItems:    lines(r),
		Metadata:     map[string]string{"cascada_reference": r.Reference},
	}
	if order := provider.Words(r.OrderID, longest); order != "" {
		q.Metadata["order"] = order
	}
	if r.Rail == card {
		until := r.Expires
		if least := a.Now().Add(pageTime); until.Before(least) {
			until = least
		}
		months := a.Installments(r.Rail, r.Local, r.Installments).InterestFree
		q.Checkout = &checkoutRequest{"HostedPayment", []string{"card"}, r.BackURL, r.BackURL, until.Unix(), title(r), len(months) > 0, months}
		return q
	}
	c := chargeRequest{Amount: r.Local.Minor, ReferenceID: r.Reference}
	if c.PaymentMethod.Type = "cash"; r.Rail == spei {
		c.PaymentMethod.Type = "spei"
	}
	c.PaymentMethod.ExpiresAt, c.PaymentMethod.IP = r.Expires.Unix(), provider.Exact(r.Buyer.IP, 45)
	q.Charges = []chargeRequest{c}
	return q
}

// A text has three to 249 characters (product.yml), one of metadata up to 249.
const (
	shortest = 3
	longest  = 249
)

// title is what is bought, in a text that is long enough.
func title(r provider.Request) string {
	if t := r.Title(longest); utf8.RuneCountInString(t) >= shortest {
		return t
	}
	return r.Reference
}

// lines make up the order's amount. It is one line of all, unless what is bought makes up the amount in pesos and Conekta takes each line.
func lines(r provider.Request) (list []lineItem) {
	for _, item := range r.Items() {
		name := provider.Words(item.Name, longest)
		if utf8.RuneCountInString(name) < shortest {
			list = nil
			break
		}
		list = append(list, lineItem{name, item.Unit.Minor, item.Quantity, provider.Words(item.SKU, longest)})
	}
	if list == nil {
		list = []lineItem{{Name: title(r), UnitPrice: r.Local.Minor, Quantity: 1}}
	}
	return list
}

// phone is the shopper's telephone; as the shop sent it, if it can be none: Conekta requires one, and says no more of it.
func phone(r provider.Request) string {
	return cmp.Or(r.Phone(), provider.Words(r.Buyer.Phone, longest))
}
