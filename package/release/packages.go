package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packages packs the programs for Debian's and Red Hat's families.
func (r *release) packages() error {
	for f, p := range r.built {
		if f.target.os != "linux" {
			continue
		}
		for _, kind := range []string{"deb", "rpm"} {
			var packed bytes.Buffer
			if err := r.pack(&packed, kind, f, p, r.packing); err != nil {
				return fmt.Errorf("%s of %s for %s: %w", kind, f.program, f.target, err)
			}
			if err := r.write(packageName(f.program, r.version, f.target.arch, kind), packed.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// packageName is the name of a package's file: with the version as everywhere else, which for versions like 1.2.3 is what a distribution
// would call it.
func packageName(program, version, arch, kind string) string {
	if kind == "rpm" {
		return fmt.Sprintf("%s-%s-1.%s.rpm", program, version, map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch])
	}
	return fmt.Sprintf("%s_%s_%s.deb", program, version, arch)
}

// pack writes a package of one kind. A prerelease gets a version that is ordered before its release: 1.2.3~rc.1.
func (r *release) pack(to io.Writer, kind string, f file, p program, compression string) error {
	stage, err := os.MkdirTemp("", "cascada-package")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if p.path, err = filepath.Abs(p.path); err != nil {
		return err
	}
	files := map[string][]byte{"licences": p.licences}
	for shell := range completions {
		if files["complete."+shell], err = r.completion(f.program, shell); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(stage, name), text, 0o644); err != nil {
			return err
		}
	}
	words := map[string]string{"PROGRAM": p.path, "STAGE": stage, "ROOT": r.root, "ARCH": f.target.arch, "VERSION": r.version, "MAINTAINER": r.maintainer}
	config, err := nfpm.ParseFileWithEnvMapping(r.path("package/"+f.program+".nfpm.yaml"), func(word string) string { return words[word] })
	if err != nil {
		return err
	}
	info, err := config.Get(kind)
	if err != nil {
		return err
	}
	info.MTime = r.time
	info.RPM.BuildHost = "localhost"
	info.RPM.Compression, info.Deb.Compression = compression, compression
	var packager nfpm.Packager = deb.Default
	if kind == "rpm" {
		packager = rpm.DefaultRPM
	}
	if f.program == "cascada" {
		r.scripts(info, kind)
	}
	return packager.Package(nfpm.WithDefaults(info), to)
}

// scripts adds what runs when the service is installed and removed.
func (r *release) scripts(info *nfpm.Info, kind string) {
	names := [...]string{"postinst", "prerm", "postrm"}
	if kind == "rpm" {
		names = [...]string{"post", "preun", "postun"}
	}
	of := func(name string) string { return r.path("package/" + kind + "/" + name) }
	info.Scripts.PostInstall, info.Scripts.PreRemove, info.Scripts.PostRemove = of(names[0]), of(names[1]), of(names[2])
}

// onlyDeb packs a program that was built before, of sources that may have changed since the last commit. Nothing is compressed: tests install
// it at once.
func onlyDeb(root, version, path, arch, out, maintainer string) error {
	r, err := newRelease(root, version)
	if err != nil {
		return err
	}
	if maintainer != "" {
		r.maintainer = maintainer
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var packed bytes.Buffer
	f := file{"cascada", target{"linux", arch}}
	if err := r.pack(&packed, "deb", f, program{path: path}, "none"); err != nil {
		return err
	}
	r.out = out
	return r.write(packageName(f.program, version, arch, "deb"), packed.Bytes())
}
