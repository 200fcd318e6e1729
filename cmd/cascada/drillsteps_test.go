package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/drill"
)

// step prints that a step came out, or why the provider has none.
func (d *atProvider) step(format string, args ...any) {
	d.t.Helper()
	d.t.Logf("%s: "+format, append([]any{d.about.Adapter}, args...)...)
}

// wants fails the drill unless something is as it should be. It says so in any case.
func (d *atProvider) wants(what, got, want string) {
	d.t.Helper()
	if got != want {
		d.t.Errorf("%s: %s: %s, want %s", d.about.Adapter, what, got, want)
		return
	}
	d.step("%s: %s", what, got)
}

// open opens an account with its credentials as the documents say: secrets come from files.
func (d *atProvider) open(a provider.Adapter, id, environment, base string, credentials map[string]string, more ...string) {
	d.t.Helper()
	args := append([]string{"provider", "add", a.Name, "--id", id, "--environment", environment, "--base-url", base}, more...)
	for _, f := range a.Fields {
		value, given := credentials[f.Name]
		switch {
		case !given:
		case f.Public && !strings.Contains(value, "\n"):
			args = append(args, "--credential", f.Name+"="+value)
		default:
			args = append(args, "--credential", f.Name+"=@"+d.u.write(d.t, id+"."+f.Name, value+"\n"))
		}
	}
	out := d.u.does(d.t, args...)
	address := "https://pay.cascada.test/api/v1/providers/" + id + "/notifications"
	if !strings.Contains(out, address) {
		d.t.Errorf("provider add %s does not print where notifications go:\n%s", a.Name, out)
	}
	d.wants("provider check "+id, d.u.does(d.t, "provider", "check", id), id+": the credentials work\n")
}

// connect opens the accounts, and sets the rates.
func (d *atProvider) connect() {
	d.t.Helper()
	d.account, d.key = "drill", d.k.Keys.Production.Secret
	environment := "production"
	if d.about.Test != "" {
		environment, d.key = "sandbox", d.k.Keys.Sandbox.Secret
		d.step("in the sandbox: %s", d.about.Test)
	}
	d.open(d.adapter, d.account, environment, d.fake, d.about.Credentials)
	if p := d.about.Payouts; p != nil { // the server knows it by the time when something is paid out
		d.open(adapterOf(p.Adapter), "drill-out", "sandbox", p.URL, p.Credentials)
		d.u.does(d.t, "payout", "top-up", "drill-out", "--amount", "20000", "--currency", p.Currency, "--reference", "our transfer of today")
	}
	for currency, rate := range map[string]string{"BRL": "5.4", "MXN": "18.2"} {
		d.u.does(d.t, "fx", "set", currency, rate)
	}
}

// notifications is where the provider sends its notifications.
func (d *atProvider) notifications(account string) string {
	return d.s.url + "/api/v1/providers/" + account + "/notifications"
}

// happens does something at the provider, and delivers the notification to the account.
func (d *atProvider) happens(what, reference string, more ...string) []drill.Answered {
	d.t.Helper()
	q := url.Values{"reference": {reference}, "to": {d.notifications(d.account)}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	var told []drill.Answered
	d.ask(what, q, &told)
	for _, n := range told {
		if n.Status != http.StatusOK {
			d.t.Errorf("%s: %s %v: the notification was answered with %d %s\n%s", d.about.Adapter, what, q, n.Status, n.Answer, n.Sent)
		}
	}
	return told
}

// becomes brings a charge to an ending, and tells the service.
func (d *atProvider) becomes(reference, ending string) {
	d.t.Helper()
	d.happens("move", reference, "ending", ending)
	d.happens("tell", reference)
}

// call calls the API, and wants a success.
func (d *atProvider) call(method, path string, body any) map[string]any {
	d.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		d.t.Fatal(err)
	}
	if body == nil {
		text = nil
	}
	status, reply := d.s.call(method, path, d.key, string(text), nil)
	if status != http.StatusOK && status != http.StatusCreated && status != http.StatusAccepted {
		d.t.Errorf("%s: %s %s %s: %d %v", d.about.Adapter, method, path, text, status, reply)
	}
	return reply
}

