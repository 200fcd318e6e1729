package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// The package is installed on a separate machine, started, upgraded under load, removed and purged. What
// clients saw during the upgrades is compared with the data, and purging the package removes nothing of value.
//
//	go test ./cmd/cascada -run TestDrillPackage -v -full
func TestDrillPackage(t *testing.T) {
	t.Parallel()
	m := bootMachine(t)
	upgrades, clients, thinks, some := 1, 8, 100*time.Millisecond, 20
	if *full {
		upgrades, clients, thinks, some = 20, 32, 20*time.Millisecond, 50
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		buildPackage(t, version, filepath.Join(m.shared, version))
	}
	p := &installed{machine: m, database: "/var/lib/private/cascada/cascada.db", key: "/etc/cascada/secrets/master-key"}
	before := p.named()
	p.install()
	s := p.serve()
	p.confined()

	c := newCrowd(t, p.merchant(), moments(t), func(*server) *server { return s })
	c.ask, c.thinks = asksPaid, thinks
	wait := c.work(clients, endless)
	c.more("payments before the upgrade", some)
	began := time.Now()
	for i := range upgrades {
		p.upgrade([]string{"1.1.0", "1.0.0"}[i%2])
		c.more("payments after the upgrade", some)
	}
	longest := c.pause(began)
	p.refusesSettings("1.1.0")
	c.enough.Store(true)
	wait()
	c.rest()
	v := c.audit()
	v.report(c)
	m.does("cascada", "check")
	for line := range strings.Lines(m.does("journalctl", "--no-pager", "-u", "cascada")) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic:") {
			t.Errorf("the service logged a fault: %s", line)
		}
	}
	within(t, "an upgrade", longest, pauseLimit)
	heading("upgrades under load", "requests", "errors", "longest answer", "longest time without service", "lost", "doubled", "untrue answers")
	row(upgrades, v.asked, c.errors(), ms(c.longest), ms(longest), v.lost, v.doubled, v.untrue)
	p.removed(s, c, before)
}

// buildPackage makes a package of this program, as make release does.
func buildPackage(t testing.TB, version, to string) {
	t.Helper()
	program, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "run", "-trimpath", "./release", "deb", "-version", version, "-program", program, "-out", to, "-maintainer", "Drill <drill@localhost>")
	c.Dir, c.Env = "../../package", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("package/release: %v\n%s", err, out)
	}
}

// installed is the package on its machine.
type installed struct {
	*machine
	database, key string
	address       string
	process       string // of the service
}

func (p *installed) dpkg(version string) string {
	p.t.Helper()
	return p.does("dpkg", "--force-confold", "-i", fmt.Sprintf("/shared/%s/cascada_%s_%s.deb", version, version, runtime.GOARCH))
}

// show returns a property of the unit.
func (p *installed) show(property string) string {
	p.t.Helper()
	return strings.TrimSpace(p.does("systemctl", "show", "-p", property, "--value", "cascada"))
}

// install installs the package. That starts nothing and leaves the settings to the operator.
func (p *installed) install() {
	p.t.Helper()
	out := p.dpkg("1.0.0")
	for _, want := range []string{"a master key was made in " + p.key, "systemctl enable --now cascada"} {
		if !strings.Contains(out, want) {
			p.t.Errorf("dpkg -i does not say %q:\n%s", want, out)
		}
	}
	if active, file := p.show("ActiveState"), p.show("UnitFileState"); active != "inactive" || file != "disabled" {
		p.t.Errorf("the service is %s and %s after dpkg -i, want inactive and disabled", active, file)
	}
	if got := p.does("stat", "-c", "%a %U", "/etc/cascada/secrets", p.key); got != "700 root\n600 root\n" {
		p.t.Errorf("the secrets belong to %q", got)
	}
	if out := p.does("systemd-analyze", "verify", "/usr/lib/systemd/system/cascada.service"); out != "" {
		p.t.Errorf("systemd-analyze verify says %s", out)
	}
	if out := p.does("bash", "-c", `. /usr/share/bash-completion/completions/cascada; COMP_WORDS=(cascada merch); COMP_CWORD=1; _cascada cascada; echo "${COMPREPLY[@]}"`); out != "merchant\n" {
		p.t.Errorf("bash completes cascada merch to %q", out)
	}
}

// serve edits the settings and starts the service as an operator does.
func (p *installed) serve() *server {
	p.t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.address = free.Addr().String()
	if err := free.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.does("sed", "-i", "s/^listen: .*/listen: "+p.address+"\\nrate-limit: \"off\"/", "/etc/cascada/cascada.yaml")
	p.does("cascada", "config", "check")
	p.does("systemctl", "enable", "--now", "cascada") // it comes back when the service is ready
	s := &server{t: p.t, url: "http://" + p.address}
	p.ready(s)
	p.process = p.show("MainPID")
	return s
}

