package people

import "testing"

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