// method is the id of a rail's method. The sandbox takes those of production.
func (d *atProvider) method(of drill.Buying) string {
	d.t.Helper()
	_, list := d.s.call("GET", "/payment-methods?limit=100&country="+of.Country, d.k.Keys.Production.Secret, "", nil)
	methods, _ := list["methods"].([]any)
	for _, one := range methods {
		if m, _ := one.(map[string]any); text(m, "name") == of.Name {
			return text(m, "paymentMethodId")
		}
	}
	d.t.Fatalf("%s: no method is called %s: %v", d.about.Adapter, of.Name, list)
	return ""
}

// pays creates a payment over a rail, and returns its id and its reference at the provider.
func (d *atProvider) pays(rail, what string) (id, reference string) {
	d.t.Helper()
	of := d.about.Rails[rail]
	amount, err := strconv.ParseFloat(of.Amount, 64)
	if err != nil {
		d.t.Fatal(err)
	}
	var reply map[string]any
	await(d.t, rail+" to be routable", func() bool {
		body, _ := json.Marshal(map[string]any{
			"amount": amount, "currency": of.Currency, "paymentMethodId": d.method(of), "userEmail": of.Buyer.Email, "userName": of.Buyer.Name,
			"documentId": of.Buyer.Document, "userPhone": of.Buyer.Phone, "userIp": of.Buyer.IP, "merchantOrderId": "ORDER-" + strings.ReplaceAll(what, " ", "-"), "description": "Drill: " + what,
			"expand": []string{"paymentData"}, "hostedCheckout": d.hosted,
		})
		var status int
		status, reply = d.s.call("POST", "/payments", d.key, string(body), nil)
		if status != http.StatusCreated && !strings.Contains(fmt.Sprint(reply), "no_provider_for_method_region") && !strings.Contains(fmt.Sprint(reply), "no_rate") {
			d.t.Fatalf("%s: a payment over %s: %d %v", d.about.Adapter, rail, status, reply)
		}
		id = text(reply, "transactionId")
		reference = strings.TrimPrefix(id, "TXN-") + "-1"
		return status == http.StatusCreated && d.reached(reference) // not the simulators, before the server knows the account
	})
	d.wants(fmt.Sprintf("%s, %s: %s %s", rail, what, of.Amount, of.Currency), text(reply, "status"), "pending")
	d.tells(id)
	d.link = text(reply, "checkoutUrl")
	return id, reference
}

// tells wants words in the story of a payment or a withdrawal.
func (d *atProvider) tells(id string, words ...string) {
	if d.says == nil {
		d.says = map[string][]string{}
	}
	if _, told := d.says[id]; !told {
		d.ids = append(d.ids, id)
	}
	d.says[id] = append(d.says[id], words...)
}

// reached reports whether a charge reached the provider.
func (d *atProvider) reached(reference string) bool {
	d.t.Helper()
	var books []struct{ Reference string }
	d.ask("books", nil, &books)
	return slices.ContainsFunc(books, func(e struct{ Reference string }) bool { return e.Reference == reference })
}

// paid creates a payment that is paid.
func (d *atProvider) paid(rail, what string) (id, reference string) {
	d.t.Helper()
	id, reference = d.pays(rail, what)
	d.becomes(reference, "paid")
	d.is(id, "paid", "completed")
	return id, reference
}

// is wants a status of a payment.
func (d *atProvider) is(id, what, want string) map[string]any {
	d.t.Helper()
	p := d.call("GET", "/payments/"+id, nil)
	d.wants("after it was "+what, text(p, "status"), want)
	return p
}

// without reports whether the provider does not have a step.
func (d *atProvider) without(step drill.Step) bool {
	why := d.about.Without[step]
	if why != "" {
		d.step("no %s: %s", step, why)
	}
	return why != ""
}

