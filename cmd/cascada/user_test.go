package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Keys that a removed user made work on: the command names them. Those of others are not named.
func TestRemovedUsersKeysAreNamed(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t).with("CASCADA_DATABASE=" + database)
		u.does(t, "migrate")
		var acme struct {
			Merchant, Shop struct{ ID string }
		}
		if err := json.Unmarshal([]byte(u.does(t, "merchant", "create", "--name", "Acme", "--email", "a@example.com", "--json")), &acme); err != nil {
			t.Fatal(err)
		}
		s := u.serve(t, "--listen", "127.0.0.1:0")
		link := regexp.MustCompile(`/dashboard/link/\S+`)
		browsers := map[string]*http.Client{}
		for _, name := range []string{"ana", "bea"} {
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			browsers[name] = &http.Client{Jar: jar, Transport: sameOrigin{}}
			path := link.FindString(u.does(t, "user", "invite", name+"@example.com", "--merchant", acme.Merchant.ID))
			for _, form := range []struct {
				path string
				url.Values
			}{
				{path, url.Values{"name": {name}, "password": {"correct horse battery"}}},
				{"/dashboard/" + acme.Shop.ID + "/sandbox/keys", url.Values{"kind": {"restricted"}, "rights": {"read"}}},
			} {
				res, err := browsers[name].PostForm(s.url+form.path, form.Values)
				if err != nil || res.StatusCode != http.StatusOK {
					t.Fatalf("%s: %v %v", form.path, res, err)
				}
				res.Body.Close()
			}
		}
		out := u.does(t, "user", "remove", "bea@example.com", "--merchant", acme.Merchant.ID)
		if strings.Count(out, "still works: cascada key rotate key_") != 1 || !strings.Contains(out, "was removed") {
			t.Errorf("user remove --merchant:\n%s", out)
		}
		key := regexp.MustCompile(`key_\w+`).FindString(out)
		if again := u.does(t, "user", "remove", "bea@example.com"); !strings.Contains(again, key) { // of merchants that the user left before, too
			t.Errorf("user remove:\n%s", again)
		}
		if revoked := u.does(t, "key", "revoke", key); revoked == "" {
			t.Error("the key cannot be revoked by what is printed")
		}
	})
}

// sameOrigin sends what a page of the service sends.
type sameOrigin struct{}

func (sameOrigin) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return http.DefaultTransport.RoundTrip(r)
}
