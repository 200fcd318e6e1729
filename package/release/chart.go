package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// chart packs the Helm chart, with the release's version in it.
func (r *release) chart() error {
	var entries []entry
	root := r.path("package/chart")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if name == "Chart.yaml" {
			text = bytes.ReplaceAll(text, []byte("0.0.0"), []byte(r.version))
		}
		entries = append(entries, entry{name: "cascada/" + filepath.ToSlash(name), mode: 0o644, text: text})
		return err
	})
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := writeTarGz(&packed, r.time, r.level, entries); err != nil {
		return err
	}
	return r.write(r.chartName(), packed.Bytes())
}

func (r *release) chartName() string { return "cascada-" + r.version + ".tgz" }
