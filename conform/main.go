// Package conform is a program that asks stripe-mock about the calls of Stripe's adapter, and the adapters about notifications that the providers' own
// libraries signed. make conform runs it, after check.mjs. Its argument is the folder with the records. It is a
// module of its own, because the product does not depend on stripe-mock.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/adapters"
	"github.com/cascadapay/cascada/internal/provider/providertest/record"
)

// older is the version of stripe-mock's document, the last that Stripe has published. The adapter's is newer: check.mjs holds
// it to the types of stripe-node, which have that one.
const older = "2026-08-26.dahlia"

// newer are the fields that our version has and that document has not, with what it has instead, by call.
var newer = map[string][2]string{"POST /v1/checkout/sessions": {"allowed_payment_method_types%5B%5D", "payment_method_types%5B%5D"}}

// now is the time of the adapters.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// entry is a record; Adapter is set in those that a library signed.
type entry struct {
	record.Entry
	Adapter string
}

func main() {
	wrong, err := run(os.Args[1])
	for _, line := range wrong {
		fmt.Println("  refused:", line)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
	}
	if err != nil || len(wrong) > 0 {
		os.Exit(1)
	}
}

func run(folder string) ([]string, error) {
	calls, err := read(filepath.Join(folder, "stripe.jsonl"))
	if err != nil {
		return nil, err
	}
	wrong, err := mock(calls)
	if err != nil {
		return nil, err
	}
	signed, err := read(filepath.Join(folder, "signed.jsonl"))
	return append(wrong, accepted(signed)...), err
}

func read(name string) (list []entry, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, lines.Err()
}

// mock shows stripe-mock every call of v1. It has no v2.
func mock(calls []entry) (wrong []string, err error) {
	out := os.Stdout
	defer func() { os.Stdout = out }()
	if os.Stdout, err = os.Open(os.DevNull); err != nil { // stripe-mock tells of each call
		return nil, err
	}
	spec, err := server.LoadSpec(embedded.OpenAPISpec, "")
	if err != nil {
		return nil, err
	}
	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	if err != nil {
		return nil, err
	}
	stub, err := server.NewStubServer(fixtures, spec, true, false)
	if err != nil {
		return nil, err
	}
	ask := func(e entry, version string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(e.Method, "http://stripe.test"+e.Path+"?"+e.Query, strings.NewReader(e.Body))
		r.Header = e.Header.Clone()
		r.Header.Set("Stripe-Version", version)
		w := httptest.NewRecorder()
		stub.HandleRequest(w, r)
		return w
	}
	played, needed, kinds, asIs := 0, false, map[string]bool{}, map[string]bool{}
	for _, e := range calls {
		if e.Method == "" || !strings.HasPrefix(e.Path, "/v1/") {
			continue
		}
		if played == 0 {
			needed = ask(e, e.Header.Get("Stripe-Version")).Code >= http.StatusBadRequest
		}
		played++
		shape := strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' {
				return '0'
			}
			return r
		}, e.Method+e.Path+e.Query+e.Body)
		if kinds[shape] {
			continue
		}
		kinds[shape] = true
		if field := newer[e.Method+" "+e.Path]; strings.Contains(e.Body, field[0]) && field[0] != "" {
			asIs[field[0]] = asIs[field[0]] || ask(e, older).Code >= http.StatusBadRequest
			e.Body = strings.ReplaceAll(e.Body, field[0], field[1])
		}
		if w := ask(e, older); w.Code >= http.StatusMultipleChoices {
			wrong = append(wrong, fmt.Sprintf("%s %s %s: %d %s", e.Method, e.Path, e.Query+e.Body, w.Code, w.Body))
		}
	}
	fmt.Fprintf(out, "stripe: %d calls of v1, %d of them different, against stripe-mock v0.203.0, strict about versions\n", played, len(kinds))
	if needed {
		fmt.Fprintf(out, "  known: the version of its document is %s, older than ours; it has no v2\n", older)
	} else {
		wrong = append(wrong, "not needed any more: the older version of stripe-mock")
	}
	for call, field := range newer {
		if !asIs[field[0]] {
			wrong = append(wrong, "not needed any more: "+field[0])
			continue
		}
		fmt.Fprintf(out, "  known: %s has %s for %s, which is newer than its document\n", call, field[1], field[0])
	}
	return wrong, nil
}

// accepted shows the adapters the notifications that libraries signed, and the same changed in one place.
func accepted(signed []entry) (wrong []string) {
	open := map[string][]func(context.Context, provider.Notification) error{}
	taken := map[string]int{}
	for _, e := range signed {
		if open[e.Adapter] == nil {
			list, err := listeners(e)
			if err != nil {
				return append(wrong, e.Adapter+": "+err.Error())
			}
			open[e.Adapter] = list
		}
		if _, after, ok := strings.Cut(e.Header.Get("Stripe-Signature"), "t="); ok { // it is as old as it was in the test
			seconds, _, _ := strings.Cut(after, ",")
			unix, err := strconv.ParseInt(seconds, 10, 64)
			if err != nil {
				return append(wrong, e.Adapter+": "+err.Error())
			}
			now = time.Unix(unix, 0)
		}
		n := provider.Notification{Header: e.Header, Query: e.Asked, Body: []byte(e.Body)}
		if !takes(open[e.Adapter], n) {
			wrong = append(wrong, e.Adapter+" does not accept what its provider's library signed: "+e.Body)
			continue
		}
		taken[e.Adapter]++
		at := strings.LastIndex(e.Body, `"pspReference":"`) + len(`"pspReference":"`)
		if e.Adapter != "adyen" {
			at = len(e.Body) / 2
		}
		n.Body = []byte(e.Body[:at] + "9" + e.Body[at:])
		if takes(open[e.Adapter], n) {
			wrong = append(wrong, e.Adapter+" accepts a changed notification: "+string(n.Body))
		}
	}
	for _, name := range []string{"adyen", "stripe"} {
		if taken[name] == 0 {
			wrong = append(wrong, name+"'s library signed nothing")
		}
		fmt.Printf("%s: our adapter accepts %d notifications that the library signed, and none of them changed\n", name, taken[name])
	}
	return wrong
}

// listeners opens an adapter's accounts, at a provider that knows nothing.
func listeners(e entry) (list []func(context.Context, provider.Notification) error, err error) {
	for _, a := range adapters.All() {
		if a.Name != e.Adapter && a.Name != e.Adapter+"-payouts" {
			continue
		}
		account := provider.Account{
			ID: "acc", BaseURL: "https://upstream.test", Credentials: e.Credentials, NotificationURL: "https://shop.test/notifications",
			Client: &http.Client{Transport: nobody{}}, Now: func() time.Time { return now },
			Unmapped: func(string) {},
		}
		if a.Open != nil {
			p, err := a.Open(account)
			if err != nil {
				return nil, err
			}
			list = append(list, func(ctx context.Context, n provider.Notification) error { _, err := p.Notices(ctx, n); return err })
		}
		if a.OpenPayouts != nil {
			p, err := a.OpenPayouts(account)
			if err != nil {
				return nil, err
			}
			if l, ok := p.(provider.PayoutListener); ok {
				list = append(list, func(ctx context.Context, n provider.Notification) error { _, err := l.Notices(ctx, n); return err })
			}
		}
	}
	return list, nil
}

// takes reports whether one of the accounts believes who sent a notification. Another error is about something else.
func takes(list []func(context.Context, provider.Notification) error, n provider.Notification) bool {
	for _, notices := range list {
		if !errors.Is(notices(context.Background(), n), provider.ErrUnsigned) {
			return true
		}
	}
	return false
}

type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody}, nil
}
