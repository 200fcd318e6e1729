package merchants

import (
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

// reserved are schemes that no shop's app answers to: why, and which. A browser or a phone acts on them by itself.
var reserved = []struct {
	why   problem.Reason
	names string
}{
	{schemeOfWeb, "http https ws wss ftp ftps"},
	{schemeOfScripts, "javascript vbscript livescript mocha data blob filesystem about view-source jar mhtml resource"},
	{schemeOfDevice, "file afp smb nfs cifs dav davs mk res its help hcp shell search vnc rdp ssh sftp telnet rlogin tn3270 ldap ldaps shortcuts workflow prefs app-prefs app-settings intent content package android-app market itms itms-apps itms-appss itms-services itmss"},
	{schemeOfBrowser, "chrome edge opera brave vivaldi devtools moz moz-icon wyciwyg safari read readinglist feed webcal magnet"},
	{schemeOfCalls, "tel telprompt callto facetime facetime-audio facetime-prompt sip sips sms smsto mms mmsto mailto im imap pop xmpp irc ircs news nntp snews"},
	{schemeOfMoney, "bitcoin lightning ethereum payto upi"},
	{schemeOfNames, "urn tag cid mid doi geo maps"},
}

// reservedPrefixes begin families of such schemes.
var reservedPrefixes = map[string]string{
	"ms-": "Windows", "chrome-": "the browser", "moz-": "the browser", "safari-": "the browser", "ext+": "the browser's extensions", "web+": "the browser",
	"x-apple": "Apple's devices", "com.apple.": "Apple's devices", "android.": "Android", "com.android.": "Android",
}

// ReadScheme reads the name of an app's scheme as people write it: myapp, myapp: or myapp://.
//
// Errors: invalid_request, with the field schemes.
func ReadScheme(text string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(text), "//"), ":"))
	refuse := func(why problem.Reason) (string, error) {
		return "", problem.Field(problem.InvalidRequest, "schemes", why)
	}
	if len(name) > maxScheme || !schemeForm.MatchString(name) {
		return refuse(schemeMalformed.With(maxScheme))
	}
	for _, t := range reserved {
		if slices.Contains(strings.Fields(t.names), name) {
			return refuse(schemeTaken.With(name, t.why))
		}
	}
	for prefix, owner := range reservedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return refuse(schemePrefixTaken.With(prefix, owner))
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
		return s, problem.Field(problem.InvalidRequest, "schemes", tooManySchemes.With(MaxSchemes))
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
	return problem.Field(problem.InvalidRequest, "returnUrl", schemeNotRegistered.With(s.ID, AppScheme(address)))
}
