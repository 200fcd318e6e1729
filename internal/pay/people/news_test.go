package people

import "testing"

// The agents of some browsers.
const (
	chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
	newer  = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/132.0.0.0 Safari/537.36"
	edge   = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0"
	safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
	fox    = "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"
)

// A browser's name comes from a list, so it never carries a stranger's text into an e-mail.
func TestBrowsersHaveNames(t *testing.T) {
	for agent, want := range map[string]string{
		chrome: "Chrome, Windows", edge: "Edge, Windows", safari: "Safari, iPhone", fox: "Firefox, Linux", "curl/8.1": "", "": "",
		"Call +1 555 0100 now, Firefox/1": "Firefox",
	} {
		if got := BrowserOf(agent); got != want {
			t.Errorf("%q is named %q, want %q", agent, got, want)
		}
	}
}

func TestWhatIsFamiliar(t *testing.T) {
	earlier := []SignIn{{Address: "203.0.113.7", Agent: chrome}, {Address: "2001:db8:1:2::1", Agent: safari}}
	for _, c := range []struct {
		address, agent string
		want           bool
	}{
		{"203.0.113.7", chrome, true}, {"203.0.113.7", newer, true}, {"203.0.113.99", chrome, true}, {"::ffff:203.0.113.9", safari, true}, {"2001:db8:1:99::5", chrome, true},
		{"203.0.114.7", chrome, false}, {"2001:db8:2::1", safari, false}, {"203.0.113.7", fox, false}, {"203.0.113.7", edge, false}, {"", chrome, false},
	} {
		if got := Familiar(earlier, c.address, c.agent); got != c.want {
			t.Errorf("%s with %q is familiar: %v", c.address, c.agent, got)
		}
	}
	if Familiar(nil, "203.0.113.7", chrome) {
		t.Error("something is familiar although nothing was used before")
	}
}

// An account keeps its newest news.
func TestNewsAreFew(t *testing.T) {
	var u User
	for range 30 {
		u = u.WithNews(News{What: PasswordSet})
	}
	before := u
	u = u.WithNews(News{What: AppAdded})
	if len(u.News) != keptNews || u.News[0].What != AppAdded || u.News[1].What != PasswordSet || before.News[0].What != PasswordSet {
		t.Errorf("the account keeps %+v", u.News)
	}
}
