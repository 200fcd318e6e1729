package providertest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Noon is the tests' time.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Page is our own page in the tests.
const Page = "https://pay.cascada.test/pay/TXN-1"

// Suite is what there is to know of an adapter.
type Suite struct {
	Adapter     provider.Adapter
	Credentials map[string]string
	// New makes a fake upstream that takes the credentials.
	New func(t *testing.T) Fake
	// Charges has one sample for every rail of the adapter, with all that the
	// rail needs of a buyer. Reference, PageURL and times are the suite's.
	Charges map[string]provider.Request
	// Amounts are more samples of amounts: the edges of the provider's units. Each
	// is charged on the rail it is under.
	Amounts map[string][]money.Amount
	// Without are the endings that the provider's documentation does not have,
	// with where it says so.
	Without map[Ending]string
	// Hosted are the card rails and others on which the shopper enters everything
	// at the provider's page: nothing is known when the call returns, and whoever
	// is declined may try again there until the page expires. With where the
	// documentation says so.
	Hosted map[string]string
	// Blind says, with where the documentation leaves it out, that the provider
	// cannot be asked under our reference: a question repeats the call, which does
	// nothing twice, and only notifications tell how a charge ended.
	Blind string
	// Unsigned takes the signature out of a notification that does not carry it in
	// a header.
	Unsigned func(provider.Notification) provider.Notification
	// RefundsLater says that an accepted refund is Awaiting first.
	RefundsLater bool
	// Looks tells the calls that only look, of a provider without idempotency that
	// is asked before it is charged. The faults of a charge leave them alone.
	Looks func(*http.Request) bool
	// Settles is for how long the provider may not find a new charge. The suite's
	// are that old when they are asked about.
	Settles time.Duration
	// Quiet are those of the hosted rails whose page has no status of its own, with
	// where the documentation says so: a call never returns one that is not known,
	// and nobody tells of a page that was not used.
	Quiet map[string]string
	// Nameless says where the documentation has refunds without a reference of
	// ours: which of several parts a refund is, nobody knows but by their id.
	Nameless string
	// BodyUnsigned says where the documentation has a signature that leaves the
	// body out. The body must then make no difference to what is read.
	BodyUnsigned string
	// Unrefundable are the rails whose money does not go back this way, with
	// where the documentation says so.
	Unrefundable map[string]string
	// Uncancelable are the rails whose charges do not end on our demand, with
	// where the documentation says so.
	Uncancelable map[string]string
	// OnPage are the card rails whose card is entered on the provider's page, with
	// where the documentation says so: no ending is known when the call returns, and
	// the first one is the last.
	OnPage map[string]string
}

// Run plays the suite.
func (s Suite) Run(t *testing.T) {
	if len(s.Charges) != len(s.Adapter.Rails) {
		t.Errorf("there are %d samples for %d rails", len(s.Charges), len(s.Adapter.Rails))
	}
	t.Run("documents", s.table)
	t.Run("credentials", s.credentials)
	for _, rail := range s.Adapter.Rails {
		t.Run(rail, func(t *testing.T) {
			t.Run("charge", func(t *testing.T) { s.charge(t, rail) })
			t.Run("endings", func(t *testing.T) { s.endings(t, rail) })
			t.Run("refund", func(t *testing.T) { s.refund(t, rail) })
		})
	}
	rail := s.Adapter.Rails[0]
	t.Run("faults of a charge", func(t *testing.T) { s.chargeFaults(t, rail) })
	t.Run("faults of a question", func(t *testing.T) { s.queryFaults(t, rail) })
	t.Run("faults of a refund", func(t *testing.T) { s.refundFaults(t, rail) })
	t.Run("forged notifications", func(t *testing.T) { s.forged(t, rail) })
	t.Run("a notification before the answer", func(t *testing.T) { s.early(t, rail) })
	t.Run("many at a time", func(t *testing.T) { s.parallel(t, rail) })
	t.Run("amounts", s.amounts)
}

// bench is an adapter connected to a fake upstream.
type bench struct {
	provider.Provider
	Fake
	line  *Line
	suite Suite

	mu       sync.Mutex
	unmapped []string
}

