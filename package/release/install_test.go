package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mirror is a server that serves a release; some files may be others than they should be.
func mirror(t *testing.T, dir string, others map[string][]byte) string {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := others[strings.TrimPrefix(r.URL.Path, "/v1/")]
		switch {
		case !ok:
			http.StripPrefix("/v1", files).ServeHTTP(w, r)
		case text == nil:
			http.NotFound(w, r)
		default:
			_, _ = w.Write(text) // a client that left needs no answer
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// install runs a release's install.sh as a user with an empty home, under dash if it is there: the smallest sh.
func install(t *testing.T, r *release, path string, args ...string) (home, out string, err error) {
	t.Helper()
	home = t.TempDir()
	sh := "sh"
	if dash, err := exec.LookPath("dash"); err == nil {
		sh = dash
	}
	c := exec.Command(sh, append([]string{filepath.Join(r.out, "install.sh")}, args...)...)
	c.Env = []string{"PATH=" + path, "HOME=" + home}
	text, err := c.CombinedOutput()
	return home, string(text), err
}

// nothingIn fails the test if something was installed.
func nothingIn(t *testing.T, home string) {
	t.Helper()
	if entries, err := os.ReadDir(filepath.Join(home, ".local", "bin")); err == nil && len(entries) > 0 {
		t.Errorf("%v was installed", entries)
	}
}

func TestInstallScriptInstalls(t *testing.T) {
	plain := small(t, "", "")
	key := newKey(t)
	signed := small(t, "https://nowhere.invalid/v1/", key)
	path := os.Getenv("PATH")
	for name, c := range map[string]struct {
		release *release
		args    []string
		want    []string // programs
		says    string
	}{
		"from a server":       {plain, []string{"--from", mirror(t, plain.out, nil), "cascada-cli"}, []string{"cascada-cli"}, "no public key was given"},
		"from a directory":    {plain, []string{"--from", plain.out}, []string{"cascada"}, "is not in PATH"},
		"signed":              {signed, []string{"--from", mirror(t, signed.out, nil) + "/", "cascada", "cascada-cli"}, programs, "cascada-cli 1.2.3-rc.1"},
		"signed, key by hand": {signed, []string{"--from", signed.out, "--public-key", filepath.Join(signed.out, publicKey)}, []string{"cascada"}, "cascada 1.2.3-rc.1"},
	} {
		home, out, err := install(t, c.release, path, c.args...)
		if err != nil || !strings.Contains(out, c.says) || c.release == signed && strings.Contains(out, "no public key") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, p := range c.want {
			if err := says(p+" 1.2.3-rc.1 ", exec.Command(filepath.Join(home, ".local/bin", p), "--version")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if entries, err := os.ReadDir(filepath.Join(home, ".local/bin")); err != nil || len(entries) != len(c.want) {
			t.Errorf("%s: %v (%v) is installed, want %v", name, entries, err, c.want)
		}
	}
	// A second installation replaces a program that runs, elsewhere too.
	to := t.TempDir()
	for range 2 {
		if _, out, err := install(t, plain, path, "--from", plain.out, "--to", to); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func TestInstallScriptRefuses(t *testing.T) {
	plain, signed := small(t, "", ""), small(t, "", newKey(t))
	other := small(t, "", newKey(t))
	name := plain.name(file{"cascada", host}) + ".tar.gz"
	whole, err := os.ReadFile(filepath.Join(plain.out, name))
	if err != nil {
		t.Fatal(err)
	}
	corrupted := bytes.Clone(whole)
	corrupted[len(corrupted)/2] ^= 1
	read := func(r *release, name string) []byte {
		text, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	forged := []byte(strings.Replace(string(read(signed, sums)), "  "+name, "0  "+name, 1))
	for what, c := range map[string]struct {
		release *release
		others  map[string][]byte
		reason  string
	}{
		"a corrupted archive":         {plain, map[string][]byte{name: corrupted}, "the checksum of " + name + " is wrong"},
		"half an archive":             {plain, map[string][]byte{name: whole[:len(whole)/2]}, "the checksum of " + name + " is wrong"},
		"no archive":                  {plain, map[string][]byte{name: nil}, "cannot be read"},
		"no checksums":                {plain, map[string][]byte{sums: nil}, "cannot be read"},
		"a list without the archive":  {plain, map[string][]byte{sums: []byte("0  x\n")}, "the release has no"},
		"a forged list":               {signed, map[string][]byte{sums: forged}, "the signature of SHA256SUMS is wrong"},
		"no signature":                {signed, map[string][]byte{signature: nil}, "cannot be read"},
		"a signature that is none":    {signed, map[string][]byte{signature: []byte("<html>")}, "SHA256SUMS"},
		"a signature of somebody":     {signed, map[string][]byte{signature: read(other, signature)}, "the signature of SHA256SUMS is wrong"},
		"a list and its own key file": {signed, map[string][]byte{sums: read(other, sums), signature: read(other, signature), publicKey: read(other, publicKey)}, "the signature of SHA256SUMS is wrong"},
	} {
		home, out, err := install(t, c.release, os.Getenv("PATH"), "--from", mirror(t, c.release.out, c.others), "cascada-cli", "cascada")
		if err == nil || !strings.Contains(out, c.reason) {
			t.Errorf("%s: %v, want %q\n%s", what, err, c.reason, out)
		}
		nothingIn(t, home)
	}
	for reason, args := range map[string][]string{
		"--from URL": {}, "needs a value": {"--from"}, "is not known": {"--from", plain.out, "cascada-gui"}, "cannot be read": {"--from", "http://127.0.0.1:1"},
	} {
		home, out, err := install(t, plain, os.Getenv("PATH"), args...)
		if err == nil || !strings.Contains(out, reason) {
			t.Errorf("%v: %v, want %q\n%s", args, err, reason, out)
		}
		nothingIn(t, home)
	}
	empty := filepath.Join(t.TempDir(), "empty.pub")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	home, out, err := install(t, signed, os.Getenv("PATH"), "--from", signed.out, "--public-key", empty)
	if err == nil || !strings.Contains(out, "has no key") {
		t.Errorf("an empty key: %v\n%s", err, out)
	}
	nothingIn(t, home)
}

// Other systems are told apart by uname alone.
func TestInstallScriptKnowsTheSystem(t *testing.T) {
	r := small(t, "", "")
	for system, want := range map[string]string{
		"Linux aarch64": "_linux_arm64.tar.gz", "Linux x86_64": "_linux_amd64.tar.gz", "Darwin arm64": "_darwin_arm64.tar.gz", "Darwin x86_64": "_darwin_amd64.tar.gz",
		"FreeBSD amd64": "there is no program for FreeBSD", "Linux riscv64": "there is no program for riscv64", "MINGW64_NT-10.0 x86_64": "unpack the zip yourself",
	} {
		bin := t.TempDir()
		name, machine, _ := strings.Cut(system, " ")
		text := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = -s ]; then echo %s; else echo %s; fi\n", name, machine)
		if err := os.WriteFile(filepath.Join(bin, "uname"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		list := []byte("0  nothing\n")
		_, out, err := install(t, r, bin+":"+os.Getenv("PATH"), "--from", mirror(t, r.out, map[string][]byte{sums: list}))
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want %q\n%s", system, err, want, out)
		}
	}
}
