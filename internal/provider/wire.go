package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
)

// maxReply is the most bytes that are read of a provider's answer.
const maxReply = 4 << 20

// Reply is a provider's whole answer.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do calls a provider. If there is no answer, the outcome says what that proves:
// Unavailable if the request never left, Unknown if it may have arrived. A connection that
// breaks during the answer is Unknown too.
func Do(client *http.Client, req *http.Request) (Reply, *pay.Outcome) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	res, err := client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		o := pay.Outcome{Kind: pay.Unavailable, Decline: "unreachable"}
		if sent.Load() {
			o = pay.Outcome{Kind: pay.Unknown, Decline: "no_answer"}
		}
		if errors.Is(err, context.DeadlineExceeded) {
			o.Decline = "timeout"
		}
		return Reply{}, &o
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	if err != nil || len(body) > maxReply {
		return Reply{}, &pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	return Reply{res.StatusCode, res.Header, body}, nil
}

// NewRequest makes a request with a JSON body, or without a body if body is nil. The
// outcome is set if the request cannot be written, which proves that it never left.
func NewRequest(ctx context.Context, method, address string, body any) (*http.Request, *pay.Outcome) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, &pay.Outcome{Kind: pay.Errored, Decline: "bad_request"}
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, sent)
	if err != nil {
		return nil, &pay.Outcome{Kind: pay.Errored, Decline: "bad_address"}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// Reversed is the outcome of a paid charge, o, of which the provider lists refunds, those of ours
// included: reversed if anything went back. total is what went back in all, if the provider says so;
// whole: its status says that nothing is left.
func Reversed(o pay.Outcome, refunds []pay.ProviderRefund, total money.Amount, whole bool) pay.Outcome {
	if o.Kind != pay.Approved || len(refunds) == 0 && !total.IsPositive() && !whole {
		return o
	}
	listed, made := money.New(0, o.Local.Currency), false
	for _, r := range refunds {
		if r.Kind == pay.Declined {
			continue
		}
		if made = true; r.Local.Currency == o.Local.Currency {
			listed.Minor += r.Local.Minor
		}
	}
	switch {
	case whole:
		total = o.Local
	case total.Minor < listed.Minor:
		total = listed
	}
	o.Back = &pay.Reversal{Total: total, Refunds: refunds}
	if made || total.IsPositive() {
		o.Kind = pay.Reversed
	}
	return o
}

// Digest tells outcomes apart that an adapter reads for a notice: another one is other news, even if the state and the time that the
// provider gives have not changed.
func Digest(o pay.Outcome) string {
	back := pay.Reversal{}
	if o.Back != nil {
		back = *o.Back
	}
	o.Back = nil
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v %+v", o, back))
	return hex.EncodeToString(sum[:8])
}

// RefundOf is a refund in a provider's list; reference is what the list has in the place of ours.
func RefundOf(id, reference string, kind pay.OutcomeKind, local money.Amount) pay.ProviderRefund {
	if _, _, ours := pay.ParseRefundReference(reference); !ours {
		reference = ""
	}
	return pay.ProviderRefund{ID: Exact(id, 128), Reference: reference, Kind: kind, Local: local}
}

// NoRefund is the outcome of a query if the provider does not list such a refund. settles is how long
// a new refund may be missing from its list: before that, nothing is proved.
func NoRefund(q RefundRequest, settles time.Duration) pay.Outcome {
	last := q.Last
	if last.Before(q.Sent) {
		last = q.Sent
	}
	if !last.IsZero() && q.Charge.Now.Sub(last) < settles {
		return Unknown("not_listed_yet")
	}
	return pay.Outcome{Kind: pay.Missing}
}

// Puzzling makes a notice one of a state that may move money and that the adapter cannot explain. If the
// charge is open it is queried; otherwise the notice waits for the operator.
func Puzzling(n pay.Notice, reason string) pay.Notice {
	n.Outcome, n.Unread = Unknown(reason), true
	return n
}

// Unknown is an outcome with no clear result; reason says why.
func Unknown(reason string) pay.Outcome { return pay.Outcome{Kind: pay.Unknown, Decline: reason} }

// Broken is the outcome of an answer that cannot be understood.
func Broken() *pay.Outcome {
	o := Unknown("broken_answer")
	return &o
}

// Ended turns the state of a charge into the result of a cancel: a charge that can no
// longer be paid has lapsed. Tries on its page are facts, whatever became of it; a refusal that ended the page is one.
func Ended(o pay.Outcome) pay.Outcome {
	switch o.Kind {
	case pay.Approved, pay.Reversed, pay.Lapsed:
		return o
	case pay.Declined:
		if reason := decline.Reason(o.Decline); len(o.Tries) == 0 && reason.Known() {
			o.Tries = []decline.Try{{ID: pay.LastTry, Reason: reason, Raw: o.Raw, Soft: o.Soft}}
		}
		fallthrough
	case pay.Missing:
		return pay.Outcome{Kind: pay.Lapsed, Decline: o.Decline, ProviderRef: o.ProviderRef, Tries: o.Tries}
	case pay.Awaiting:
		o.Decline = "not_canceled"
	}
	return pay.Outcome{Kind: pay.Unknown, Decline: o.Decline, ProviderRef: o.ProviderRef, Tries: o.Tries}
}

// RefusedCancel is the result of a cancel that the provider refused for good, or has no call for. It
// is as Ended, but Awaiting if the charge is still open.
func RefusedCancel(o pay.Outcome) pay.Outcome {
	if o.Kind == pay.Awaiting {
		return pay.Outcome{Kind: pay.Awaiting, Decline: "cannot_be_canceled", ProviderRef: o.ProviderRef}
	}
	return Ended(o)
}

// Refused is the outcome of an answer that says nothing about the charge itself.
// Unavailable: the provider was too busy or did not accept our credentials, so every
// payment would fail. Errored: it refused the request. Unknown: something may have been
// done all the same. That includes 503: a gateway answers it when the connection to the
// provider breaks after it passed on the request.
func Refused(status int) pay.Outcome {
	word := fmt.Sprintf("http_%d", status)
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return pay.Outcome{Kind: pay.Unavailable, Decline: word}
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusConflict:
		return pay.Outcome{Kind: pay.Errored, Decline: word}
	}
	return pay.Outcome{Kind: pay.Unknown, Decline: word}
}
