package stripe

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

var (
	mail      = regexp.MustCompile(`^[^@ ]+@[^@ ]+\.[a-z]+$`)
	countries = map[string]string{"MX": "mxn", "GB": "gbp", "US": "usd", "DE": "eur", "NL": "eur", "BG": "eur"}
	numbers   = map[string]*regexp.Regexp{
		"MX": regexp.MustCompile(`^\d{18} $`), "GB": regexp.MustCompile(`^\d{8} \d{6}$`),
		"US": regexp.MustCompile(`^\d{1,17} (0[1-9]|1[0-2]|2[1-9]|3[0-2])\d{7}$`), // the document of the bank account specs
		"DE": regexp.MustCompile(`^DE\d{20} $`), "NL": regexp.MustCompile(`^NL\d\d[A-Z]{4}\d{10} $`), "BG": regexp.MustCompile(`^BG\d\d[A-Z]{4}\d{6}[0-9A-Z]{8} $`),
	}
)

func (f *payoutFake) makeRecipient(body []byte) (int, any) {
	var q struct {
		Email    string `json:"contact_email"`
		Name     string `json:"display_name"`
		Identity struct {
			Country  string `json:"country"`
			Entity   string `json:"entity_type"`
			Business struct {
				Name string `json:"registered_name"`
			} `json:"business_details"`
			Individual struct {
				Given   string `json:"given_name"`
				Surname string `json:"surname"`
			} `json:"individual"`
		} `json:"identity"`
		Configuration struct {
			Recipient struct {
				Capabilities struct {
					Banks struct {
						Local struct {
							Requested bool `json:"requested"`
						} `json:"local"`
					} `json:"bank_accounts"`
				} `json:"capabilities"`
			} `json:"recipient"`
		} `json:"configuration"`
		Metadata map[string]string `json:"metadata"`
	}
	ok := providertest.Strict(body, &q) && mail.MatchString(q.Email) && q.Name != "" && countries[q.Identity.Country] != "" &&
		q.Configuration.Recipient.Capabilities.Banks.Local.Requested && len(q.Metadata) == 1
	who := q.Identity.Individual
	named := map[string]bool{
		"company":    q.Identity.Business.Name == q.Name && who.Given+who.Surname == "",
		"individual": q.Identity.Business.Name == "" && who.Given != "" && who.Surname != "" && who.Given+" "+who.Surname == q.Name,
	}
	if !ok || !named[q.Identity.Entity] {
		return f.wrong("a recipient %s", body)
	}
	f.entities = append(f.entities, q.Identity.Entity)
	id := fmt.Sprintf("acct_%d", len(f.recipients)+1)
	f.recipients[id] = q.Identity.Country
	return 200, object{"id": id, "object": "v2.core.account", "applied_configurations": []string{"recipient"}, "livemode": false, "created": "2026-11-21T12:00:00.000Z"}
}

func (f *payoutFake) makeMethod(recipient string, body []byte) (int, any) {
	var q struct {
		Usage string `json:"usage_intent"`
		Data  struct {
			Type string `json:"type"`
			Bank struct {
				Number   string `json:"account_number"`
				Routing  string `json:"routing_number"`
				Type     string `json:"bank_account_type"`
				Country  string `json:"country"`
				Currency string `json:"currency"`
			} `json:"bank_account"`
		} `json:"payout_method_data"`
	}
	strict := providertest.Strict(body, &q)
	bank := q.Data.Bank
	form := numbers[bank.Country]
	if !strict || q.Usage != "payment" || q.Data.Type != "bank_account" || f.recipients[recipient] == "" || f.recipients[recipient] != bank.Country ||
		countries[bank.Country] != bank.Currency || form == nil || !form.MatchString(bank.Number+" "+bank.Routing) ||
		bank.Type != "" && (bank.Country != "US" || bank.Type != "checking" && bank.Type != "savings") {
		return f.wrong("a bank account %s of %s", body, recipient)
	}
	m := fakeMethod{recipient, bank.Currency, bank.Number}
	if bank.Country == "GB" && bank.Routing+bank.Number == testIBAN[8:] {
		m.destination = testIBAN
	}
	id, status := fmt.Sprintf("ba_%d", len(f.methods)+1), "succeeded"
	if f.setup != "" {
		status = f.setup
	}
	f.methods[id] = m
	return 200, object{"id": "osi_" + id, "object": "v2.money_management.outbound_setup_intent", "status": status, "usage_intent": "payment", "livemode": false, "created": "2026-11-21T12:00:00.000Z", "payout_method": object{
		"archived": false, "livemode": false, "created": "2026-11-21T12:00:00.000Z",
		"id": id, "object": "v2.money_management.payout_method", "type": "bank_account", "restricted": f.restricted, "usage_status": object{"payments": "eligible"},
	}}
}

func (f *payoutFake) makePayment(body []byte) (int, any, *fakePayment) {
	type sum struct {
		Value    int64  `json:"value"`
		Currency string `json:"currency"`
	}
	var q struct {
		From struct {
			Account  string `json:"financial_account"`
			Currency string `json:"currency"`
		} `json:"from"`
		To struct {
			Recipient string `json:"recipient"`
			Method    string `json:"payout_method"`
			Currency  string `json:"currency"`
		} `json:"to"`
		Amount       sum    `json:"amount"`
		Description  string `json:"description"`
		Notification struct {
			Setting string `json:"setting"`
		} `json:"recipient_notification"`
		Metadata map[string]string `json:"metadata"`
	}
	ok := providertest.Strict(body, &q)
	m := f.methods[q.To.Method]
	switch {
	case !ok || q.From.Account != testAccount || q.From.Currency != "usd" && q.From.Currency != "gbp" || m.recipient == "" || q.To.Recipient != m.recipient ||
		q.To.Currency != m.currency || q.Amount.Currency != m.currency || q.Amount.Value < 1 || q.Notification.Setting != "none" || len(q.Metadata) != 1:
		status, reply := f.wrong("a payment %s", body)
		return status, reply, nil
	case f.Coming == payouttest.Barred: // its status is not documented
		status, reply := fail(400, "feature_not_enabled", "")
		return status, reply, nil
	case f.Coming == payouttest.NoFloat:
		status, reply := fail(400, "insufficient_funds", "")
		return status, reply, nil
	}
	f.debited = append(f.debited, q.From.Currency)
	p := f.Enter(&fakePayment{number: len(f.Payouts) + 1, to: m.recipient, Entry: payouttest.Entry{
		Reference: q.Metadata["cascada_reference"], Destination: m.destination, Asked: money.New(q.Amount.Value, money.Currency(strings.ToUpper(m.currency))),
	}})
	f.Begin(p)
	return 200, p.json(), p
}
