package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file or, with a slash at the end, a directory of an archive.
type entry struct {
	name string
	mode int64
	uid  int // of a file in an image
	text []byte
}

// archives packs each program with what its user needs.
func (r *release) archives() error {
	for f, p := range r.built {
		entries, err := r.entries(f, p)
		if err != nil {
			return err
		}
		packed, ending := bytes.Buffer{}, ".tar.gz"
		if f.target.os == "windows" {
			ending = ".zip"
			err = writeZip(&packed, r.time, r.level, entries)
		} else {
			err = writeTarGz(&packed, r.time, r.level, entries)
		}
		if err != nil {
			return err
		}
		if err := r.write(r.name(f)+ending, packed.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// entries returns what is in a program's archive, below one directory.
func (r *release) entries(f file, p program) ([]entry, error) {
	text, err := os.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	list := []entry{{name: f.target.exe(f.program), mode: 0o755, text: text}, {name: "THIRD-PARTY-LICENSES.txt", mode: 0o644, text: p.licences}}
	add := func(as, path string) error {
		text, err := os.ReadFile(r.path(path))
		list = append(list, entry{name: as, mode: 0o644, text: text})
		return err
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if err := add(name, name); err != nil {
			return nil, err
		}
	}
	docs, err := filepath.Glob(r.path("docs/*.md"))
	if err != nil {
		return nil, err
	}
	for _, path := range docs {
		if err := add("docs/"+filepath.Base(path), "docs/"+filepath.Base(path)); err != nil {
			return nil, err
		}
	}
	if f.target.os != "windows" {
		for shell := range completions {
			script, err := r.completion(f.program, shell)
			if err != nil {
				return nil, err
			}
			list = append(list, entry{name: "completions/" + f.program + "." + shell, mode: 0o644, text: script})
		}
	}
	if f.program == "cascada" {
		for _, name := range []string{"docs/alerts.yml", "docs/grafana.json"} {
			if err := add(name, name); err != nil {
				return nil, err
			}
		}
	}
	if f.program == "cascada" && f.target.os == "linux" {
		for _, name := range []string{"cascada.service", "cascada.yaml"} {
			if err := add("systemd/"+name, "package/"+name); err != nil {
				return nil, err
			}
		}
	}
	for i := range list {
		list[i].name = r.name(f) + "/" + list[i].name
	}
	return list, nil
}

// completions are the shells that the programs have scripts for, and where a system has the script of a program.
var completions = map[string]string{
	"bash": "usr/share/bash-completion/completions/{{program}}",
	"zsh":  "usr/share/zsh/vendor-completions/_{{program}}",
	"fish": "usr/share/fish/vendor_completions.d/{{program}}.fish",
}

// completion returns a program's script for a shell.
func (r *release) completion(program, shell string) ([]byte, error) {
	script, err := os.ReadFile(r.path("internal/cli/shell/scripts/complete." + shell))
	return bytes.ReplaceAll(script, []byte("{{program}}"), []byte(program)), err
}

// ordered sorts entries by name, so that the order says nothing of the machine.
func ordered(entries []entry) []entry {
	list := slices.Clone(entries)
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return list
}

// writeTar writes entries at one time and, unless they say otherwise, of root.
func writeTar(to io.Writer, at time.Time, entries []entry) error {
	packed := tar.NewWriter(to)
	for _, e := range ordered(entries) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Uid: e.uid, Gid: e.uid, Size: int64(len(e.text)), ModTime: at, Format: tar.FormatPAX}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := packed.WriteHeader(h); err != nil {
			return err
		}
		if _, err := packed.Write(e.text); err != nil {
			return err
		}
	}
	return packed.Close()
}

func writeTarGz(to io.Writer, at time.Time, level int, entries []entry) error {
	compressed, err := gzip.NewWriterLevel(to, level)
	if err != nil {
		return err
	}
	if err := writeTar(compressed, at, entries); err != nil {
		return err
	}
	return compressed.Close()
}

func writeZip(to io.Writer, at time.Time, level int, entries []entry) error {
	packed := zip.NewWriter(to)
	packed.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, level) })
	for _, e := range ordered(entries) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(e.mode))
		w, err := packed.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := w.Write(e.text); err != nil {
			return err
		}
	}
	return packed.Close()
}