func (s Suite) connect(t *testing.T) *bench {
	t.Helper()
	b := &bench{Fake: s.New(t), suite: s}
	b.line = Connect(t, b.Fake)
	p, err := s.Adapter.Open(b.account(s.Credentials))
	if err != nil {
		t.Fatal(err)
	}
	b.Provider = p
	return b
}

func (b *bench) account(credentials map[string]string) provider.Account {
	return provider.Account{
		ID: "acc", BaseURL: b.line.URL, Credentials: credentials, NotificationURL: "https://pay.cascada.test/providers/acc/notifications",
		Client: b.line.Client(), Now: func() time.Time { return Noon }, Unmapped: func(word string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.unmapped = append(b.unmapped, word)
		},
	}
}

// request is the sample of a rail under a reference.
func (s Suite) request(rail, reference string) provider.Request {
	r := s.Charges[rail]
	r.Rail, r.Reference, r.PageURL = rail, reference, Page
	r.Created, r.Sent, r.Now, r.Expires = Noon.Add(-time.Hour), Noon.Add(-s.Settles), Noon, Noon.Add(24*time.Hour)
	return r
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// brief is a deadline for calls to an upstream that hangs.
func brief(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// entry is the one charge under a reference.
func (b *bench) entry(t *testing.T, reference string) Entry {
	t.Helper()
	var found []Entry
	for _, e := range b.Books() {
		if e.Reference == reference {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the upstream has %d charges under %s, want one: %v", len(found), reference, b.Books())
	}
	return found[0]
}

func (b *bench) has(reference string) bool {
	return slices.ContainsFunc(b.Books(), func(e Entry) bool { return e.Reference == reference })
}

func want(t *testing.T, what string, o pay.Outcome, kinds ...pay.OutcomeKind) {
	t.Helper()
	if !slices.Contains(kinds, o.Kind) {
		t.Errorf("%s: the outcome is %s (%s %s %s), want %v", what, o.Kind, o.Code, o.Decline, o.Message, kinds)
	}
	if leak := strings.ToLower(o.Message); o.Message != "" && strings.Contains(leak, "http") {
		t.Errorf("%s: the message for people is %q", what, o.Message)
	}
}

// credentials checks that what cannot work is refused before it is used.
func (s Suite) credentials(t *testing.T) {
	b := s.connect(t)
	for _, f := range s.Adapter.Fields {
		if f.Doc == "" {
			t.Errorf("nobody says where to find %s", f.Name)
		}
		if f.Optional {
			continue
		}
		broken := map[string]string{}
		for name, value := range s.Credentials {
			if name != f.Name {
				broken[name] = value
			}
		}
		_, err := s.Adapter.Open(b.account(broken))
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != f.Name {
			t.Errorf("without %s: %v, want an error that names it", f.Name, err)
		}
	}
	check, ok := b.Provider.(provider.Checker)
	if !ok {
		t.Fatal("the credentials cannot be checked")
	}
	if err := check.Check(within(t)); err != nil {
		t.Errorf("good credentials: %v", err)
	}
	if len(b.Books()) != 0 {
		t.Error("the check of the credentials made a charge")
	}
	b.line.Fail(ServerError)
	if err := check.Check(within(t)); err == nil {
		t.Error("the upstream is broken, and the check says all is well")
	}
}

// charge makes a charge, repeats it, and asks about it.
func (s Suite) charge(t *testing.T, rail string) {
	b := s.connect(t)
	r := s.request(rail, "01M7ZBVYT4-1")
	b.Next(Open)
	o := b.Charge(within(t), r)
	want(t, "a charge", o, pay.Awaiting)
	if o.ProviderRef == "" {
		t.Error("the outcome has no reference of the provider's")
	}
	payable(t, r, o)
	if e := b.entry(t, r.Reference); e.Local != r.Local {
		t.Errorf("the upstream was asked for %v, want %v", e.Local, r.Local)
	}
	again := b.Charge(within(t), r)
	want(t, "the same charge again", again, pay.Awaiting)
	b.entry(t, r.Reference)

	want(t, "a question under our reference", b.Query(within(t), r), pay.Awaiting)
	r.ProviderRef = o.ProviderRef
	want(t, "a question under theirs", b.Query(within(t), r), pay.Awaiting)
	if s.Blind == "" {
		want(t, "a question about what never was", b.Query(within(t), s.request(rail, "01M7ZNEVER-1")), pay.Missing)
	}
	if c, ok := b.Provider.(provider.Canceler); ok && s.Without[Canceled] == "" {
		if s.Uncancelable[rail] != "" {
			want(t, "a cancel", c.Cancel(within(t), r), pay.Unknown)
			want(t, "a question after it", b.Query(within(t), r), pay.Awaiting)
			return
		}
		want(t, "a cancel", c.Cancel(within(t), r), pay.Lapsed)
		want(t, "a cancel again", c.Cancel(within(t), r), pay.Lapsed)
		want(t, "a question after it", b.Query(within(t), r), pay.Lapsed, pay.Declined)
	}
}

// payable fails the test unless the shopper has what the rail needs.
func payable(t *testing.T, r provider.Request, o pay.Outcome) {
	t.Helper()
	form := func() {
		if !strings.HasPrefix(o.FormURL, "http") || o.FormURL == r.PageURL {
			t.Errorf("the shopper is not sent to the provider: %q", o.FormURL)
		}
	}
	switch kind, _, _ := strings.Cut(r.Rail, "."); kind {
	case "pix":
		if o.Data.QRCode == "" || o.FormURL != r.PageURL {
			t.Errorf("there is no PIX code on our page: %+v %s", o.Data, o.FormURL)
		}
	case "spei":
		if o.FormURL != r.PageURL {
			form() // a page that shows the CLABE
			return
		}
		if len(o.Data.CLABE) != 18 {
			t.Errorf("there is no CLABE on our page: %+v %s", o.Data, o.FormURL)
		}
	case "boleto", "cash":
		if o.FormURL == r.PageURL {
			if o.Data.Reference == "" && o.Data.Barcode == "" {
				t.Errorf("there is no voucher on our page: %+v", o.Data)
			}
			return
		}
		form()
	default:
		form()
	}
}

// ending is what an ending looks like to us: when the call returns, and later;
// nil where it cannot be seen then.
type ending struct {
	at         Ending
	now, later []pay.OutcomeKind
	soft       bool
}

func endings() []ending {
	kinds := func(k ...pay.OutcomeKind) []pay.OutcomeKind { return k }
	return []ending{
		{at: Paid, now: kinds(pay.Approved), later: kinds(pay.Approved)},
		{at: Declined, now: kinds(pay.Declined), later: kinds(pay.Declined)},
		{at: SoftDeclined, now: kinds(pay.Declined), soft: true},
		{at: Challenged, now: kinds(pay.Awaiting)},
		{at: Expired, later: kinds(pay.Lapsed)},
		{at: WrongAmount, later: kinds(pay.Approved)},
		{at: WrongCurrency, later: kinds(pay.Approved)},
		{at: Nonsense, now: kinds(pay.Unknown), later: kinds(pay.Unknown)},
	}
}

// endings moves charges to every ending, and looks at each by question and by
// notification.
func (s Suite) endings(t *testing.T, rail string) {
	card, hosted := strings.HasPrefix(rail, "card"), s.Hosted[rail] != ""
	atOnce := card && !hosted && s.OnPage[rail] == ""
	for _, e := range endings() {
		if s.Without[e.at] != "" {
			continue
		}
		if e.now != nil && (atOnce || e.at == Nonsense && s.Quiet[rail] == "") {
			t.Run(string(e.at)+" at once", func(t *testing.T) { s.endingNow(t, rail, e) })
		}
		if e.later != nil && !(card && !hosted && e.at == Expired) && !(hosted && e.at == Declined) && !(s.Blind != "" && e.at == Nonsense) {
			t.Run(string(e.at)+" later", func(t *testing.T) { s.endingLater(t, rail, e) })
		}
	}
	if s.Without[Disputed] == "" {
		t.Run("disputed", func(t *testing.T) {
			b := s.connect(t)
			r := b.paid(t, rail, "01M7ZDISPUTE-1")
			paid := b.notice(t, r.Reference)
			b.Move(r.Reference, Disputed)
			if n := b.notice(t, r.Reference); !n.Dispute || n.ID == paid.ID {
				t.Errorf("want a dispute: %+v", n)
			}
		})
	}
}

func (s Suite) endingNow(t *testing.T, rail string, e ending) {
	b := s.connect(t)
	b.Next(e.at)
	r := s.request(rail, "01M7ZNOW-1")
	o := b.Charge(within(t), r)
	want(t, "the charge", o, e.now...)
	if o.Kind == pay.Declined && (o.Soft != e.soft || o.Decline == "") {
		t.Errorf("want soft %t and a reason: %+v", e.soft, o)
	}
	if e.at == Challenged && (o.Code != pay.CodeThreeDSRequired || o.FormURL == "" || o.FormURL == Page) {
		t.Errorf("want the issuer's challenge: %+v", o)
	}
	if e.at == Paid && o.Local != r.Local {
		t.Errorf("%v was paid, want %v", o.Local, r.Local)
	}
	b.counted(t, e.at)
}

func (s Suite) endingLater(t *testing.T, rail string, e ending) {
	b := s.connect(t)
	b.Next(Open)
	r := s.request(rail, "01M7ZLATER-1")
	r.ProviderRef = b.Charge(within(t), r).ProviderRef
	b.Move(r.Reference, e.at)
	o := b.Query(within(t), r)
	if s.Blind != "" {
		want(t, "the question", o, pay.Awaiting)
	} else {
		want(t, "the question", o, e.later...)
	}
	b.counted(t, e.at)
	if e.at == Nonsense || e.at == Expired && s.Quiet[rail] != "" {
		return
	}
	n := b.notice(t, r.Reference)
	want(t, "the notification", n.Outcome, e.later...)
	for _, o := range []pay.Outcome{o, n.Outcome} {
		if o.Kind == pay.Approved && (o.Local == r.Local) != (e.at == Paid) {
			t.Errorf("%v was paid of %v", o.Local, r.Local)
		}
	}
	if twin := b.notice(t, r.Reference); twin.ID != n.ID {
		t.Errorf("the same news has the ids %q and %q", n.ID, twin.ID)
	}
}

// counted fails the test unless a status that nobody knows was told of.
func (b *bench) counted(t *testing.T, e Ending) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if e == Nonsense && len(b.unmapped) == 0 {
		t.Error("a status that nobody knows was not counted")
	}
}

// notice lets the upstream notify us of a charge.
func (b *bench) notice(t *testing.T, reference string) pay.Notice {
	t.Helper()
	list, err := b.Notices(within(t), b.Notification(reference))
	if err != nil || len(list) != 1 {
		t.Fatalf("the notification tells of %d charges: %v", len(list), err)
	}
	if n := list[0]; n.Reference != reference || n.ID == "" || n.Account != "acc" || len(n.Body) == 0 {
		t.Errorf("the notice is %+v, want %s of acc with an id and its body", n, reference)
	}
	return list[0]
}

// early has the notification overtake the answer of the call.
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

// forged fails the test when a notification that is not the provider's is read.
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
	if bytes.Equal(other.Body, good.Body) { // the body does not name it: another one does
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
}

// sameNews compares two notices but for their bodies.
func sameNews(a, b pay.Notice) bool {
	return a.ID == b.ID && a.Reference == b.Reference && a.Outcome == b.Outcome && a.Dispute == b.Dispute
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

// parallel charges and asks with many goroutines.
func (s Suite) parallel(t *testing.T, rail string) {
	b := s.connect(t)
	b.Next(Open)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { b.Charge(within(t), s.request(rail, "01M7ZPARALLEL-1")) })
	}
	all.Wait()
	b.entry(t, "01M7ZPARALLEL-1")
	want(t, "the question", b.Query(within(t), s.request(rail, "01M7ZPARALLEL-1")), pay.Awaiting)
}
