package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// archives checks each program's archive: that it is whole, has a program for the system of its name, and that the list of parts is the
// program's. The one for this machine is run.
func (m *made) archives() error {
	for _, name := range m.names {
		parts := archive.FindStringSubmatch(name)
		if parts == nil {
			continue
		}
		f := file{parts[1], target{parts[3], parts[4]}}
		if err := m.archive(name, strings.TrimSuffix(name, parts[5]), f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (m *made) archive(name, below string, f file) error {
	text, err := m.read(name)
	if err != nil {
		return err
	}
	entries, err := unpack(name, text)
	if err != nil {
		return err
	}
	want := []string{f.target.exe(f.program), "LICENSE", "README.md", "CHANGELOG.md", "THIRD-PARTY-LICENSES.txt"}
	if f.target.os != "windows" {
		want = append(want, "completions/"+f.program+".bash", "completions/"+f.program+".zsh", "completions/"+f.program+".fish")
	}
	for _, w := range want {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == below+"/"+w })
		if i < 0 || len(entries[i].text) == 0 {
			return fmt.Errorf("%s is missing", w)
		}
		if w == want[0] {
			if entries[i].mode&0o777 != 0o755 {
				return fmt.Errorf("%s has the mode %o", w, entries[i].mode)
			}
			if err := m.program(below, f, entries[i].text); err != nil {
				return err
			}
		}
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.name, below+"/") || strings.Contains(e.name, "..") {
			return fmt.Errorf("%s is outside of %s", e.name, below)
		}
	}
	return nil
}

// unpack returns the entries of an archive.
func unpack(name string, text []byte) (list []entry, err error) {
	if strings.HasSuffix(name, ".zip") {
		packed, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return nil, err
		}
		for _, f := range packed.File {
			r, err := f.Open()
			if err != nil {
				return nil, err
			}
			text, err := io.ReadAll(r) // to the end, where the checksum is
			if err != nil {
				return nil, err
			}
			list = append(list, entry{name: f.Name, mode: int64(f.Mode().Perm()), text: text})
		}
		return list, nil
	}
	plain, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return untar(plain)
}

func untar(from io.Reader) (list []entry, err error) {
	packed := tar.NewReader(from)
	for {
		h, err := packed.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, from) // to the end, where the checksum is
			return list, err
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(packed)
		if err != nil {
			return nil, err
		}
		name := h.Name
		if h.Typeflag == tar.TypeDir {
			name = strings.TrimSuffix(name, "/") + "/"
		}
		list = append(list, entry{name: name, mode: h.Mode, uid: h.Uid, text: text})
	}
}

// program checks a program of the release.
func (m *made) program(below string, f file, text []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["GOOS"] != f.target.os || settings["GOARCH"] != f.target.arch || settings["-trimpath"] != "true" || settings["CGO_ENABLED"] != "0" {
		return fmt.Errorf("the program was built with %v", settings)
	}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 && bytes.Contains(text, []byte(home+"/go/pkg/mod")) {
		return errors.New("the program has paths of the machine in it")
	}
	list, err := m.read(below + ".cdx.json")
	if err != nil {
		return err
	}
	if err := sameParts(list, info); err != nil {
		return err
	}
	if f.target != host {
		return nil
	}
	dir, err := os.MkdirTemp("", "cascada-check")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, f.program)
	if err := os.WriteFile(path, text, 0o755); err != nil {
		return err
	}
	return says(f.program+" "+m.version+" ", exec.Command(path, "--version"))
}

// says fails if a command does not print a text.
func says(want string, c *exec.Cmd) error {
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, out)
	}
	if !strings.Contains(string(out), want) {
		return fmt.Errorf("%s prints %q, without %q", strings.Join(c.Args, " "), out, want)
	}
	return nil
}

// sameParts fails if a list of parts does not have the modules of a program.
func sameParts(text []byte, info *buildinfo.BuildInfo) error {
	var list cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&list); err != nil {
		return err
	}
	listed := map[string]string{}
	for _, c := range *list.Components {
		listed[c.Name] = c.Version
	}
	if listed["std"] != info.GoVersion {
		return fmt.Errorf("the list of parts has Go %s, the program %s", listed["std"], info.GoVersion)
	}
	for _, d := range info.Deps {
		if listed[d.Path] != d.Version {
			return fmt.Errorf("the list of parts has %s %q, the program %s", d.Path, listed[d.Path], d.Version)
		}
	}
	return nil
}
