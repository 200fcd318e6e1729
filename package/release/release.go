package main

import (
	"compress/gzip"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
)

// options are what whoever cuts a release may choose.
type options struct {
	key, url, targets, maintainer string
	sdks                          bool
}

// release is what is made, and of what.
type release struct {
	root       string // the repository
	out        string // where the files are made
	version    string // 1.2.3 or 1.2.3-rc.1
	commit     string
	time       time.Time // of the commit: the time of everything that is made
	notes      string    // the version's section of the CHANGELOG
	url        string    // where the files will be, with a slash at the end; "" if nobody knows
	maintainer string
	key        *ecdsa.PrivateKey // nil: nothing is signed
	level      int               // how hard archives are compressed, as in compress/gzip
	packing    string            // how packages are compressed, in nfpm's words: what dpkg 1.21.18 and rpm 4.14 read, of the systems that the packages need
	targets    []target
	built      map[file]program
}

// program is a program that was built.
type program struct {
	path     string
	licences []byte // of all that is in it
}

// programs are the names of the programs.
var programs = []string{"cascada", "cascada-cli"}

// target is a system that programs are built for, in Go's words.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// exe is the name of a program's file.
func (t target) exe(program string) string {
	if t.os == "windows" {
		return program + ".exe"
	}
	return program
}

// allTargets are the systems of a release.
var allTargets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// file is a program for a system.
type file struct {
	program string
	target  target
}

// name is what all that is made of a program is called.
func (r *release) name(f file) string {
	return fmt.Sprintf("%s_%s_%s_%s", f.program, r.version, f.target.os, f.target.arch)
}

// path is a path in the repository.
func (r *release) path(below string) string { return filepath.Join(r.root, below) }

// write writes a file of the release.
func (r *release) write(name string, text []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), text, 0o644)
}

// cut makes a release in a directory, which it replaces.
func cut(root, version, out string, o options) error {
	r, err := prepare(root, version, o)
	if err != nil {
		return err
	}
	if out == "" {
		out = "dist"
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(r.root, out)
	}
	r.out = out + ".unfinished"
	if err := errors.Join(os.RemoveAll(r.out), os.RemoveAll(out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "cascada-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	steps := newSteps(os.Stdout)
	steps.add("programs", func() error { return r.build(work) })
	steps.add("archives", r.archives)
	steps.add("packages", r.packages)
	steps.add("image", r.image)
	steps.add("chart", r.chart)
	steps.add("lists of parts", r.parts)
	steps.add("formulas", r.formulas)
	if o.sdks {
		steps.add("SDKs", r.sdks)
	}
	steps.add("notes", func() error { return r.write("RELEASE-NOTES.md", []byte(r.notes)) })
	steps.add("installer", r.installer)
	steps.add("checksums", r.checksums)
	steps.add("checks", func() error { return check(r.out, os.Stdout) })
	if err := steps.run(); err != nil {
		return err
	}
	if err := os.Rename(r.out, out); err != nil {
		return err
	}
	r.out = out
	return r.report(os.Stdout)
}

// prepare refuses what must not become a release.
func prepare(root, version string, o options) (*release, error) {
	r, err := newRelease(root, version)
	if err != nil {
		return nil, err
	}
	changes, err := r.git("status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		return nil, fmt.Errorf("the sources differ from commit %s: commit the changes, or put them aside\n%s", r.commit, changes)
	}
	log, err := os.ReadFile(r.path("CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	if r.notes, err = section(string(log), r.version); err != nil {
		return nil, err
	}
	if r.targets, err = parseTargets(o.targets); err != nil {
		return nil, err
	}
	if r.url, err = parseURL(o.url); err != nil {
		return nil, err
	}
	if o.key != "" {
		if r.key, err = readKey(o.key); err != nil {
			return nil, err
		}
	}
	if o.maintainer != "" {
		r.maintainer = o.maintainer
	}
	return r, nil
}

// newRelease returns a release of the last commit.
func newRelease(root, version string) (*release, error) {
	v, err := semver.StrictNewVersion(version)
	if err != nil {
		return nil, fmt.Errorf("the version is %q, and must be like 1.2.3 or 1.2.3-rc.1: %w", version, err)
	}
	if v.Metadata() != "" {
		return nil, fmt.Errorf("the version %q has a +: a tag of an image cannot have one", version)
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	r := &release{root: root, version: version, level: gzip.BestCompression, packing: "zstd", maintainer: "Cascada <cascada@localhost>", built: map[file]program{}}
	if r.commit, err = r.git("rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	seconds, err := r.git("log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	r.time = time.Unix(unix, 0).UTC()
	return r, nil
}

// git runs git in the repository.
func (r *release) git(args ...string) (string, error) {
	c := exec.Command("git", args...)
	c.Dir = r.root
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// heading is the heading of a version's section. A date may follow the number.
var heading = regexp.MustCompile(`(?m)^## v?([0-9]\S*).*$`)

// section returns the section of a version. That of 1.2.3 is also the one of 1.2.3-rc.1, unless that has its own.
func section(log, version string) (string, error) {
	stable, _, _ := strings.Cut(version, "-")
	headings := heading.FindAllStringSubmatchIndex(log, -1)
	for _, wanted := range []string{version, stable} {
		for _, h := range headings {
			if log[h[2]:h[3]] != wanted {
				continue
			}
			text := log[h[1]:]
			if next := regexp.MustCompile(`(?m)^## `).FindStringIndex(text); next != nil {
				text = text[:next[0]]
			}
			if strings.TrimSpace(text) == "" {
				return "", fmt.Errorf("the section %s of CHANGELOG.md is empty", wanted)
			}
			return "# Cascada " + version + "\n\n" + strings.TrimSpace(text) + "\n", nil
		}
	}
	return "", fmt.Errorf("CHANGELOG.md has no section ## %s: write down what changes for whom", stable)
}

// parseTargets reads a list of systems, "" for all.
func parseTargets(list string) (found []target, err error) {
	if list == "" {
		return allTargets, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(allTargets, func(t target) bool { return t.String() == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("%q is none of %v", name, allTargets)
		}
		found = append(found, allTargets[i])
	}
	return found, nil
}

// address is what may become a part of a formula and of a shell script.
var address = regexp.MustCompile(`^https?://[A-Za-z0-9._~:/%@-]+$`)

// parseURL reads the address of the files, "" for none.
func parseURL(url string) (string, error) {
	if url == "" {
		return "", nil
	}
	if !address.MatchString(url) {
		return "", fmt.Errorf("the address %q of the files is none: https://…, letters, digits and ._~:/%%@-", url)
	}
	return strings.TrimSuffix(url, "/") + "/", nil
}
