package people

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// What is something that happened to an account and that its user gets an e-mail about (DASH-18).
type What string

// The news for users.
const (
	NewSignIn      What = "sign_in"      // from a browser or a network that was not used before
	HalfSignIn     What = "half_sign_in" // the same, but the second factor was not given yet
	AccountLocked  What = "locked"       // after wrong passwords or codes
	PasswordSet    What = "password"     // changed, or chosen for the first time
	CompanyLinked  What = "company"      // an account at the company's identity provider signs in from now on
	AppAdded       What = "app_added"    // for codes
	AppRemoved     What = "app_removed"
	PasskeyAdded   What = "passkey_added"
	PasskeyRemoved What = "passkey_removed"
	RecoveryUsed   What = "recovery_used" // a recovery code was used instead of the second factor
	RecoveryMade   What = "recovery_made" // new recovery codes replaced the old ones
	FactorsRemoved What = "factors_removed"
	RoleChanged    What = "role"
	RoleEnded      What = "role_ended" // the user is not in the merchant's team any more
	SignedOut      What = "signed_out" // by somebody else
	AccountRemoved What = "removed"
	OperatorAdded  What = "operator_added" // somebody else is an operator from now on; for operators
	OperatorWaits  What = "operator_waits" // an operator invited another one, and a second operator must confirm it; for operators
)

// Whats lists them all.
func Whats() []What {
	return []What{
		NewSignIn, HalfSignIn, AccountLocked, PasswordSet, CompanyLinked, AppAdded, AppRemoved, PasskeyAdded, PasskeyRemoved, RecoveryUsed, RecoveryMade,
		FactorsRemoved, RoleChanged, RoleEnded, SignedOut, AccountRemoved, OperatorAdded, OperatorWaits,
	}
}

// ByOthers reports whether somebody else does it to the user.
func (w What) ByOthers() bool {
	return slices.Contains([]What{FactorsRemoved, RoleChanged, RoleEnded, SignedOut, AccountRemoved, OperatorAdded, OperatorWaits}, w)
}

// News is something that happened to an account.
type News struct {
	What     What
	At       time.Time
	Address  string // of the request; "" if somebody else did it
	Browser  string // as BrowserOf names it, or ""
	By       string // e-mail address of the user who did it to another one; "" for the user, or for the operator
	Merchant string // name, of a role; the address of an operator who was added or invited
	Role     Role   // that the user has from now on, or ""
}

// ByStrangers reports whether somebody who is not signed in can cause it, as often as they like.
func (w What) ByStrangers() bool { return w == AccountLocked || w == HalfSignIn }

// keptNews is how many news items an account keeps, and keptOfStrangers how many of each kind that strangers cause:
// those must not push out the others.
const keptNews, keptOfStrangers = 10, 3

// WithNews adds an item to the news that the profile shows, the newest first. The caller has changed the user, and
// writes it.
func (u User) WithNews(n News) User {
	list, same := []News{n}, 1
	for _, o := range u.News {
		if o.What == n.What {
			same++
		}
		if o.What != n.What || !n.What.ByStrangers() || same <= keptOfStrangers {
			list = append(list, o)
		}
	}
	u.News = list[:min(len(list), keptNews)]
	return u
}

// browsers and systems are the names that BrowserOf knows, each after the part of a browser's own words that identifies
// it. The first match counts: most browsers call themselves Chrome or Safari too.
var (
	browsers = [][2]string{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	}
	systems = [][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"},
	}
)

// BrowserOf names a browser by what it calls itself: "Firefox, Windows". It has no text that a stranger could choose, and
// no version, which changes every month. It is "" for an unknown browser.
func BrowserOf(agent string) string {
	var names []string
	for _, list := range [][][2]string{browsers, systems} {
		if at := slices.IndexFunc(list, func(k [2]string) bool { return strings.Contains(agent, k[0]) }); at >= 0 {
			names = append(names, list[at][1])
		}
	}
	return strings.Join(names, ", ")
}

// Browser names the browser of a sign-in for its user: as BrowserOf does, or, if it is unknown, in its own
// words.
func (s SignIn) Browser() string { return cmp.Or(BrowserOf(s.Agent), s.Agent) }

// networkOf is the network of an address: a home line or a phone often gets another address of the same network.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	bits := 24
	if ip.Is6() {
		bits = 48
	}
	network, err := ip.Prefix(bits)
	if err != nil {
		return address
	}
	return network.String()
}

// Familiar reports whether both the browser and the network of an address are among those of earlier sign-ins.
func Familiar(earlier []SignIn, address, agent string) bool {
	browser, network := BrowserOf(agent), networkOf(address)
	return slices.ContainsFunc(earlier, func(s SignIn) bool { return BrowserOf(s.Agent) == browser }) &&
		slices.ContainsFunc(earlier, func(s SignIn) bool { return networkOf(s.Address) == network })
}
