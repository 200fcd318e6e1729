package ebanx

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// payoutAnswer is EBANX's answer to a call of payouts. Refusals have HTTP status 200 too;
// the type shows them.
type payoutAnswer struct {
	Type     string          `json:"type"`
	Code     string          `json:"code"`
	Message  string          `json:"message"`
	Raw      json.RawMessage `json:"payout"`
	Currency string          `json:"currency_code"` // of the balance
	Balance  json.Number     `json:"balance"`

	Payout payoutReply `json:"-"`
	is     hearing
	why    string // for people, if it is silent or idle; then the code is ours
}

// hearing is what an answer proves about its call.
type hearing int

const (
	silent hearing = iota // nothing
	idle                  // the call did nothing, and every payout would now fail the same way
	denied                // the call did nothing, for a reason of this payout
	agreed                // the call succeeded
)

// payoutReply is a payout as EBANX shows it.
type payoutReply struct {
	UID           string        `json:"uid"`
	Reference     string        `json:"external_reference"`
	Status        string        `json:"status"`
	PaidAt        provider.Text `json:"paid_date"`
	Amount        json.Number   `json:"request_amount"`
	Currency      string        `json:"request_currency"`
	LocalAmount   json.Number   `json:"local_amount_total"`
	LocalCurrency string        `json:"local_currency"`
	Payee         struct {
		Document provider.Text `json:"document"`
		BankInfo struct {
			Details provider.Text `json:"bank_details"`
		} `json:"bank_info"`
	} `json:"payee"`

	why string // the code of the cancellation's reason
}

// readAnswer reads the answer to a call.
func readAnswer(reply provider.Reply, failed *pay.Outcome) payoutAnswer {
	if failed != nil {
		got := payoutAnswer{why: "there is no answer (" + failed.Decline + ")"}
		if failed.Kind == pay.Unavailable || failed.Kind == pay.Errored { // it never left
			got.is, got.Code = idle, "unreachable"
		}
		return got
	}
	var got payoutAnswer
	if json.Unmarshal(reply.Body, &got) != nil {
		got = payoutAnswer{}
	}
	got.Code = provider.Exact(got.Code, 40)
	switch status := reply.Status; {
	case status == http.StatusTooManyRequests:
		got.is, got.Code, got.why = idle, "rate_limited", "the account sent too many requests"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		got.is, got.Code, got.why = idle, "not_permitted", fmt.Sprintf("the account's key is refused (status %d)", status)
	case status != http.StatusOK && (status < http.StatusBadRequest || busy(status)):
		got.is, got.why = silent, fmt.Sprintf("the provider answers with status %d", status)
	case got.Type == "authentication_error":
		got.is, got.Code, got.why = idle, "not_permitted", "the account's key is refused"
	case got.Type == "invalid_request_error" && strings.HasPrefix(got.Code, "HP-"):
		got.is = denied
	case status == http.StatusOK && got.Type == "success":
		got.is = agreed
		got.read(reply.Body)
	default:
		got.is, got.why = silent, fmt.Sprintf("%s (status %d)", unreadable, status)
	}
	return got
}

// read takes the payout from an answer. The place of a cancellation's reason is cut off in
// every copy of the documents, but its form is not.
func (py *payoutAnswer) read(body []byte) {
	if len(py.Raw) == 0 {
		return
	}
	if json.Unmarshal(py.Raw, &py.Payout) != nil {
		py.Payout = payoutReply{}
		return
	}
	if py.Payout.why = reasonIn(py.Raw); py.Payout.why == "" {
		py.Payout.why = reasonIn(body)
	}
}

// reasonIn is the code of the first nested object that has the form of a reason: a code and
// a message.
func reasonIn(body []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var told struct {
			Code    string  `json:"code"`
			Message *string `json:"message"`
		}
		if json.Unmarshal(members[name], &told) == nil && told.Code != "" && told.Message != nil {
			return provider.Exact(told.Code, 64)
		}
	}
	return ""
}

// presence says whether there is a payout.
type presence int

const (
	unsure presence = iota
	there
	gone
)

// find reads a payout by EBANX's uid or by our external_reference.
func (p *payer) find(ctx context.Context, by, value string) (payoutReply, presence) {
	got := readAnswer(p.account.sendForm(ctx, "/ws/payout/retrieve", url.Values{by: {value}}))
	switch {
	case got.is == agreed && payoutUID.MatchString(got.Payout.UID):
		return got.Payout, there
	case got.is == denied && got.absent():
		return payoutReply{}, gone
	case got.is == denied: // so that the operator sees the code for a missing payout
		p.account.Strange("question", got.Code)
	}
	return payoutReply{}, unsure
}

// payoutUID is EBANX's identifier of a payout: 50 characters at most.
var payoutUID = regexp.MustCompile(`^[A-Za-z0-9]{1,50}$`)

// absent reports whether EBANX says that it has no such payout, and not that a payee, a
// country or a key was not found. The code for it is not documented.
func (py payoutAnswer) absent() bool {
	message := strings.ToLower(py.Message)
	return strings.HasPrefix(message, "payout") && strings.Contains(message, "not found")
}

// about reports whether a payout has the reference, and the uid if that is known.
func (r payoutReply) about(reference, uid string) bool {
	return payoutUID.MatchString(r.UID) && r.Reference == reference && (uid == "" || r.UID == uid)
}

// ours reports whether a payout is as we ordered it, in the fields that EBANX shows.
func (r payoutReply) ours(asked payouts.Request) bool {
	amount, ok := provider.Major(r.Amount.String(), r.Currency)
	shown, clabe := alphanumeric(string(r.Payee.Document)), string(r.Payee.BankInfo.Details)
	return ok && amount == asked.Local && (shown == "" || strings.EqualFold(shown, asked.Document)) &&
		(clabe == "" || asked.Network != "spei" || clabe == asked.Destination)
}

// alphanumeric is a text without its punctuation: how EBANX shows documents is not
// documented.
func alphanumeric(text string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(".-/ ", c) {
			return -1
		}
		return c
	}, text)
}

// arrives is what the beneficiary gets, or the ordered amount if EBANX does not report
// that; zero if neither is known.
func (r payoutReply) arrives() money.Amount {
	if local, ok := provider.Major(r.LocalAmount.String(), r.LocalCurrency); ok {
		return local
	}
	if asked, ok := provider.Major(r.Amount.String(), r.Currency); ok {
		return asked
	}
	return money.Amount{}
}
