package providertest

import (
	"bytes"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// Notification implements Fake: it is held to the provider's table.
func (b *bench) Notification(reference string) provider.Notification {
	n := b.Fake.Notification(reference)
	published.Sent(b.t, b.Fake, n.Header, n.Query, n.Body)
	return n
}

// RefundNotification implements Fake: it is held to the provider's table.
func (b *bench) RefundNotification(reference string, which int) provider.Notification {
	n := b.Fake.RefundNotification(reference, which)
	if len(n.Body) > 0 || len(n.Query) > 0 {
		published.Sent(b.t, b.Fake, n.Header, n.Query, n.Body)
	}
	return n
}

// notice makes the provider send us a notification of a charge.
func (b *bench) notice(t *testing.T, reference string) pay.Notice {
	t.Helper()
	list, err := b.Notices(within(t), b.Notification(reference))
	if err != nil || len(list) != 1 {
		t.Fatalf("the notification reports %d charges: %v", len(list), err)
	}
	if n := list[0]; n.Reference != reference || n.ID == "" || n.Account != "acc" || len(n.Body) == 0 {
		t.Errorf("the notice is %+v, want %s at acc with an id and its body", n, reference)
	}
	return list[0]
}

// refundNotice makes the provider send us a notification of a charge's refund, and returns
// the notice.
func (b *bench) refundNotice(t *testing.T, reference string, which int, ours string) pay.Notice {
	t.Helper()
	list, err := b.Notices(within(t), b.RefundNotification(reference, which))
	if err != nil {
		t.Fatalf("the notification of a refund: %v", err)
	}
	at := slices.IndexFunc(list, func(n pay.Notice) bool { return n.Refund == ours })
	if at < 0 {
		t.Fatalf("the notification does not report the refund %s: %+v", ours, list)
	}
	if n := list[at]; n.ID == "" || n.Account != "acc" || len(n.Body) == 0 {
		t.Errorf("the notice is %+v, want one from acc with an id and its body", n)
	}
	return list[at]
}

// early makes the notification overtake the answer to the call.
func (s Suite) early(t *testing.T, rail string) {
	b := s.connect(t)
	b.Next(Open)
	r := s.request(rail, "01M7ZEARLY-1")
	b.line.Spare(s.Looks)
	b.line.Fail(TimeoutAfter)
	want(t, "the charge", b.Charge(brief(t), r), pay.Unknown)
	b.line.Fail(NoFault)
	b.Move(r.Reference, Paid)
	if n := b.notice(t, r.Reference); n.Outcome.Kind != pay.Approved || n.Outcome.Local != r.Local {
		t.Errorf("want the payment: %+v", n)
	}
}

// forged fails the test if a notification is accepted that is not the provider's.
func (s Suite) forged(t *testing.T, rail string) {
	b := s.connect(t)
	b.Next(Open)
	r := s.request(rail, "01M7ZFORGED-1")
	b.Charge(within(t), r)
	b.Move(r.Reference, Paid)
	good := b.Notification(r.Reference)
	told, err := b.Notices(within(t), good)
	if err != nil {
		t.Fatalf("the good one: %v", err)
	}
	bare := provider.Notification{Header: http.Header{"Content-Type": good.Header["Content-Type"]}, Query: good.Query, Body: good.Body}
	letters := provider.Notification{Header: garbled(good.Header), Query: good.Query, Body: good.Body}
	if s.Unsigned != nil {
		bare, letters = s.Unsigned(good), s.Unsigned(letters)
	}
	other := good
	other.Body = bytes.ReplaceAll(good.Body, []byte(r.Reference), []byte("01M7ZFORGED-2"))
	if bytes.Equal(other.Body, good.Body) { // the body does not name the charge: use another body
		other.Body = append(slices.Clone(good.Body), ' ')
	}
	for name, n := range map[string]provider.Notification{
		"no signature": bare, "another body": other, "an empty body": {Header: good.Header, Query: good.Query},
		"no body and no header":            {Header: http.Header{}},
		"letters in place of every header": letters,
	} {
		list, err := b.Notices(within(t), n)
		harmless := name == "another body" && s.BodyUnsigned != "" && slices.EqualFunc(list, told, sameNews)
		if (len(list) != 0 || err == nil) && !harmless {
			t.Errorf("%s: %d notices, %v", name, len(list), err)
		}
		if name == "no signature" && !bytes.Equal(bare.Body, other.Body) && !errors.Is(err, provider.ErrUnsigned) {
			t.Errorf("%s: %v, want ErrUnsigned", name, err)
		}
	}
	s.large(t, b, good)
}

// large fails the test if a notification costs more than its size, before anybody knows who sent it.
func (s Suite) large(t *testing.T, b *bench, good provider.Notification) {
	refused := func(n provider.Notification) int {
		_, err := b.Notices(within(t), n)
		if err != nil {
			return len(err.Error())
		}
		return 0
	}
	for _, text := range []string{" ", "[", "{\"a\":", "a=b&", "<a>"} {
		growth.Of(t, "a body of "+text, 128<<10, growth.Repeated("", text, ""), func(body string) int {
			return refused(provider.Notification{Header: good.Header, Query: good.Query, Body: []byte(body)})
		})
	}
	for name := range good.Header {
		for _, text := range []string{"=", ",", "v1=00,t=1,"} {
			growth.Of(t, name+" of "+text, 32<<10, growth.Repeated("", text, ""), func(value string) int {
				header := good.Header.Clone()
				header.Set(name, value)
				return refused(provider.Notification{Header: header, Query: good.Query, Body: good.Body})
			})
		}
	}
}

// sameNews compares two notices except for their bodies.
func sameNews(a, b pay.Notice) bool {
	return a.ID == b.ID && a.Reference == b.Reference && reflect.DeepEqual(a.Outcome, b.Outcome) && a.Dispute == b.Dispute
}

func garbled(h http.Header) http.Header {
	out := http.Header{}
	for name := range h {
		out.Set(name, "forged")
	}
	if kind := h.Get("Content-Type"); kind != "" {
		out.Set("Content-Type", kind)
	}
	return out
}