// part is a share of an amount, in percent.
func part(amount, currency string, percent int64) string {
	a, err := money.Parse(amount, money.Currency(currency))
	if err != nil {
		panic(err)
	}
	a.Minor = a.Minor * percent / 100
	return a.Decimal()
}

// drill plays everything over a rail.
func (d *atProvider) drill(rail string) {
	d.t.Helper()
	d.refunds(rail)
	if d.adapterRefuses(rail) {
		d.step("%s: no disputes", rail)
	} else {
		d.disputes(rail)
	}
	d.late(rail)
	if rail == d.first() {
		d.strangers()
	}
}

// first is the rail of the strangers and the sandbox.
func (d *atProvider) first() string {
	rails := slices.Clone(d.adapter.Rails)
	return rails[slices.IndexFunc(rails, func(rail string) bool { _, has := d.about.Rails[rail]; return has })]
}

func (d *atProvider) adapterRefuses(rail string) bool {
	return d.about.Without[drill.Disputes] != "" || !strings.HasPrefix(rail, "card.") && len(d.about.Rails) > 1
}

// refunds pays, gives a part back by our call, and another one in the panel.
func (d *atProvider) refunds(rail string) {
	d.t.Helper()
	of := d.about.Rails[rail]
	id, reference := d.paid(rail, "refunds")
	d.happens("tell", reference) // the same again
	d.is(id, "told again", "completed")
	back := 0.0
	add := func(amount string) {
		f, _ := strconv.ParseFloat(amount, 64)
		back += f
	}
	if !d.without(drill.Refunds) {
		ours := part(of.Amount, of.Currency, 30)
		f, _ := strconv.ParseFloat(ours, 64)
		d.call("POST", "/payments/"+id+"/refund", map[string]any{"amount": f, "reason": "the shop sends less"})
		d.happens("refunded", reference, "ending", "paid")
		add(ours)
		await(d.t, "our refund", func() bool { return text(d.call("GET", "/payments/"+id, nil), "status") == "refunded" })
		d.amount(id, "our refund", back)
		d.tells(id, "refund by the merchant CLM-", "of "+ours)
	}
	if !d.without(drill.Panel) {
		theirs := part(of.Amount, of.Currency, 20)
		d.happens("panel", reference, "amount", theirs)
		add(theirs)
		d.amount(id, "a refund in the panel", back)
		d.tells(id, "refund by the provider CLM-", "of "+theirs, "the provider's id of the refund is ")
	}
}

// amount wants the sum of a payment's refunds.
func (d *atProvider) amount(id, after string, want float64) {
	d.t.Helper()
	p := d.call("GET", "/payments/"+id, nil)
	d.wants("after "+after+" it was given back", fmt.Sprint(p["refundedAmountLocal"]), fmt.Sprint(want))
}

// claims are the claims of a payment of a type.
func (d *atProvider) claims(payment, kind string) (list []map[string]any) {
	d.t.Helper()
	all, _ := d.call("GET", "/claims?transactionId="+payment, nil)["data"].([]any)
	for _, one := range all {
		if c, _ := one.(map[string]any); text(c, "type") == kind {
			list = append(list, c)
		}
	}
	return list
}

// claim wants one claim of a type, with a status.
func (d *atProvider) claim(payment, kind, what, want string) string {
	d.t.Helper()
	list := d.claims(payment, kind)
	if len(list) != 1 {
		d.t.Errorf("%s: %s: %d claims of the type %s: %v", d.about.Adapter, what, len(list), kind, list)
		return ""
	}
	d.wants(what+", the "+kind, text(list[0], "status"), want)
	return text(list[0], "id")
}

