package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// parts writes the list of what each program is made of (SBOM): CycloneDX, from what Go wrote into the program.
func (r *release) parts() error {
	for f, p := range r.built {
		list, err := r.bom(f, p)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(list, cdx.SpecVersion1_6); err != nil {
			return err
		}
		if err := r.write(r.name(f)+".cdx.json", text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// bom returns the list of one program.
func (r *release) bom(f file, p program) (*cdx.BOM, error) {
	info, err := buildinfo.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	sum, err := sumOf(p.path)
	if err != nil {
		return nil, err
	}
	main := cdx.Component{
		BOMRef: "program", Type: cdx.ComponentTypeApplication, Name: f.program, Version: r.version,
		PackageURL: fmt.Sprintf("pkg:golang/%s@v%s?goos=%s&goarch=%s#cmd/%s", info.Main.Path, r.version, f.target.os, f.target.arch, f.program),
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}},
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Properties: &[]cdx.Property{{Name: "cascada:commit", Value: r.commit}},
	}
	components := []cdx.Component{{
		BOMRef: "go", Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "BSD-3-Clause"}}},
	}}
	for _, m := range info.Deps {
		url := "pkg:golang/" + m.Path + "@" + m.Version
		components = append(components, cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url,
			Properties: &[]cdx.Property{{Name: "go:h1", Value: m.Sum}}, // as in go.sum
		})
	}
	if f.program == "cascada" {
		scripts, err := r.vendoredScripts()
		if err != nil {
			return nil, err
		}
		components = append(components, scripts...)
	}
	var below []string
	for _, c := range components {
		below = append(below, c.BOMRef)
	}
	list := cdx.NewBOM()
	// The number is made of the program, so that the same program has the same list.
	list.SerialNumber = fmt.Sprintf("urn:uuid:%s-%s-8%s-8%s-%s", sum[:8], sum[8:12], sum[13:16], sum[17:20], sum[20:32])
	list.Metadata = &cdx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &main}
	list.Components = &components
	list.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &below}}
	return list, nil
}

// row is a row of the table of files of others in the dashboard.
var row = regexp.MustCompile("(?m)^\\| `[^`]+` \\| npm `([^`]+)`[^|]* \\| ([^ |]+) \\| ([A-Za-z0-9.-]+),")

// vendoredScripts returns the scripts of others that the dashboard serves.
func (r *release) vendoredScripts() (list []cdx.Component, err error) {
	table, err := os.ReadFile(r.path("internal/dashboard/frame/assets/vendor/README.md"))
	if err != nil {
		return nil, err
	}
	for _, m := range row.FindAllStringSubmatch(string(table), -1) {
		url := "pkg:npm/" + m[1] + "@" + m[2]
		list = append(list, cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m[1], Version: m[2], PackageURL: url, Licenses: &cdx.Licenses{{License: &cdx.License{ID: m[3]}}}})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the table of the dashboard's scripts has no rows")
	}
	return list, nil
}
