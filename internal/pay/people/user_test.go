package people

import "testing"

// A name that a terminal or a page would obey is refused; one in any script is not.
func TestNamesAreReadable(t *testing.T) {
	for _, parse := range []func(string) (string, error){ParseName, ParsePasskeyName} {
		for _, bad := range []string{"Ana\x1b[2J", "Ana \u202etsoc", "Ana\u2066", "Ana\x00"} {
			if got, err := parse(bad); err == nil {
				t.Errorf("%q is the name %q", bad, got)
			}
		}
		for _, good := range []string{"Ana  María", "Владимир", "José-Luis O'Neil", "李雷"} {
			if _, err := parse(good); err != nil {
				t.Errorf("%q: %v", good, err)
			}
		}
	}
}

// Capital letters of ASCII are the small ones. No other letter passes for one of ASCII: a mailbox that somebody may
// open at another provider must not be somebody else's user here.
func TestEmailsAreNotConfused(t *testing.T) {
	if got, err := ParseEmail(" Kate@Acme.example "); got != "kate@acme.example" || err != nil {
		t.Errorf("the address is %q (%v)", got, err)
	}
	for _, other := range []string{"\u212Aate@acme.example", "kate@acme.e\u212Aample", "\u212Bsa@acme.example"} { // the signs of kelvin and angstrom
		got, err := ParseEmail(other)
		if got == "kate@acme.example" || err == nil && got != other {
			t.Errorf("%q is taken for %q", other, got)
		}
	}
}