// disputes loses a dispute and wins one.
func (d *atProvider) disputes(rail string) {
	d.t.Helper()
	for _, won := range []bool{true, false} {
		what, want, says := "dispute lost", "approved", "approved for the shopper"
		if won {
			what, want, says = "dispute won", "rejected", "rejected for the merchant"
		}
		id, reference := d.paid(rail, what)
		d.becomes(reference, "disputed")
		d.is(id, "disputed", "chargeback")
		claim := d.claim(id, "chargeback", "opened", "needs_evidence")
		told := d.happens("rule", reference, "won", strconv.FormatBool(won))
		if len(told) == 0 && d.without(drill.Losses) {
			d.u.does(d.t, "claim", "resolve", claim, "--outcome", "approved", "--note", "the provider's letter of today")
		}
		d.claim(id, "chargeback", what, want)
		d.tells(id, "chargeback "+claim+" "+says, "needs evidence, by the issuer")
	}
}

// late cancels a payment, which is paid all the same. The operator gives the money back.
func (d *atProvider) late(rail string) {
	d.t.Helper()
	id, reference := d.pays(rail, "canceled")
	d.call("POST", "/payments/"+id+"/cancel", nil)
	d.is(id, "canceled", "failed")
	if d.without(drill.Late) {
		return
	}
	d.becomes(reference, "paid")
	p := d.is(id, "paid late", "failed")
	d.wants("the payment's attention", text(p, "attention", "code"), "late_payment")
	claim := d.claim(id, "inquiry", "late money", "pending")
	args := []string{"claim", "resolve", claim, "--outcome", "approved", "--note", "the shopper did not get the goods"}
	if d.about.Without[drill.Refunds] != "" {
		args = append(args, "--by-hand", "BANK-77")
	}
	d.u.does(d.t, args...)
	if d.about.Without[drill.Refunds] == "" && len(d.happens("refunded", reference, "ending", "paid")) == 0 {
		d.u.does(d.t, args...) // no notification tells: the provider is asked again
	}
	await(d.t, "the inquiry to end", func() bool {
		list := d.claims(id, "inquiry")
		return len(list) == 1 && text(list[0], "status") == "approved"
	})
	d.step("%s: late money was given back", rail)
	d.tells(id, "as late payment", claim+", given back", "inquiry "+claim+" approved for the shopper", "canceled: the shop canceled the payment")
}

// strangers tells the service of a payment of another installation: it is listed for the operator, and changes nothing.
func (d *atProvider) strangers() {
	d.t.Helper()
	const other = "01M7ZBVYT4STRANGER00000000-1"
	d.happens("stranger", other)
	list := d.u.does(d.t, "notification", "list", "--unknown")
	if !strings.Contains(list, d.account) {
		d.t.Errorf("%s: a foreign payment is not listed:\n%s", d.about.Adapter, list)
	}
	d.step("a foreign payment is listed:\n%s", list)
}

// expired lets a payment's time pass in the sandbox, and pays it then.
func (d *atProvider) expired() {
	d.t.Helper()
	if d.account = "drill"; d.about.Test == "" {
		d.account = "drill-test"
		d.open(d.adapter, d.account, "sandbox", d.fake, d.about.Credentials)
	}
	d.key = d.k.Keys.Sandbox.Secret
	rail := d.first()
	id, reference := d.pays(rail, "expired")
	d.happens("move", reference, "ending", "expired")
	d.call("POST", "/sandbox/clock", map[string]any{"advance": "720h"})
	await(d.t, "the payment to expire", func() bool { return text(d.call("GET", "/payments/"+id, nil), "status") == "expired" })
	d.step("%s: expired", rail)
	d.becomes(reference, "paid")
	p := d.is(id, "paid after it expired", "expired")
	d.wants("the payment's attention", text(p, "attention", "code"), "late_payment")
	claim := d.claim(id, "inquiry", "money after the end", "pending")
	d.u.does(d.t, "claim", "resolve", claim, "--outcome", "rejected", "--note", "the shop has delivered all the same")
	d.claim(id, "inquiry", "it is the merchant's", "rejected")
	d.tells(id, "as late payment", "inquiry "+claim+" rejected for the merchant", "rejected, by the operator")
}

