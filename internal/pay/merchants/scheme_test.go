package merchants

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestAppSchemesOfAShop(t *testing.T) {
	for text, want := range map[string]string{
		"myapp": "myapp", " MyApp:// ": "myapp", "com.acme.Pay:": "com.acme.pay", "acme+pay-2": "acme+pay-2", "tel-shop": "tel-shop", "httpsx": "httpsx",
	} {
		s, err := Shop{}.WithSchemes([]string{text, text})
		if err != nil || !slices.Equal(s.Schemes, []string{want}) || s.Version != 1 {
			t.Errorf("%q becomes %v (%v)", text, s.Schemes, err)
		}
	}
	refused := []string{
		"", "a", "C:", "1app", "my app", "myapp://paid", "my_app", "mÿapp", "*", "myapp;x", strings.Repeat("a", 61),
		"ms-settings", "web+pay", "ext+x", "chrome-extension", "moz-extension", "x-apple.systempreferences", "com.apple.tv", "android.settings", "JavaScript", "INTENT:",
	}
	for _, list := range reserved {
		refused = append(refused, strings.Fields(list.names)...)
	}
	for _, text := range refused {
		if s, err := (Shop{}).WithSchemes([]string{text}); err == nil {
			t.Errorf("%q is accepted as %v", text, s.Schemes)
		}
		if !strings.Contains(text, ":") && AppScheme(text+"://x") != "" {
			t.Errorf("%s://x is an app's address", text)
		}
	}
	var many []string
	for i := range MaxSchemes + 1 {
		many = append(many, fmt.Sprintf("app%d", i))
	}
	if _, err := (Shop{}).WithSchemes(many); err == nil {
		t.Errorf("%d schemes are accepted", len(many))
	}
}

func TestWhereAShopsPagesMayLead(t *testing.T) {
	s := Shop{Schemes: []string{"myapp", "com.acme.pay"}}
	for address, want := range map[string]bool{
		"https://shop.example": true, "http://localhost:3000/x": true, "https:///x": false, "/x": false, "": false, "//shop.example": false,
		"myapp://paid": true, "MYAPP://paid?x=1;2#y": true, "myapp://": true, "myapp:paid": true, "com.acme.pay:/paid": true,
		"myapp": false, "myapp:": false, "other://paid": false, "myapp2://paid": false, " myapp://paid": false, "my\tapp://x": false, "myapp://a b": false, "myapp://\"><": false,
		"myapp://é": false, "myapp://%zz/": false, "javascript:alert(1)": false, "myapp://\n": false, "myapp%3a//x": false,
	} {
		if got := s.MayLeadTo(address); got != want {
			t.Errorf("it may lead to %q: %t", address, got)
		}
	}
	if (Shop{}).MayLeadTo("myapp://paid") {
		t.Error("a shop without schemes leads to an app")
	}
	if err := (Shop{}).CheckReturn("myapp://paid"); err == nil || !strings.Contains(err.Error(), "scheme=myapp") {
		t.Errorf("the refusal says %v", err)
	}
}
