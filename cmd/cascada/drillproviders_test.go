package main_test

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/adapters"
	"github.com/cascadapay/cascada/internal/provider/drill"
)

// An operator connects each provider, and everything happens there that happens at a provider: shoppers pay, late too, money
// goes back, from here and from the panel, disputes are won and lost, payouts arrive and come back. The provider is the strict
// fake of its adapter's tests, in a process of its own. In the end the stories tell all of it.
//
//	go test ./cmd/cascada -run TestDrillProviders -v            # with -v it prints the stories
//	go test ./cmd/cascada -run TestDrillProviders/stripe -v
func TestDrillProviders(t *testing.T) {
	t.Parallel()
	for _, name := range drilled {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drillProvider(t, fakeOf(t, name), name)
		})
	}
}

// drilled are the providers with a drill.
var drilled = []string{"adyen", "conekta", "dlocal", "ebanx", "mercadopago", "payulatam", "stripe", "woovi"}

// fakes builds the adapters' test programs, without what only a debugger reads, and returns their folder.
var fakes = sync.OnceValues(func() (string, error) {
	folder := filepath.Join(built, "fakes")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	args := []string{"test", "-c", "-ldflags=-w", "-o", folder + "/"}
	for _, name := range drilled {
		args = append(args, "../../internal/provider/"+name)
	}
	return folder, build(args...)
})

// fakeOf is the program that plays a provider.
func fakeOf(t *testing.T, name string) string {
	t.Helper()
	folder, err := fakes()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, name+".test")
}

// atProvider is an operator, a shop, and what a fake lets them see.
type atProvider struct {
	hosted   bool   // payments have a page of ours
	link     string // of the last payment: its page, for the shopper
	t        *testing.T
	u        user
	s        *server
	k        keys
	fake     string // its address
	about    drill.About
	database string
	adapter  provider.Adapter
	account  string              // through which payments go, and whose notifications are told
	key      string              // of the shop, of the account's environment
	ids      []string            // of which the story is printed
	says     map[string][]string // what each story has to say
}

func drillProvider(t *testing.T, program, name string) {
	database := dbtest.SQLite(t)
	d := &atProvider{t: t, database: database, fake: startFake(t, program, name), adapter: adapterOf(name)}
	d.ask("about", nil, &d.about)
	// The pages and notifications of a real installation have https addresses. The fake sends to this machine.
	listen := freeAddress(t)
	d.u = newUser(t).with("CASCADA_DATABASE="+database, "CASCADA_PUBLIC_URL=https://pay.cascada.test", "CASCADA_LISTEN="+listen)
	d.u.does(t, "migrate")
	d.s = d.u.serve(t)
	d.s.url = "http://" + listen
	d.k = d.u.merchant(t, database)
	d.connect()
	for _, rail := range slices.Sorted(maps.Keys(d.about.Rails)) {
		d.drill(rail)
	}
	d.expired()
	if d.about.Payouts != nil {
		d.payouts()
	}
	d.ends()
}

func adapterOf(name string) provider.Adapter {
	list := adapters.All()
	return list[slices.IndexFunc(list, func(a provider.Adapter) bool { return a.Name == name })]
}

// startFake starts an adapter's test program as the provider.
func startFake(t *testing.T, program, name string) string {
	t.Helper()
	c := exec.Command(program)
	c.Env = append(os.Environ(), drill.Address+"=127.0.0.1:0")
	c.Dir = filepath.Join("..", "..", "internal", "provider", name)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended by itself
		_ = c.Wait()
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	at := regexp.MustCompile(`http://\S+`).FindString(line)
	if at == "" {
		t.Fatalf("the fake of %s does not say where it is: %q", name, line)
	}
	return at
}

// ask asks the fake to do something, or for what it has.
func (d *atProvider) ask(what string, q url.Values, into any) {
	d.t.Helper()
	reply, err := http.Post(d.fake+"/_drill/"+what+"?"+q.Encode(), "", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	if reply.StatusCode != http.StatusOK || json.Unmarshal(text, into) != nil {
		d.t.Fatalf("the fake of %s, %s %v: %d %s", d.about.Adapter, what, q, reply.StatusCode, text)
	}
}
