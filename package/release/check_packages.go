package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/blakesmith/ar"
	"github.com/klauspost/compress/zstd"
	"github.com/sassoftware/go-rpmutils"
)

// installed are files that a package must have, by program.
var installed = map[string][]string{
	"cascada":     {"/usr/bin/cascada", "/usr/lib/systemd/system/cascada.service", "/etc/cascada/cascada.yaml", "/usr/share/doc/cascada/copyright", "/usr/share/doc/cascada/OPERATIONS.md"},
	"cascada-cli": {"/usr/bin/cascada-cli", "/usr/share/doc/cascada-cli/copyright"},
}

// packages checks the packages: that they are whole, and have what they install and what runs then.
func (m *made) packages() error {
	for _, name := range m.names {
		var program string
		var files []string
		var err error
		switch filepath.Ext(name) {
		case ".deb":
			program, files, err = m.deb(name)
		case ".rpm":
			program, files, err = m.rpm(name)
		default:
			continue
		}
		for _, want := range installed[program] {
			if err == nil && !slices.Contains(files, want) {
				err = fmt.Errorf("it does not install %s", want)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// deb returns whose package it is, and what it installs.
func (m *made) deb(name string) (program string, files []string, err error) {
	text, err := m.read(name)
	if err != nil {
		return "", nil, err
	}
	members := map[string][]byte{}
	for packed := ar.NewReader(bytes.NewReader(text)); ; {
		h, err := packed.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", nil, err
		}
		member, err := io.ReadAll(packed)
		if err != nil {
			return "", nil, err
		}
		members[strings.TrimSuffix(h.Name, "/")] = member
	}
	control, err := gzip.NewReader(bytes.NewReader(members["control.tar.gz"]))
	if err != nil {
		return "", nil, err
	}
	about, err := untar(control)
	if err != nil {
		return "", nil, err
	}
	plain, err := zstd.NewReader(bytes.NewReader(members["data.tar.zst"]))
	if err != nil {
		return "", nil, err
	}
	defer plain.Close()
	data, err := untar(plain)
	if err != nil {
		return "", nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(member(about, "control"))) {
		if key, value, ok := strings.Cut(line, ": "); ok && key[0] != ' ' {
			fields[key] = strings.TrimSpace(value)
		}
	}
	if got, want := fields["Version"], strings.Replace(m.version, "-", "~", 1); got != want {
		return "", nil, fmt.Errorf("its version is %q, not %q", got, want)
	}
	for line := range strings.Lines(string(member(about, "md5sums"))) {
		sum, path, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := fmt.Sprintf("%x", md5.Sum(member(data, path))); got != sum {
			return "", nil, fmt.Errorf("the checksum of %s is %s, not %s", path, got, sum)
		}
	}
	for _, e := range data {
		files = append(files, "/"+strings.TrimPrefix(e.name, "./"))
	}
	program = fields["Package"]
	info, err := buildinfo.Read(bytes.NewReader(member(data, "usr/bin/"+program)))
	if err != nil {
		return "", nil, err
	}
	if arch := fields["Architecture"]; !strings.Contains(name, "_"+arch+".") || !slices.Contains(info.Settings, debug.BuildSetting{Key: "GOARCH", Value: arch}) {
		return "", nil, fmt.Errorf("its program is not for %s: %v", arch, info.Settings)
	}
	if program == "cascada" {
		if got := string(member(about, "conffiles")); !strings.Contains(got, "/etc/cascada/cascada.yaml") {
			return "", nil, fmt.Errorf("its settings are none: %q", got)
		}
		for _, script := range []string{"postinst", "prerm", "postrm"} {
			if len(member(about, script)) == 0 {
				return "", nil, fmt.Errorf("it has no %s", script)
			}
		}
	}
	return program, files, nil
}

// member returns a file of an archive whose names may begin with ./
func member(entries []entry, name string) []byte {
	for _, e := range entries {
		if strings.TrimPrefix(e.name, "./") == name {
			return e.text
		}
	}
	return nil
}

// rpm returns whose package it is, and what it installs.
func (m *made) rpm(name string) (program string, files []string, err error) {
	text, err := m.read(name)
	if err != nil {
		return "", nil, err
	}
	header, _, err := rpmutils.Verify(bytes.NewReader(text), nil) // the digests
	if err != nil {
		return "", nil, err
	}
	about, err := header.GetNEVRA()
	if err != nil {
		return "", nil, err
	}
	if want := strings.Replace(m.version, "-", "~", 1); about.Version != want {
		return "", nil, fmt.Errorf("its version is %q, not %q", about.Version, want)
	}
	list, err := header.GetFiles()
	if err != nil {
		return "", nil, err
	}
	for _, f := range list {
		files = append(files, f.Name())
	}
	packed, err := rpmutils.ReadRpm(bytes.NewReader(text))
	if err != nil {
		return "", nil, err
	}
	payload, err := packed.PayloadReaderExtended()
	if err != nil {
		return "", nil, err
	}
	for {
		if _, err := payload.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", nil, err
		}
		if _, err := io.Copy(io.Discard, payload); err != nil {
			return "", nil, err
		}
	}
	if about.Name == "cascada" {
		for _, tag := range []int{rpmutils.POSTIN, rpmutils.PREUN, rpmutils.POSTUN} {
			script, err := header.GetString(tag)
			if err != nil {
				return "", nil, err
			}
			if script == "" {
				return "", nil, fmt.Errorf("its script %d is empty", tag)
			}
		}
	}
	return about.Name, files, nil
}