// ready fails the test if systemd reports the service as started but it takes no payments.
func (p *installed) ready(s *server) {
	p.t.Helper()
	reply, err := http.Get(s.url + "/readyz")
	if err != nil {
		p.t.Fatalf("systemd says that the service is started: %v", err)
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		p.t.Errorf("/readyz is %s when systemd says that the service is started", reply.Status)
	}
}

// confined fails the test if the service has more rights than it needs.
func (p *installed) confined() {
	p.t.Helper()
	status := p.does("cat", "/proc/"+p.process+"/status")
	for _, want := range []string{`(?m)^NoNewPrivs:\s+1$`, `(?m)^Seccomp:\s+2$`, `(?m)^CapBnd:\s+0+$`, `(?m)^CapEff:\s+0+$`, `(?m)^Uid:\s+[1-9]`} {
		if !regexp.MustCompile(want).MatchString(status) {
			p.t.Errorf("the service's process is not %s:\n%s", want, status)
		}
	}
	environment := p.does("cat", "/proc/"+p.process+"/environ", "/proc/"+p.process+"/cmdline")
	if key := strings.TrimSpace(p.does("cat", p.key)); strings.Contains(environment, key) {
		p.t.Error("the master key is in the service's environment or arguments")
	}
	if p.has(p.database + ".key") {
		p.t.Error("a second master key is beside the database")
	}
}

// merchant creates a merchant on the command line beside the running service.
func (p *installed) merchant() string {
	p.t.Helper()
	var k keys
	out := p.does("cascada", "merchant", "create", "--name", "Acme", "--email", "a@example.com", "--json")
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &k); err != nil {
		p.t.Fatalf("merchant create: %v\n%s", err, out)
	}
	return k.Keys.Sandbox.Secret
}

// upgrade replaces the running version with another one.
func (p *installed) upgrade(version string) {
	p.t.Helper()
	out := p.dpkg(version)
	if now := p.show("MainPID"); now == p.process || now == "0" {
		p.t.Fatalf("dpkg -i did not restart the service:\n%s", out)
	} else {
		p.process = now
	}
	if file := p.show("UnitFileState"); file != "enabled" {
		p.t.Errorf("the service is %s after an upgrade", file)
	}
	if settings := p.does("cat", "/etc/cascada/cascada.yaml"); !strings.Contains(settings, "listen: "+p.address) {
		p.t.Errorf("the operator's settings are gone:\n%s", settings)
	}
}

// refusesSettings upgrades to a version that would not start, and corrects the settings.
func (p *installed) refusesSettings(version string) {
	p.t.Helper()
	p.does("sed", "-i", "s/^database: /databse: /", "/etc/cascada/cascada.yaml")
	out := p.dpkg(version)
	for _, want := range []string{"the old one was left running", "databse: there is no such setting; did you mean database?"} {
		if !strings.Contains(out, want) {
			p.t.Errorf("dpkg -i with wrong settings does not say %q:\n%s", want, out)
		}
	}
	if now := p.show("MainPID"); now != p.process {
		p.t.Errorf("the service was restarted with invalid settings:\n%s", out)
	}
	p.does("sed", "-i", "s/^databse: /database: /", "/etc/cascada/cascada.yaml")
	p.does("systemctl", "restart", "cascada")
}

// named lists the files with the package's name in their own.
func (p *installed) named() map[string]bool {
	paths := map[string]bool{}
	for _, path := range strings.Fields(p.does("find", "/etc", "/usr", "/var", "-xdev", "-name", "*cascada*", "-print", "-prune")) {
		paths[path] = true
	}
	return paths
}

// removed removes and purges the package, checks what is left, and installs it again.
func (p *installed) removed(s *server, c *crowd, before map[string]bool) {
	p.t.Helper()
	payments := s.total(c.key, "")
	p.does("dpkg", "-r", "cascada")
	if _, err := net.DialTimeout("tcp", p.address, time.Second); err == nil {
		p.t.Error("the service runs after dpkg -r")
	}
	for _, path := range []string{"/etc/cascada/cascada.yaml", p.database, p.key} {
		if !p.has(path) {
			p.t.Errorf("dpkg -r removed %s", path)
		}
	}
	out := p.does("dpkg", "-P", "cascada")
	for _, left := range []string{p.database, p.key} {
		if !p.has(left) || !strings.Contains(out, filepath.Dir(left)) {
			p.t.Errorf("dpkg -P removed %s, or does not report that it is left:\n%s", left, out)
		}
	}
	for path := range p.named() {
		if !before[path] && !slices.Contains([]string{"/etc/cascada", "/var/lib/private/cascada", "/var/lib/cascada"}, path) {
			p.t.Errorf("dpkg -P left %s", path)
		}
	}
	p.dpkg("1.1.0")
	again := p.serve()
	if got := again.total(c.key, ""); got != payments {
		p.t.Errorf("after a purge and a new installation the service has %d payments, want the earlier %d", got, payments)
	}
	p.does("cascada", "check")
}
