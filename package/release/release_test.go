package main

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// base is a release for this machine as far as address and key do not matter, made once as for a release.
var base = sync.OnceValues(func() (*release, error) {
	r, err := newRelease("../..", "1.2.3-rc.1")
	if err != nil {
		return nil, err
	}
	r.targets, r.level, r.packing = []target{host}, gzip.BestSpeed, "zstd:fastest"
	if r.out, err = os.MkdirTemp("", "cascada-release-test"); err != nil {
		return nil, err
	}
	return r, r.make(filepath.Join(r.out, "work"))
})

// make does what address and key do not matter for.
func (r *release) make(work string) error {
	for _, step := range []func() error{func() error { return r.build(work) }, r.archives, r.packages, r.image, r.chart, r.parts} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// finish does the rest.
func (r *release) finish() error {
	for _, step := range []func() error{r.formulas, r.installer, r.checksums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // as main does
	code := m.Run()
	if r, err := base(); err == nil {
		_ = os.RemoveAll(r.out) // leftovers are harmless
	}
	os.Exit(code)
}

// newKey writes a private key that openssl could have made.
func newKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// small returns a release for this machine, signed if there is a key.
func small(t *testing.T, url, key string) *release {
	t.Helper()
	made, err := base()
	if err != nil {
		t.Fatal(err)
	}
	r := *made
	r.out, r.url = t.TempDir(), url
	if key != "" {
		if r.key, err = readKey(key); err != nil {
			t.Fatal(err)
		}
	}
	link(t, made.out, r.out)
	if err := r.finish(); err != nil {
		t.Fatal(err)
	}
	return &r
}

// link makes the files of a directory appear in another one.
func link(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if err := os.Link(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

func sumsOf(t *testing.T, r *release) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.out, sums))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Two releases of one commit are the same, byte for byte: the second is made of a copy of the sources elsewhere, at another time.
func TestTheSameSourcesMakeTheSameBytes(t *testing.T) {
	key := newKey(t)
	first := small(t, "https://downloads.example.com/1.2.3/", key)
	copied := t.TempDir()
	sources, err := first.git("ls-files", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(sources) {
		path = strings.TrimSpace(path)
		text, err := os.ReadFile(first.path(path))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(copied, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second := *first
	second.root, second.out, second.built = copied, t.TempDir(), map[file]program{}
	if err := errors.Join(second.make(t.TempDir()), second.finish()); err != nil {
		t.Fatal(err)
	}
	if a, b := sumsOf(t, first), sumsOf(t, &second); a != b {
		t.Errorf("the checksums differ:\n%s\n%s", a, b)
	}
	if err := check(second.out, io.Discard); err != nil {
		t.Error(err)
	}
	want := []string{"SHA256SUMS", "SHA256SUMS.sig", "cascada-1.2.3-rc.1-1.x86_64.rpm", "cascada-1.2.3-rc.1.tgz", "cascada-cli.rb", "cascada.pub", "cascada.rb",
		"cascada_1.2.3-rc.1_amd64.deb", "cascada_1.2.3-rc.1_image.oci.tar", "cascada_1.2.3-rc.1_linux_amd64.cdx.json", "cascada_1.2.3-rc.1_linux_amd64.tar.gz", "install.sh"}
	if host == (target{"linux", "amd64"}) {
		for _, name := range want {
			if _, err := os.Stat(filepath.Join(second.out, name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// Whoever changes a file of a release, or leaves one out, is found out.
func TestChecksFindWhatIsWrong(t *testing.T) {
	signed, r := small(t, "", newKey(t)), small(t, "", "")
	cli := r.name(file{"cascada-cli", host})
	for name, c := range map[string]struct {
		release *release
		large   bool // the check looks at the service's files, too
		change  func(dir string) error
	}{
		"checksum":         {r, false, func(dir string) error { return put(dir, "install.sh", "exit 1\n") }},
		"not in":           {r, false, func(dir string) error { return put(dir, "more", "") }},
		"is not there":     {r, false, func(dir string) error { return os.Remove(filepath.Join(dir, "install.sh")) }},
		"signature: the s": {signed, false, func(dir string) error { return resum(dir, "install.sh", "exit 1\n") }},
		"formulas":         {r, false, func(dir string) error { return resum(dir, "cascada-cli.rb", "class Cascada\n") }},
		"installer":        {r, true, func(dir string) error { return resum(dir, "install.sh", "exit 1\n") }},
		"image":            {r, false, func(dir string) error { return resum(dir, r.imageName(), "not an image") }},
		"packages": {r, false, func(dir string) error {
			return resum(dir, packageName("cascada-cli", r.version, host.arch, "deb"), "not a package")
		}},
		"archives": {r, false, func(dir string) error {
			return resum(dir, cli+".zip", "not an archive")
		}},
		"not pri": {r, false, func(dir string) error { // another version than the name says
			text, err := os.ReadFile(filepath.Join(dir, cli+".tar.gz"))
			if err != nil {
				return err
			}
			return resum(dir, strings.Replace(cli, "1.2.3-rc.1", "9.9.9", 1)+".tar.gz", string(text))
		}},
	} {
		dir := t.TempDir()
		link(t, c.release.out, dir)
		if !c.large {
			for _, glob := range []string{"cascada_*", "cascada-1*", "cascada.rb"} {
				names, err := filepath.Glob(filepath.Join(dir, glob))
				if err != nil {
					t.Fatal(err)
				}
				for _, path := range names {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			list, err := listSums(dir)
			if err == nil && c.release.key == nil {
				err = put(dir, sums, string(list))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if c.release == r {
			if err := check(dir, io.Discard); err != nil {
				t.Errorf("%s, before the change: %v", name, err)
			}
		}
		if err := c.change(dir); err != nil {
			t.Fatal(err)
		}
		if err := check(dir, io.Discard); err == nil || name != "not pri" && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// put replaces a file, which others may have too.
func put(dir, name, text string) error {
	path := filepath.Join(dir, name)
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// resum changes a file of a release, and its checksum in the list.
func resum(dir, name, text string) error {
	if err := put(dir, name, text); err != nil {
		return err
	}
	list, err := listSums(dir)
	if err != nil {
		return err
	}
	return put(dir, sums, string(list))
}

// openssl, which everybody has, verifies the signature as docs/RELEASES.md says.
func TestOpensslVerifiesTheSignature(t *testing.T) {
	r := small(t, "", newKey(t))
	verifies := func() error {
		c := exec.Command("sh", "-c", "openssl base64 -d -A -in SHA256SUMS.sig -out signature && openssl dgst -sha256 -verify cascada.pub -signature signature SHA256SUMS")
		c.Dir = r.out
		out, err := c.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := verifies(); err != nil {
		t.Error(err)
	}
	if err := put(r.out, sums, "other\n"); err != nil {
		t.Fatal(err)
	}
	if err := verifies(); err == nil {
		t.Error("openssl accepts another list")
	}
	for name, text := range map[string]string{"no key": "hello", "another curve": curve(t, elliptic.P384()), "an encrypted key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readKey(path); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	made, err := exec.Command("openssl", "ecparam", "-name", "prime256v1", "-genkey").Output() // with its parameters before it
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, made, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readKey(path); err != nil {
		t.Errorf("a key of openssl ecparam: %v", err)
	}
}

func curve(t *testing.T, c elliptic.Curve) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// The lists of parts follow the schema of CycloneDX, and have what is in the programs.
func TestListsOfPartsFollowTheirSchema(t *testing.T) {
	r := small(t, "", "")
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	schemas := filepath.Join(strings.TrimSpace(string(module)), "schema")
	compiler := jsonschema.NewCompiler()
	for _, name := range []string{"spdx.schema.json", "jsf-0.82.schema.json", "bom-1.6.schema.json"} {
		text, err := os.Open(filepath.Join(schemas, strings.Replace(name, "jsf-0.82.schema", "jsf-0.82.schemax", 1))) // so the module calls it
		if err != nil {
			t.Fatal(err)
		}
		schema, err := jsonschema.UnmarshalJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource("http://cyclonedx.org/schema/"+name, schema); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for f := range r.built {
		text, err := os.ReadFile(filepath.Join(r.out, r.name(f)+".cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		list, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(list); err != nil {
			t.Errorf("%s: %v", f.program, err)
		}
		if f.program == "cascada" {
			for _, want := range []string{"pkg:npm/htmx.org@", "pkg:npm/uplot@", "pkg:golang/modernc.org/sqlite@", "pkg:golang/std@"} {
				if !bytes.Contains(text, []byte(want)) {
					t.Errorf("the list of cascada lacks %s", want)
				}
			}
		}
	}
}

func TestFormulasFollowTheAddress(t *testing.T) {
	for url, want := range map[string]string{
		"": `url "#{ENV.fetch("HOMEBREW_CASCADA_URL")}/cascada_`, "https://downloads.example.com/v/": `url "https://downloads.example.com/v/cascada_`,
	} {
		r := small(t, url, "")
		text, err := os.ReadFile(filepath.Join(r.out, "cascada.rb"))
		if err != nil || !bytes.Contains(text, []byte(want)) || strings.Contains(string(text), "homepage") != (url != "") {
			t.Errorf("with the address %q the formula is %v\n%s", url, err, text)
		}
	}
}

func TestOnlyReleasesAreMade(t *testing.T) {
	sources := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", sources, "-c", "user.name=Test", "-c", "user.email=test@localhost"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(sources, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("CHANGELOG.md", "# Changes\n\n## Next\n\n- new\n\n## 1.1.0 (2031-01-02)\n\n- b\n\n**More**\n\n- c\n\n## 1.0.1\n\n## 1.0.0\n\n- a\n")
	git("add", ".")
	git("commit", "-qm", "all")
	for version, want := range map[string]string{
		"1.0.0": "# Cascada 1.0.0\n\n- a\n", "1.1.0": "# Cascada 1.1.0\n\n- b\n\n**More**\n\n- c\n", "1.1.0-rc.2": "# Cascada 1.1.0-rc.2\n\n- b\n\n**More**\n\n- c\n",
	} {
		r, err := prepare(sources, version, options{})
		if err != nil || r.notes != want || len(r.targets) != 6 {
			t.Errorf("%s: %v, %+v", version, err, r)
		}
	}
	for version, reason := range map[string]string{
		"": "must be like", "1": "must be like", "1.0": "must be like", "v1.0.0": "must be like", "01.0.0": "must be like", "1.0.0+a": "a +", "1.0.0 ": "must be like", "1.0.0;ls": "must be like",
		"1.2.0": "no section ## 1.2.0", "1.0.1": "is empty", "Next": "must be like",
	} {
		if _, err := prepare(sources, version, options{}); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("the version %q: %v, want %q", version, err, reason)
		}
	}
	for reason, o := range map[string]options{
		"is none of": {targets: "linux/amd64,plan9/386"}, "the address": {url: "https://a.example.com/'; rm -rf ~"}, "no such file": {key: "nowhere"},
	} {
		if _, err := prepare(sources, "1.0.0", o); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%+v: %v, want %q", o, err, reason)
		}
	}
	write("new.go", "package main\n")
	if _, err := prepare(sources, "1.0.0", options{}); err == nil || !strings.Contains(err.Error(), "new.go") {
		t.Errorf("with changes: %v", err)
	}
}

// The repository's own CHANGELOG has a section that a release could be made of.
func TestTheChangelogHasASection(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	found := heading.FindAllStringSubmatch(string(text), -1)
	if len(found) == 0 {
		t.Fatal("no section of a version")
	}
	if _, err := section(string(text), found[0][1]); err != nil {
		t.Error(err)
	}
}

// Whatever is between two headings is one section.
func FuzzSection(f *testing.F) {
	f.Add("## 1.0.0\n\n- a\n", "1.0.0")
	f.Add("## 1.0.0\n## 1.0.0\n", "1.0.0-rc.1")
	f.Fuzz(func(t *testing.T, log, version string) {
		text, err := section(log, version)
		if err == nil && slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return strings.HasPrefix(line, "## ") }) {
			t.Errorf("%q of %q is %q", version, log, text)
		}
	})
}
