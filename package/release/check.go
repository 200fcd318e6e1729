package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// made is a directory with a release, as who downloads it sees it.
type made struct {
	dir     string
	version string
	names   []string
	to      io.Writer
}

// archive is the name of a program's archive.
var archive = regexp.MustCompile(`^(cascada|cascada-cli)_([0-9][^_]*)_(linux|darwin|windows)_(amd64|arm64)(\.tar\.gz|\.zip)$`)

// check fails if a release is not whole, or differs from what its checksums, its lists or its names say.
func check(dir string, to io.Writer) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	m := &made{dir: dir, to: to}
	for _, e := range entries {
		m.names = append(m.names, e.Name())
		if parts := archive.FindStringSubmatch(e.Name()); parts != nil {
			m.version = parts[2]
		}
	}
	if m.version == "" {
		return errors.New("there is no archive of a program")
	}
	for _, c := range []struct {
		name string
		does func() error
	}{
		{"checksums", m.sums}, {"signature", m.signature}, {"formulas", m.formulas}, {"installer", m.installer}, {"image", m.image},
		{"packages", m.packages}, {"archives", m.archives},
	} {
		if err := c.does(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

func (m *made) path(name string) string { return filepath.Join(m.dir, name) }

// read returns a file of the release.
func (m *made) read(name string) ([]byte, error) { return os.ReadFile(m.path(name)) }

// sums fails if a file has another checksum than the list says, is not in it or is missing.
func (m *made) sums() error {
	want, err := m.read(sums)
	if err != nil {
		return err
	}
	got, err := listSums(m.dir)
	if err != nil {
		return err
	}
	if bytes.Equal(got, want) {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(want)), "\n")
	for line := range strings.Lines(string(got)) {
		if i := indexOf(lines, strings.TrimSpace(line)); i >= 0 {
			lines = append(lines[:i], lines[i+1:]...)
			continue
		}
		return fmt.Errorf("%s is not in %s with its checksum", strings.Fields(line)[1], sums)
	}
	return fmt.Errorf("%s lists what is not there: %s", sums, strings.Join(lines, ", "))
}

func indexOf(lines []string, line string) int {
	for i, l := range lines {
		if l == line {
			return i
		}
	}
	return -1
}

// signature fails if the list of checksums is signed, but not with the key beside it.
func (m *made) signature() error {
	public, err := m.read(publicKey)
	if errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(m.to, "the checksums are not signed")
		return nil
	}
	if err != nil {
		return err
	}
	list, err := m.read(sums)
	if err != nil {
		return err
	}
	signed, err := m.read(signature)
	if err != nil {
		return err
	}
	return verify(public, list, signed)
}

// formulas fails if a formula names an archive that is not there, or another checksum.
func (m *made) formulas() error {
	pair := regexp.MustCompile(`url ".*/([^/"]+)"\n +sha256 "([0-9a-f]{64})"`)
	for _, name := range m.names {
		if filepath.Ext(name) != ".rb" {
			continue
		}
		text, err := m.read(name)
		if err != nil {
			return err
		}
		found := pair.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 || len(found) != strings.Count(string(text), "url ") {
			return fmt.Errorf("%s has %d archives", name, len(found))
		}
		for _, f := range found {
			sum, err := sumOf(m.path(f[1]))
			if err != nil {
				return err
			}
			if sum != f[2] {
				return fmt.Errorf("%s: the checksum of %s is %s, not %s", name, f[1], sum, f[2])
			}
		}
	}
	return nil
}

// host is the system that this program runs on.
var host = target{runtime.GOOS, runtime.GOARCH}
