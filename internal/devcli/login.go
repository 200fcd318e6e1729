package devcli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"
)

// Login is the command login.
type Login struct {
	Access
	List bool `help:"List what is stored, without the keys."`
}

// Help is shown below the command's summary.
func (Login) Help() string {
	return `It asks for what no flag and no variable gives; the key is not shown while you type. It checks them with the service, and stores
them in the user's directory of settings, in a file that only you can read. With --profile you store several.

  printf %s "$KEY" | cascada-cli login --url https://pay.example.com    # the key from standard input`
}

// who is the reply of GET /ping.
type who struct {
	Environment, KeyKind, KeyID string
	Merchant                    struct{ ID, Name string }
}

// Run asks, checks and stores.
func (l Login) Run(ctx context.Context) error {
	file, path, err := readProfiles()
	if err != nil {
		return err
	}
	if l.List {
		return list(file)
	}
	name := l.Profile
	if name == "" {
		name = defaultProfile
	}
	p := profile{l.URL, l.Key, l.Shop}
	input := bufio.NewReader(os.Stdin)
	if p.URL == "" {
		if p.URL, err = ask(input, "Address of the service, such as https://pay.example.com: "); err != nil {
			return err
		}
	}
	if p.URL, err = checkURL(p.URL); err != nil {
		return err
	}
	if p.Key == "" {
		if p.Key, err = askSecret(input, "Secret key of the sandbox, sk_test_…: "); err != nil {
			return err
		}
	}
	a, err := newAPI(p)
	if err != nil {
		return err
	}
	me, shop, err := a.identify(ctx)
	if err != nil {
		return err
	}
	a.Shop = shop.ID
	file.Profiles[name] = a.profile
	if err := file.write(path); err != nil {
		return fmt.Errorf("store the key: %w", err)
	}
	printLine(stdout, "Logged in to %s: %s, shop %s, %s, key %s", a.URL, me.Merchant.Name, shop.Name, me.Environment, me.KeyID)
	printLine(stdout, "Stored as the profile %q in %s", name, path)
	if a.live() {
		printLine(stderr, "This is a live key. Commands that change something refuse it unless you add --live.")
	}
	return nil
}

// named is an id with its name.
type named struct{ ID, Name string }

// identify asks the service whose the key is, and for which shop.
func (a *api) identify(ctx context.Context) (who, named, error) {
	var me who
	if err := a.get(ctx, "/ping", url.Values{"shopId": nil}, &me); err != nil {
		return me, named{}, err
	}
	if me.Merchant.ID == "" || me.Environment == "" {
		return me, named{}, &foreign{a.URL + " does not answer as Cascada's API does. Is the address right?"}
	}
	var shops struct{ Data []named }
	if err := a.get(ctx, "/shops", url.Values{"shopId": nil, "limit": {"100"}}, &shops); err != nil {
		return me, named{}, fmt.Errorf("list the shops of the key: %w", err)
	}
	var names []string
	for _, s := range shops.Data {
		if s.ID == a.Shop || a.Shop == "" && len(shops.Data) == 1 {
			return me, s, nil
		}
		names = append(names, s.ID+" ("+s.Name+")")
	}
	if a.Shop != "" {
		return me, named{}, fmt.Errorf("the key reaches no shop %q: it reaches %s", a.Shop, strings.Join(names, ", "))
	}
	return me, named{}, fmt.Errorf("the key reaches several shops: add --shop with one of %s", strings.Join(names, ", "))
}

// errNoInput: nobody is there to answer.
var errNoInput = errors.New("nothing came from standard input: give --url and --key, or CASCADA_URL and CASCADA_API_KEY")

// ask reads a line.
func ask(input *bufio.Reader, question string) (string, error) {
	if term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprint(stderr, question)
	}
	line, err := input.ReadString('\n')
	if line = strings.TrimSpace(line); line != "" {
		return line, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return "", errNoInput
}

// askSecret reads a line that a terminal does not show.
func askSecret(input *bufio.Reader, question string) (string, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return ask(input, question)
	}
	fmt.Fprint(stderr, question)
	text, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(stderr)
	if err == nil && len(strings.TrimSpace(string(text))) == 0 {
		err = errNoInput
	}
	return strings.TrimSpace(string(text)), err
}

func list(file profiles) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROFILE\tSERVICE\tSHOP\tKEY")
	for _, name := range slices.Sorted(maps.Keys(file.Profiles)) {
		p := file.Profiles[name]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", name, p.URL, p.Shop, masked(p.Key))
	}
	return table.Flush()
}

// masked is a key as it may be shown: its kind and its last characters.
func masked(key string) string {
	kind := strings.LastIndex(key, "_") + 1
	if len(key) < kind+8 {
		return "…"
	}
	return key[:kind] + "…" + key[len(key)-4:]
}

// Logout is the command logout.
type Logout struct {
	Profile string `arg:"" optional:"" default:"default" help:"Profile to forget."`
}

// Run removes a profile.
func (l Logout) Run() error {
	file, path, err := readProfiles()
	if err != nil {
		return err
	}
	if _, known := file.Profiles[l.Profile]; !known {
		return fmt.Errorf("there is no profile %q%s", l.Profile, among(file))
	}
	delete(file.Profiles, l.Profile)
	if err := file.write(path); err != nil {
		return err
	}
	printLine(stdout, "Forgot the profile %q. The key still works until the operator revokes it.", l.Profile)
	return nil
}
