package merchants

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

const (
	// MaxSchemes is how many app schemes a shop may have: an app each for its brands and platforms.
	MaxSchemes = 10
	// maxScheme is the longest one, in characters: a reverse domain name fits.
	maxScheme = 60
)

var (
	schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]+$`) // RFC 3986, 3.1; one letter is a disk of Windows
	appForm    = regexp.MustCompile(`^[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+$`)
)

// taken are schemes that no shop's app answers to: why, and which. A browser or a phone acts on them by itself.
var taken = map[string]string{
	"are addresses on the web, which need no registration or lead to no page": "http https ws wss ftp ftps",
	"run a script or show a document that nobody serves":                      "javascript vbscript livescript mocha data blob filesystem about view-source jar mhtml resource",
	"open files and programs of the shopper's device":                         "file afp smb nfs cifs dav davs mk res its help hcp shell search vnc rdp ssh sftp telnet rlogin tn3270 ldap ldaps shortcuts workflow prefs app-prefs app-settings intent content package android-app market itms itms-apps itms-appss itms-services itmss",
	"belong to the browser":                                                   "chrome edge opera brave vivaldi devtools moz moz-icon wyciwyg safari read readinglist feed webcal magnet",
	"call or write to someone":                                                "tel telprompt callto facetime facetime-audio facetime-prompt sip sips sms smsto mms mmsto mailto im imap pop xmpp irc ircs news nntp snews",
	"ask a wallet or a bank's app to pay":                                     "bitcoin lightning ethereum payto upi",
	"name something that is on no device":                                     "urn tag cid mid doi geo maps",
}

// takenPrefixes begin families of such schemes.
var takenPrefixes = map[string]string{
	"ms-": "Windows", "chrome-": "the browser", "moz-": "the browser", "safari-": "the browser", "ext+": "the browser's extensions", "web+": "the browser",
	"x-apple": "Apple's devices", "com.apple.": "Apple's devices", "android.": "Android", "com.android.": "Android",
}

// ReadScheme reads the name of an app's scheme as people write it: myapp, myapp: or myapp://.
//
// Errors: invalid_request, with the field schemes.
func ReadScheme(text string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(text), "//"), ":"))
	refuse := func(why string) (string, error) { return "", problem.Field(problem.InvalidRequest, "schemes", why) }
	if len(name) > maxScheme || !schemeForm.MatchString(name) {
		return refuse(fmt.Sprintf("an app scheme has 2 to %d letters, digits, points, hyphens or plus signs, and begins with a letter: myapp, or com.example.shop", maxScheme))
	}
	for why, list := range taken {
		if slices.Contains(strings.Fields(list), name) {
			return refuse("addresses of " + name + " " + why + ": use a scheme that only your app has, such as com.example.shop")
		}
	}
	for prefix, owner := range takenPrefixes {
		if strings.HasPrefix(name, prefix) {
			return refuse("schemes that begin with " + prefix + " belong to " + owner + ": use a scheme that only your app has, such as com.example.shop")
		}
	}
	return name, nil
}

// WithSchemes replaces the app schemes to which the shop's pages may lead back.
//
// Errors: invalid_request, with the field schemes.
func (s Shop) WithSchemes(list []string) (Shop, error) {
	var schemes []string
	for _, text := range list {
		name, err := ReadScheme(text)
		if err != nil {
			return s, err
		}
		if !slices.Contains(schemes, name) {
			schemes = append(schemes, name)
		}
	}
	if len(schemes) > MaxSchemes {
		return s, problem.Field(problem.InvalidRequest, "schemes", fmt.Sprintf("a shop may have %d app schemes", MaxSchemes))
	}
	s.Version++
	s.Schemes = schemes
	return s, nil
}

// AppScheme is the scheme of an app's address, such as myapp of myapp://paid. It is "" for any other text, and for one that no
// app could have.
func AppScheme(address string) string {
	scheme, rest, found := strings.Cut(address, ":")
	name, err := ReadScheme(scheme)
	if _, unread := url.Parse(address); !found || rest == "" || err != nil || unread != nil || !strings.EqualFold(name, scheme) || !appForm.MatchString(address) {
		return ""
	}
	return name
}

// MayLeadTo reports whether the shop's pages may lead back to an address: a page on the web, or an app whose scheme the
// shop has.
func (s Shop) MayLeadTo(address string) bool {
	if u, err := url.Parse(address); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		return u.Host != ""
	}
	return slices.Contains(s.Schemes, AppScheme(address))
}

// CheckReturn returns what is wrong with an address to return to.
//
// Errors: invalid_request, with the field returnUrl.
func (s Shop) CheckReturn(address string) error {
	if address == "" || s.MayLeadTo(address) {
		return nil
	}
	return problem.Field(problem.InvalidRequest, "returnUrl", fmt.Sprintf("the shop %s has no app scheme %s: whoever manages the shop registers it in the dashboard, in the shop's settings; or the operator, with cascada shop schemes",
		s.ID, AppScheme(address)))
}
