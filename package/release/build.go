package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// build builds each program for each system below a directory.
func (r *release) build(work string) error {
	for _, t := range r.targets {
		for _, p := range programs {
			path := filepath.Join(work, t.os+"-"+t.arch, t.exe(p))
			if err := r.compile(p, t, path); err != nil {
				return err
			}
			licences, err := r.licences(path)
			if err != nil {
				return err
			}
			r.built[file{p, t}] = program{path, licences}
		}
	}
	return nil
}

// compile builds one program. Nothing of the machine is in it: no path, no settings of whoever builds it, no C.
func (r *release) compile(name string, t target, to string) error {
	c := r.goCommand("build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+r.version, "-o", to, "./cmd/"+name)
	c.Env = append(c.Env, "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off", "GOTOOLCHAIN=local")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s for %s: %w\n%s", name, t, err, out)
	}
	return nil
}

// goCommand is a command of Go in the repository's main module.
func (r *release) goCommand(args ...string) *exec.Cmd {
	name := os.Getenv("GO")
	if name == "" {
		name = "go"
	}
	c := exec.Command(name, args...)
	c.Dir, c.Env = r.root, os.Environ()
	return c
}

// licence is the name of a file that has the terms of somebody's work.
var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense|copyright)([.-].*)?$`)

// vendored are the terms of works whose files are in the repository.
var vendored = []string{
	"internal/dashboard/frame/assets/vendor/htmx.LICENSE.txt", "internal/dashboard/frame/assets/vendor/uplot.LICENSE.txt",
	"internal/pay/people/common.LICENSE", "internal/statement/typeface/fonts/OFL.txt",
}

// licences returns the terms of everything that is in a program: they come with each copy of it.
func (r *release) licences(path string) ([]byte, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	add := func(of string, file string) error {
		terms, err := os.ReadFile(file)
		fmt.Fprintf(&text, "%s\n%s\n\n%s\n\n", of, strings.Repeat("=", len(of)), bytes.TrimSpace(terms))
		return err
	}
	fmt.Fprintf(&text, "What is in this program besides Cascada's own code, and its terms.\n\n")
	home, err := r.goCommand("env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	if err := add("Go "+strings.TrimPrefix(info.GoVersion, "go"), filepath.Join(strings.TrimSpace(string(home)), "LICENSE")); err != nil {
		return nil, err
	}
	modules, err := r.modules(info)
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		entries, err := os.ReadDir(m.Dir)
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range entries {
			if e.Type().IsRegular() && licence.MatchString(e.Name()) {
				found = true
				if err := add(m.Path+" "+m.Version+", "+e.Name(), filepath.Join(m.Dir, e.Name())); err != nil {
					return nil, err
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("%s %s has no file with its terms", m.Path, m.Version)
		}
	}
	if info.Path == "github.com/cascadapay/cascada/cmd/cascada" {
		for _, path := range vendored {
			if err := add(path, r.path(path)); err != nil {
				return nil, err
			}
		}
	}
	return text.Bytes(), nil
}

// module is a module with the directory of its sources.
type module struct{ Path, Version, Dir string }

// modules returns where the modules in a program are on this machine, in the order of their paths.
func (r *release) modules(info *buildinfo.BuildInfo) (list []module, err error) {
	args := []string{"mod", "download", "-json"}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s", m.Path, m.Replace.Path)
		}
		args = append(args, m.Path+"@"+m.Version)
	}
	if len(info.Deps) == 0 {
		return nil, nil
	}
	out, err := r.goCommand(args...).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download: %w\n%s", err, out)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var m module
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}