// payouts pays a withdrawal out, and gets it back.
func (d *atProvider) payouts() {
	d.t.Helper()
	p := d.about.Payouts
	d.account = "drill-out"
	d.call("POST", "/payments", map[string]any{"amount": 500, "paymentMethodId": "sbx_card"})
	d.call("POST", "/sandbox/clock", map[string]any{"advance": "720h"})
	await(d.t, "money to withdraw", func() bool {
		balance, _ := d.call("GET", "/me/balance", nil)["balance"].(map[string]any)
		available, _ := balance["available"].(float64)
		return available >= 100
	})
	wallet := map[string]any{"type": "bank_account", "currency": p.Currency, "network": p.Network, "destination": p.Destination}
	for field, value := range map[string]string{"holderName": p.Holder.Name, "holderDocument": p.Holder.Document, "holderEmail": p.Holder.Email} {
		if value != "" {
			wallet[field] = value
		}
	}
	d.call("POST", "/wallets", wallet)
	for _, returned := range []bool{false, true} {
		d.payout(returned)
	}
}

func (d *atProvider) payout(returned bool) {
	d.t.Helper()
	w := d.call("POST", "/withdrawals", map[string]any{"amount": 40})
	id, reference := text(w, "id"), text(w, "reference")
	d.tells(id, "to drill-out, reference "+reference)
	d.call("POST", "/sandbox/clock", map[string]any{"advance": "1m"})
	var books []struct{ Reference, Stage string }
	d.t.Cleanup(func() {
		if d.t.Failed() {
			out, log, _ := d.u.run(d.t, "withdrawal", "waiting")
			var complaints []string
			d.ask("complaints", nil, &complaints)
			d.t.Log("WAITS", d.u.story(d.t, d.database, id), out, log, complaints)
		}
	})
	var last struct{ Reference, Stage string }
	await(d.t, "the payout to leave", func() bool {
		d.ask("payouts", nil, &books)
		if len(books) > 0 {
			last = books[len(books)-1]
		}
		return strings.HasPrefix(last.Reference, reference) && last.Stage == "done" ||
			strings.HasPrefix(last.Reference, reference) && d.about.Payouts.Without[drill.Pays] != ""
	})
	if last.Stage == "open" {
		d.happens("pay", last.Reference)
	}
	d.happens("paidout", last.Reference)
	status := func() string { return text(d.call("GET", "/withdrawals/"+id, nil), "status") }
	await(d.t, "the withdrawal to be completed", func() bool { return status() == "completed" })
	d.step("a withdrawal is completed")
	if !returned {
		return
	}
	if why := d.about.Payouts.Without[drill.Returns]; why != "" {
		d.step("no return: %s", why)
		return
	}
	d.happens("return", last.Reference)
	await(d.t, "the withdrawal to come back", func() bool { return status() == "failed" })
	d.step("a withdrawal came back")
	d.tells(id, "came back 35.00 USD of 35.00 USD, after it had arrived")
	d.happens("strangers", last.Reference)
}

// ends wants the books to be right and nothing to be refused, and prints the stories.
func (d *atProvider) ends() {
	d.t.Helper()
	var complaints []string
	d.ask("complaints", nil, &complaints)
	for _, c := range complaints {
		d.t.Errorf("%s: the provider's document does not allow: %s", d.about.Adapter, c)
	}
	for _, id := range d.ids {
		story := d.u.story(d.t, d.database, id)
		d.t.Logf("%s\n%s", d.about.Adapter, story)
		for _, want := range d.says[id] {
			if !strings.Contains(story, want) {
				d.t.Errorf("%s: the story of %s does not say %q", d.about.Adapter, id, want)
			}
		}
	}
	d.t.Logf("%s", d.u.does(d.t, "notification", "list"))
	d.s.stop()
	d.u.check(d.t, d.database)
	d.t.Logf("%s", d.u.does(d.t, "check"))
}
