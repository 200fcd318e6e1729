package sender_test

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

func TestLiveEndpointsUseHTTPSAndSandboxOnesMayUseHTTP(t *testing.T) {
	cases := []struct {
		url           string
		live, sandbox bool
	}{
		{"https://shop.example/hook", true, true},
		{"https://shop.example:8443/hook?shop=1#top", true, true},
		{"HTTPS://SHOP.EXAMPLE", true, true},
		{"https://shop.example.", true, true},
		{"https://xn--caf-dma.example/", true, true},
		{"https://caf\u00e9.example/", false, false},
		{"https://\uff11\uff12\uff17.\uff10.\uff10.\uff11/", false, false},
		{"https://3com.example/", true, true},
		{"https://0x.example/", true, true},
		{"https://shop.example:/", true, true},
		{"https://shop.example:65535/", true, true},
		{"https://" + strings.Repeat("a", 2040), true, true},
		{"http://shop.example/hook", false, true},
		{"http://shop.example:8080/hook", false, true},

		{"", false, false},
		{"hook", false, false},
		{"/hook", false, false},
		{"//shop.example/hook", false, false},
		{"shop.example/hook", false, false},
		{"shop.example:443/hook", false, false},
		{"ftp://shop.example/hook", false, false},
		{"file:///etc/passwd", false, false},
		{"javascript:alert(1)", false, false},
		{"unix:///var/run/docker.sock", false, false},
		{"https:shop.example/hook", false, false},
		{"https://", false, false},
		{"https:///hook", false, false},
		{"https://:443/hook", false, false},
		{"https://./hook", false, false},
		{"https://user@shop.example/", false, false},
		{"https://user:word@shop.example/", false, false},
		{"https://shop.example@127.0.0.1/", false, false},
		{"https://shop.example:0/", false, false},
		{"https://shop.example:65536/", false, false},
		{"https://shop.example:http/", false, false},
		{"https://shop.example:-1/", false, false},
		{" https://shop.example/", false, false},
		{"https://shop .example/", false, false},
		{"https://shop.example/\nHost: x", false, false},
		{"https://shop.example\x00/", false, false},
		{"https://[::1/", false, false},
		{"https://127%2e0.0.1/", false, false},
		{"https://" + strings.Repeat("a", 2041), false, false},
	}
	for _, c := range cases {
		checkURL(t, c.url, true, false, c.live)
		checkURL(t, c.url, false, false, c.sandbox)
	}
}

// privateHosts are loopback, private, link-local, metadata and reserved addresses, in
// the many ways there are to write one.
var privateHosts = []string{
	"localhost", "LocalHost", "localhost.", "shop.localhost", "shop.LOCALHOST.",
	"127.0.0.1", "127.0.0.1.", "127.255.255.254", "0.0.0.0", "0.255.255.255",
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255",
	"169.254.0.1", "169.254.169.254", "169.254.170.2",
	"100.64.0.1", "100.100.100.200", "100.127.255.255", // shared, and metadata at Alibaba
	"168.63.129.16", "192.0.0.192", // Azure, Oracle
	"192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",

	"[::1]", "[::]", "[fe80::1]", "[fe80::1%25eth0]", "[::1%25lo]", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]",
	"[2001:db8::1]", "[0:0:0:0:0:0:0:1]",
	// IPv4 inside IPv6: mapped, compatible, NAT64, 6to4, Teredo.
	"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:A9FE:A9FE]", "[::ffff:10.0.0.1]", "[::ffff:168.63.129.16]",
	"[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]",

	// Decimal, octal, hexadecimal and short: whatever they lead to, they are no names.
	"2130706433", "0x7f000001", "0X7F000001", "017700000001", "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1", "127.0.0.0x1",
	"2852039166", "0xa9fea9fe", "169.16689662", "0", "0x", "127.1.", "1.2.3.4.5", "256.0.0.1", "134744072",
}

func TestEndpointsAtPrivateAddressesAreRefused(t *testing.T) {
	for _, host := range privateHosts {
		checkURL(t, "https://"+host+"/hook", true, false, false)
		checkURL(t, "https://"+host+":8443/hook", true, true, false) // never in production
		checkURL(t, "http://"+host+":8080/hook", false, false, false)
	}
	public := []string{
		"8.8.8.8", "1.1.1.1", "[2606:4700:4700::1111]", "[::ffff:8.8.8.8]", "[2a00::1]",
		// The neighbours of what is refused.
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "126.255.255.255", "128.0.0.0", "172.15.255.255", "172.32.0.0",
		"192.167.255.255", "192.169.0.0", "169.253.255.255", "169.255.0.0", "100.63.255.255", "100.128.0.0",
		"168.63.129.15", "168.63.129.17", "223.255.255.255",
		// Names only look like what is refused.
		"localhost.example", "notlocalhost", "127.0.0.1.example", "10.example", "metadata.google.internal",
	}
	for _, host := range public {
		checkURL(t, "https://"+host+"/hook", true, false, true)
		checkURL(t, "http://"+host+":8080/hook", false, false, true)
	}
}

func TestAllowPrivateOpensLoopbackToTheSandboxOnly(t *testing.T) {
	loopback := []string{
		"localhost", "LocalHost.", "shop.localhost", "127.0.0.1", "127.0.0.1.", "127.255.255.254",
		"[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
	}
	opened := map[string]bool{}
	for _, host := range loopback {
		opened[host] = true
		checkURL(t, "http://"+host+":3000/hook", false, true, true)
		checkURL(t, "https://"+host+":3000/hook", true, true, false)
	}
	for _, host := range privateHosts {
		if name := strings.ToLower(host); !opened[host] && !strings.Contains(name, "localhost") {
			checkURL(t, "http://"+host+":3000/hook", false, true, false)
		}
	}
}

func TestRefusalsSayWhatIsWrong(t *testing.T) {
	cases := []struct {
		url  string
		live bool
		want string
	}{
		{"http://shop.example", true, "webhook.url_not_https"},
		{"ftp://shop.example", false, "webhook.url_not_http"},
		{"https://[::1", true, "webhook.url_not_absolute"},
		{"https://", true, "webhook.url_without_host"},
		{"https://a:b@shop.example", true, "webhook.url_with_password"},
		{"https://shop.example:0", true, "webhook.url_port"},
		{"https://10.0.0.1", true, "webhook.url_private"},
		{"http://10.0.0.1", false, "webhook.url_private"},
		{"http://127.0.0.1:3000", false, "webhook.url_loopback"},
		{"http://localhost:3000", true, "webhook.url_not_https"},
		{"https://localhost:3000", true, "webhook.url_private"},
		{"https://2130706433", true, "webhook.url_short_ip"},
		{"https://" + strings.Repeat("a", 2041), true, "webhook.url_too_long most=2048"},
	}
	for _, c := range cases {
		if err := sender.CheckURL(c.url, c.live, false); err == nil || err.Error() != c.want {
			t.Errorf("CheckURL(%.60q) says %v, want %q", c.url, err, c.want)
		}
	}
}

func checkURL(t *testing.T, url string, live, allowPrivate, want bool) {
	t.Helper()
	if err := sender.CheckURL(url, live, allowPrivate); (err == nil) != want {
		t.Errorf("CheckURL(%.60q, live %t, allowPrivate %t) is %v, want it accepted: %t", url, live, allowPrivate, err, want)
	}
}
